"""An edit of any weight counts: batched scoring and generation equal the model with the edit in its weights."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from transformers.pytorch_utils import Conv1D

from evaluation.edits.delta_stack import applied
from evaluation.edits.per_row import PerRow
from evaluation.edits.weight_deltas import Delta, DenseDelta, LowRankDelta
from evaluation.inference.batched_scoring import EditScorer
from evaluation.inference.generation import PromptToContinue, Sampling, generate
from evaluation.inference.passes import EditedProbes
from evaluation.inference.scoring import score
from evaluation.models.language_model import LM
from schemas.core.errors import UserError
from tests.support.evaluation.batched_probes import TEXTS, probes, same, slowly
from tests.support.tiny import CONFIGS, make

UNTIED = {"llama": {"tie_word_embeddings": False}, "gpt2": {"tie_word_embeddings": False}}
MODELS = [*[(kind, False) for kind in CONFIGS], *[(kind, True) for kind in UNTIED]]


def editable(lm: LM) -> list[str]:
    """Names of the weights of linear modules and of the token embedding; tied ones under both names."""
    kinds = (nn.Linear, Conv1D)
    ends = (lm.model.get_input_embeddings(), lm.model.get_output_embeddings())
    return [
        f"{name}.weight" for name, module in lm.model.named_modules() if isinstance(module, kinds) or module in ends
    ]


def change(lm: LM, name: str, kind: str, draw: torch.Generator) -> Delta:
    """A change of one weight that moves answers by more than rounding does."""
    module: Any = lm.model.get_submodule(name.removesuffix(".weight"))
    out, width = module.weight.shape[::-1] if isinstance(module, Conv1D) else module.weight.shape
    if kind == "dense":
        return DenseDelta(name, 0.1 * torch.randn(out, width, generator=draw))
    left, right = torch.randn(out, 2, generator=draw), torch.randn(width, 2, generator=draw)
    return LowRankDelta(name, 0.3 * left, right / width**0.5)


def edits_of(lm: LM, kind: str) -> dict[str, list[Delta]]:
    draw = torch.Generator().manual_seed(11)
    return {name: [change(lm, name, kind, draw)] for name in editable(lm)}


@pytest.mark.parametrize("kind", ["low rank", "dense"])
@pytest.mark.parametrize(("model", "untied"), MODELS)
def test_scored_in_one_batch_as_in_the_weights(model: str, untied: bool, kind: str) -> None:
    lm = make(model, **(UNTIED[model] if untied else {}))
    edits, some = edits_of(lm, kind), probes(TEXTS[:1])
    embedding = next(name for name, m in lm.model.named_modules() if m is lm.model.get_input_embeddings())
    assert {lm.layout.head + ".weight", f"{embedding}.weight"} <= set(edits)
    asked = [EditedProbes(deltas, None, some) for deltas in edits.values()]
    scorer = EditScorer(lm, layers=[1])
    unedited = scorer.score([EditedProbes((), None, some)])[0]
    answers = scorer.score(asked)
    for name, result in zip(edits, answers, strict=True):
        moved = [abs(a.targets[0].logprob - b.targets[0].logprob) for a, b in zip(result, unedited, strict=True)]
        assert max(moved) > 1e-4, f"the edit of {name} changes nothing"
    for deltas, result in zip(edits.values(), answers, strict=True):
        with applied(lm.model, deltas):
            same([score(lm, some)], [result])


@pytest.mark.parametrize("kind", ["low rank", "dense"])
@pytest.mark.parametrize(("model", "untied"), [("llama", False), ("llama", True), ("gpt2", False), ("gemma2", False)])
def test_texts_under_every_edit_are_those_of_the_edited_weights(model: str, untied: bool, kind: str) -> None:
    lm = make(model, **(UNTIED[model] if untied else {}))
    edits = list(edits_of(lm, kind).values())
    prompts = [PromptToContinue(text, n) for n in range(len(edits)) for text in TEXTS[:2]]
    sampling = Sampling(max_tokens=4)
    together = generate(lm, prompts, edits=edits, sampling=sampling)
    alone = []
    for deltas in edits:
        with applied(lm.model, deltas):
            alone += generate(lm, [PromptToContinue(text) for text in TEXTS[:2]], sampling=sampling)
    assert [text.ids for text in together] == [text.ids for text in alone]
    assert len({text.ids for text in together}) > 2, "the edits change what is written"


@pytest.mark.parametrize("kind", ["low rank", "dense"])
def test_narrow_weights_are_changed_in_both_places_where_they_are_tied(kind: str) -> None:
    lm = make("llama", dtype=torch.bfloat16)
    name, some = lm.layout.head + ".weight", probes(TEXTS[:2])
    deltas = edits_of(lm, kind)[name]
    batched = EditScorer(lm).score([EditedProbes(deltas, None, some)])
    same(batched, slowly(lm, [EditedProbes(deltas, None, some)]), within=0.35)
    with applied(lm.model, deltas):
        same([score(lm, some)], batched, within=0.35)


@pytest.mark.parametrize(
    ("weight", "shape"),
    [("transformer.wpe.weight", (64, 32)), ("transformer.ln_f.weight", (1, 32)), ("nowhere", (1, 1))],
)
def test_what_cannot_be_changed_is_named(weight: str, shape: tuple[int, int]) -> None:
    lm = make("gpt2")
    delta = DenseDelta(weight, torch.zeros(shape))
    for use in (lambda: PerRow(lm.model, [[delta]]), lambda: applied(lm.model, [delta]).__enter__()):
        with pytest.raises(UserError, match=f"{weight}"):
            use()
