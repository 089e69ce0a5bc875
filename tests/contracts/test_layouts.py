"""All model classes with three methods: a prompt, a dense, a low-rank edit. They apply and leave no trace."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from evaluation.checks.model_compatibility import examine
from evaluation.editors import EDITORS
from evaluation.editors.locate_edit.readings import subject_position
from evaluation.edits.delta_stack import applied
from evaluation.edits.per_row import PerRow
from evaluation.edits.weight_deltas import Delta, DenseDelta, LowRankDelta
from evaluation.engines.base import Job
from evaluation.engines.fast import FastEngine
from evaluation.inference.batched_scoring import EditScorer
from evaluation.inference.generation import PromptToContinue, Sampling, generate
from evaluation.inference.passes import EditedProbes
from evaluation.inference.scoring import score
from evaluation.metrics.generation import load_metrics
from evaluation.models.hooks import replace_output
from evaluation.models.language_model import LM
from evaluation.runs.plan import ask
from schemas.core.errors import ModelError, UserError
from tests.contracts.test_editors import FACTS, PROBES
from tests.support.documents.records import make_document
from tests.support.editors.saved_edits import cases, editor
from tests.support.evaluation.batched_probes import TEXTS, probes, same, slowly
from tests.support.evaluation.further_architectures import DENSE, EXPERTS, make_further
from tests.support.tiny import CONFIGS, make

OPTIONS: dict[str, Any] = {"steps": 10, "templates": ("{}",), "covariance": False, "ridge": 0.01}


@torch.no_grad()
def nll(lm: LM, *, planted: Delta | None = None) -> float:
    """NLL per token of the first fact's new object, by one plain pass; a delta may be planted at the subject only."""
    enc = lm.encode(FACTS[0].fact_prompt, PROBES[0].targets[0])

    def plant(keys: Tensor, out: Tensor) -> Tensor:
        assert planted is not None
        last = subject_position(lm, FACTS[0]).last
        out = out.clone()
        out[:, last] += planted.product(keys[:, last]).to(out.dtype)
        return out

    with replace_output(lm.module(planted.weight.removesuffix(".weight")), plant) if planted else nullcontext():
        logprobs = lm.model(input_ids=torch.tensor([enc.ids]), use_cache=False).logits[0].float().log_softmax(-1)
    numbers = range(enc.first, len(enc.ids))
    return -sum(float(logprobs[i - 1, enc.ids[i]]) for i in numbers) / len(numbers)


@pytest.mark.parametrize(
    ("kind", "method"),
    [
        *((kind, method) for kind in CONFIGS for method in ("prompt", "ft", "rome")),
        *((kind, method) for kind in DENSE for method in ("ft", "rome", "memit")),
    ],
)
def test_an_edit_applies_and_weights_come_back_bit_equal(kind: str, method: str, tmp_path: Path) -> None:
    lm = make(kind) if kind in CONFIGS else make_further(kind)
    digest, before, plain = lm.weights_digest(), score(lm, PROBES), nll(lm)
    if method == "memit" and not lm.layout.additive:
        with pytest.raises(ModelError, match="a norm follows the MLP"):
            editor(method, lm, tmp_path, **OPTIONS).edit(FACTS[:1])
        return
    edit = editor(method, lm, tmp_path, **OPTIONS).edit(FACTS[:1])
    assert lm.weights_digest() == digest, "making an edit changes nothing"
    with edit.on(lm):
        edited_scores = score(lm, PROBES[:1], rewrite=edit.rewrite)
        if edit.deltas:
            assert lm.weights_digest() != digest
    # also behind a norm and under a soft cap, where a wrong place would show as a search that gets nowhere
    if method == "rome" and edit.deltas:  # a search for one token's value: the edit must hold what was searched
        assert edit.notes["nll"] < plain
        assert nll(lm, planted=edit.deltas[0]) == pytest.approx(edit.notes["nll"], abs=0.01)
    elif edit.deltas:
        with edit.on(lm):
            assert nll(lm) < plain or method == "memit", "that one searches for a state, whose loss has other parts"
    assert edited_scores[0].error is None and edited_scores != before[:1]
    assert lm.weights_digest() == digest and score(lm, PROBES) == before
    for delta in edit.deltas or ():
        assert delta.weight.startswith(lm.layout.blocks) and delta.shape == (lm.layout.width, lm.layout.inner)


@pytest.mark.parametrize(
    "kind", [k if k in ("gpt2", "gemma2") else pytest.param(k, marks=pytest.mark.slow) for k in CONFIGS]
)
@pytest.mark.parametrize("method", ["ft", "rome"])
def test_bfloat16_weights_with_float32_edits(kind: str, method: str, tmp_path: Path) -> None:
    lm = make(kind, dtype=torch.bfloat16)
    digest = lm.weights_digest()
    edit = editor(method, lm, tmp_path, **OPTIONS).edit(FACTS[:1])
    for delta in edit.deltas or ():
        parts = (delta.left, delta.right) if isinstance(delta, LowRankDelta) else (delta.value,)
        assert {p.dtype for p in parts} == {torch.float32} and all(p.isfinite().all() for p in parts)
    before = score(lm, PROBES[:1])
    with edit.on(lm):
        assert lm.weights_digest() == digest, "narrow weights are not touched"
        assert score(lm, PROBES[:1]) != before
    assert score(lm, PROBES[:1]) == before


# Further model classes: what works there, and what is refused by name; never a traceback.
EVERY = [*DENSE, *EXPERTS]
RECURRENT = ("qwen3_5", "lfm2", "lfm2_moe", "qwen3_next", "rwkv", "recurrent_gemma", "openai-gpt")
"""Those with a running state, or with no cache at all."""
RUNS = ("opt", "bloom", "gemma4", "qwen3_5", "rwkv", "openai-gpt", "mixtral", "deepseek_v3", "llama4")
"""One for each way to read and to keep a cache: rows on one axis, no positions, a norm after the MLP, states, none."""
IN_CONTEXT = ("prompt", "ice")
MLP = tuple(name for name in EDITORS.names() if EDITORS.get(name).edits_mlp)


@pytest.mark.parametrize("kind", EVERY)
def test_the_layout_and_the_doctor(kind: str) -> None:
    lm = make_further(kind)
    digest = lm.weights_digest()
    assert lm.layout.experts is (kind in EXPERTS)
    if kind in DENSE:
        assert lm.layout.projection(1) == DENSE[kind][2]
    assert lm.layout.recurrent is (kind in RECURRENT)
    assert lm.layout.flat is (kind == "opt")
    compatibility = examine(lm)
    assert compatibility.works, [f for f in compatibility.findings if f.state == "no"]
    assert lm.weights_digest() == digest


@torch.no_grad()
def alone(lm: LM, text: str, length: int) -> list[int]:
    """Greedy tokens by whole passes over the growing text, without caches or hooks."""
    ids = lm.tokenizer(text)["input_ids"]
    start = len(ids)
    while len(ids) < start + length and ids[-1] != lm.tokenizer.eos_token_id:
        ids.append(int(lm.model(input_ids=torch.tensor([ids]), use_cache=False).logits[0, -1].argmax()))
    return ids[start:]


@pytest.mark.parametrize("kind", RUNS)
def test_a_run_scores_and_writes(kind: str, tmp_path: Path) -> None:
    """Edits in context, and low-rank adapters, through the engine of a run; texts are those of whole passes."""
    lm, metrics = make_further(kind), load_metrics(["es", "ps"])
    digest = lm.weights_digest()
    for method in (*IN_CONTEXT, "lora"):
        instance = editor(method, lm, tmp_path / method, steps=12)
        jobs = [Job(c.key, c, ask(c, metrics)) for c in cases(2)]
        for answers in FastEngine(lm).work(instance, jobs):
            assert answers.error is None and all(a.error is None for a in answers.answers)
        if method == "lora":
            edit = instance.edit(FACTS[:1])
            plain = nll(lm)
            with edit.on(lm):
                assert nll(lm) < plain
    texts = [f.fact_prompt for f in FACTS]
    continuations = generate(lm, [PromptToContinue(t) for t in texts], sampling=Sampling(6))
    for text, value in zip(texts, continuations, strict=True):
        assert alone(lm, text, 6)[: len(value.ids)] == list(value.ids)
    assert lm.weights_digest() == digest


@pytest.mark.parametrize("kind", EXPERTS)
def test_mixtures_of_experts_refuse_the_rest_by_name(kind: str, tmp_path: Path) -> None:
    lm = make_further(kind)
    assert {"rome", "memit", "alphaedit", "emmet", "r_rome", "ft", "ft_l", "ft_m", "mend", "boost"} <= set(MLP)
    for method in MLP:
        with pytest.raises(ModelError, match=f"'{method}' changes the MLP's output projection, and the blocks"):
            editor(method, lm, tmp_path, **({"layer": 1} if "layer" in EDITORS.get(method).Params.model_fields else {}))
    with pytest.raises(ModelError, match="no single map is the MLP's output projection; use a method in context"):
        lm.projection(1)


def test_every_method_says_whether_it_needs_the_projection(tmp_path: Path) -> None:
    """The others really do without it."""
    lm = make_further("mixtral")
    learning = {
        "ike",
        "script_ike",
        "bm25",
        "dense",
        "scr",
        "placebo",
        "serac",
        "swapped",
        "wording",
    }  # need other cases or edits
    alone = {"side": {"soft_weight": 0.0, "hard_weight": 0.0}}  # without statements of a document
    for method in set(EDITORS.names()) - set(MLP) - learning:
        requests = FACTS[:1] if "fact" in EDITORS.get(method).takes else [make_document()]
        edit = editor(method, lm, tmp_path / method, steps=2, **alone.get(method, {})).edit(requests)
        with edit.on(lm):
            assert nll(lm) > 0


# An edit of any weight counts: batched scoring and generation equal the model with the edit in its weights.
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
