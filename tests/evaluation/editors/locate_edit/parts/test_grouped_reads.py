"""Reading where every row has its own edit: each reading is that of the model with that edit alone."""

from __future__ import annotations

from typing import Literal

import pytest
import torch
from torch import Tensor, nn

from evaluation.editors.locate_edit.parts import grouped_reads
from evaluation.editors.locate_edit.parts.grouped_reads import LowerBlocks, read_at
from evaluation.edits.weight_deltas import Delta
from evaluation.inference.batching import TokenBudget
from evaluation.models.language_model import LM
from evaluation.models.tokens.tokenization import TokenPosition
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
        records.update(input=output[0], output=out)

    model.get_submodule(name).register_forward_hook(keep)
    with torch.no_grad():
        model(input_ids=torch.tensor([place.ids]))
    return records[what][0, place.last].float()


@pytest.mark.parametrize("label", ["input", "output"])
@pytest.mark.parametrize("kind", ["llama", "gpt2"])
@pytest.mark.parametrize("tokens", [1024, 6], ids=["one pass", "many passes"])
def test_each_row_reads_the_model_with_its_own_edit(
    kind: str, label: Literal["input", "output"], tokens: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grouped_reads, "default_budget", lambda lm: TokenBudget(tokens))
    lm = make(kind)
    edits, groups, module = changes(lm), [4, 1, 0, 4, 2], lm.projection(2)
    activations = read_at(lm, module, label, PROMPTS, groups, edits)
    assert activations.dtype == torch.float32 and len(activations) == len(PROMPTS)
    for n, (place, group) in enumerate(zip(PROMPTS, groups, strict=True)):
        assert torch.allclose(activations[n], slowly(lm, module, label, place, edits[group]), atol=1e-4), n
    shifted = read_at(lm, module, label, PROMPTS, [0] * 5, edits)
    assert (activations - shifted).abs().amax(1).tolist()[0] > 1e-3, "the edits do something"


@pytest.mark.parametrize("which", [0, 3, 4], ids=["empty", "dense", "both kinds"])
def test_a_single_edit_is_put_on_the_weights_and_taken_off(which: int) -> None:
    lm = make("llama")
    edit, digest = changes(lm)[which], lm.weights_digest()
    activations = read_at(lm, lm.projection(2), "input", PROMPTS, [0] * 5, [edit])
    for row, place in zip(activations, PROMPTS, strict=True):
        assert torch.allclose(row, slowly(lm, lm.projection(2), "input", place, edit), atol=1e-4)
    assert lm.weights_digest() == digest


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
@pytest.mark.parametrize("tokens", [1024, 6], ids=["one pass", "many passes"])
def test_blocks_below_the_edits_run_once(kind: str, tokens: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouped_reads, "default_budget", lambda lm: TokenBudget(tokens))
    lm = make(kind)
    edits = [[delta for delta in edit if delta.weight != lm.layout.weight(0)] for edit in changes(lm)]
    assert any(edits)
    runs: list[int] = []
    lm.projection(0).register_forward_hook(lambda *_: runs.append(1))
    below = LowerBlocks(1)
    for module, label, groups in ((lm.projection(1), "input", [0] * 5), (lm.block(2), "output", [4, 1, 0, 4, 2])):
        want = read_at(lm, module, label, PROMPTS, groups, edits)  # type: ignore[arg-type]
        whole = len(runs)
        got = read_at(lm, module, label, PROMPTS, groups, edits, below=below)  # type: ignore[arg-type]
        assert torch.allclose(got, want, atol=1e-5)
        runs.clear()
        read_at(lm, module, label, PROMPTS, groups, edits, below=below)  # type: ignore[arg-type]
        assert whole and not runs, "the next reading begins where this one was kept"


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_what_is_finished_is_run_once_though_equal_rows_have_other_edits(kind: str) -> None:
    """Layer after layer, as a method writes them; the same prompt stands in two groups."""
    lm, prompts, below = make(kind), [PROMPTS[0], PROMPTS[0], PROMPTS[1]], LowerBlocks(0)
    written = [[delta for delta in changes(lm)[n] if delta.weight != lm.layout.weight(2)] for n in (1, 3, 4)]
    edits: list[list[Delta]] = [[] for _ in written]
    runs: list[int] = []
    for layer in range(3):
        below.raise_to(layer)
        handle = lm.projection(0).register_forward_hook(lambda *_: runs.append(1))
        got = read_at(lm, lm.projection(layer), "input", prompts, [0, 1, 2], edits, below=below)
        handle.remove()
        want = read_at(lm, lm.projection(layer), "input", prompts, [0, 1, 2], edits)
        assert torch.allclose(got, want, atol=1e-4)
        for deltas, whole in zip(edits, written, strict=True):
            deltas += [delta for delta in whole if delta.weight == lm.layout.weight(layer)]
    assert len(runs) == 2, "block 0 runs for its own reading, and once with its edits for the others"
    assert not torch.allclose(got[0], got[1], atol=1e-3), "edits differ"


def test_what_stands_after_the_mark_is_not_read() -> None:
    lm = make("llama")
    edits, cut = changes(lm), [TokenPosition(p.ids[: p.last + 1], p.last) for p in PROMPTS]
    both = [read_at(lm, lm.projection(1), "output", rows, [1, 2, 3, 4, 0], edits) for rows in (PROMPTS, cut)]
    assert torch.equal(*both)


def test_a_row_without_its_group_is_a_mistake() -> None:
    lm = make("llama")
    with pytest.raises(ValueError, match="zip"):
        read_at(lm, lm.projection(1), "input", PROMPTS, [0], [[]])
