"""Reading where every row has its own edit: each reading is that of the model with that edit alone."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from evaluation.editors.locate_edit.readings import mean_keys, read_at, subject_position
from evaluation.edits.weight_deltas import Delta
from evaluation.inference.batching import TokenBudget
from evaluation.models.language_model import LM
from evaluation.models.tokenization import TokenPosition
from tests.support.editors.edit_requests import CONTEXTS, NORWAY
from tests.support.evaluation.batched_probes import changes
from tests.support.evaluation.edited_model import edited_copy
from tests.support.tiny import make

PROMPTS = [
    TokenPosition((9, 4, 11, 12, 13, 7), 4),
    TokenPosition((5,), 0),
    TokenPosition((5, 6, 7, 8), 1),
    TokenPosition((9, 4, 11), 2),
    TokenPosition((30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40), 9),
]


def slowly(lm: LM, module: nn.Module, what: str, place: TokenPosition, deltas: list[Delta]) -> Tensor:
    """One row on its own, by PyTorch's own hook, the whole prompt run through a whole model with the edit in it."""
    model = edited_copy(lm, deltas)
    (name,) = [n for n, m in lm.model.named_modules() if m is module]
    records: dict[str, Tensor] = {}

    def keep(_: nn.Module, output: tuple[Tensor, ...], out: Tensor) -> None:
        records.update(keys=output[0], values=out)

    model.get_submodule(name).register_forward_hook(keep)
    with torch.no_grad():
        model(input_ids=torch.tensor([place.ids]))
    return records[what][0, place.last].float()


@pytest.mark.parametrize("label", ["keys", "values"])
@pytest.mark.parametrize("kind", ["llama", "gpt2"])
@pytest.mark.parametrize("tokens", [1024, 6], ids=["one pass", "many passes"])
def test_each_row_reads_the_model_with_its_own_edit(kind: str, label: str, tokens: int) -> None:
    lm = make(kind)
    edits, groups, module = changes(lm), [4, 1, 0, 4, 2], lm.projection(2)
    activations = getattr(read_at(lm, module, PROMPTS, edits=edits, groups=groups, budget=TokenBudget(tokens)), label)
    assert activations.dtype == torch.float32 and len(activations) == len(PROMPTS)
    for n, (place, group) in enumerate(zip(PROMPTS, groups, strict=True)):
        assert torch.allclose(activations[n], slowly(lm, module, label, place, edits[group]), atol=1e-4), n
    shifted = getattr(read_at(lm, module, PROMPTS, edits=edits, groups=[0] * 5), label)
    assert (activations - shifted).abs().amax(1).tolist()[0] > 1e-3, "the edits do something"


def test_keys_are_means_over_contexts(tiny: LM) -> None:
    one = [read_at(tiny, tiny.projection(1), [subject_position(tiny, NORWAY, c)]).keys[0] for c in CONTEXTS]
    assert torch.allclose(mean_keys(tiny, 1, [NORWAY], CONTEXTS)[0], torch.stack(one).mean(0), atol=1e-5)
