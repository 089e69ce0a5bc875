"""What every registered method keeps to in a sequence: from a snapshot it goes on as if it had never been stopped."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor

from evaluation.edits.edit import WeightEdit
from evaluation.inference.answering import ModelScorer
from evaluation.models.language_model import LM
from evaluation.regimes.edit_chain import EditChain
from evaluation.regimes.sequence_log import tensors_in
from evaluation.regimes.snapshots import SequenceStep, Snapshots
from tests.contracts.test_editors import editor, every, requests_of, support_of
from tests.support.tiny import make

DIGESTS = ["0", "1", "2", "3"]


class _Case(NamedTuple):
    request: Any


def snapshots(folder: Path) -> Snapshots:
    return Snapshots(folder, "run", DIGESTS, lengths=(), every=1)


def went_on(lm: LM, chain: EditChain, method: Any, requests: list[Any]) -> tuple[list[Tensor], list[str]]:
    """Further edits: all their tensors, what stands in the model afterwards, and what becomes of a prompt."""
    edits = [chain.add(method, request) for request in requests]
    tensors = [*tensors_in(edits), *tensors_in(chain.edits), *(p.detach().clone() for p in lm.model.parameters())]
    return tensors, [chain.rewrite("The capital is"), *(str(edit.notes) for edit in edits)]


@every
def test_from_a_snapshot_it_goes_on_bit_for_bit(method: str, tmp_path: Path) -> None:
    requests, lm, again = requests_of(method), make("llama"), make("llama")
    before = again.weights_digest()
    with ExitStack() as stack:
        chain, made = EditChain(ModelScorer(lm), stack), editor(method, lm, tmp_path)
        made.prepare(support_of(method))
        chain.add(made, requests[0])
        edit = chain.add(made, requests[1])
        snapshots(tmp_path).keep(chain, SequenceStep(2, {"n": 1}, None, 0.5, 7))
        want = went_on(lm, chain, made, [requests[2], requests[0]])
    files = list((tmp_path / "snapshots").glob("*"))
    assert bool(files) == (edit.deltas is not None), "methods that keep their changes to themselves have no snapshot"
    if not files:
        return
    with ExitStack() as stack:
        chain, made, cases = EditChain(ModelScorer(again), stack), editor(method, again, tmp_path), map(_Case, requests)
        made.prepare(support_of(method))
        calls = []
        once = made.edit_after
        made.edit_after = lambda *given: calls.append(given) or once(*given)
        step = snapshots(tmp_path).resume(chain, made, [*cases], torch.device("cpu"), most=3)  # type: ignore[list-item]
        assert step == SequenceStep(2, {"n": 1}, None, 0.5, 7) and len(chain.edits) == 2
        assert bool(calls) != isinstance(edit, WeightEdit), "edits of weights are not made again"
        tensors, texts = went_on(again, chain, made, [requests[2], requests[0]])
    assert texts == want[1] and len(tensors) == len(want[0])
    for mine, theirs in zip(tensors, want[0], strict=True):
        assert torch.equal(mine, theirs)
    assert again.weights_digest() == before


@pytest.mark.parametrize("stabilise", [["accumulate", "prune"], ["sphere", "rect"]])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_stabilisers_and_narrow_weights_go_on_too(dtype: torch.dtype, stabilise: list[str], tmp_path: Path) -> None:
    requests, lm, again = requests_of("memit"), make("llama", dtype=dtype), make("llama", dtype=dtype)
    with ExitStack() as stack:
        chain, made = EditChain(ModelScorer(lm), stack), editor("memit", lm, tmp_path, stabilise=stabilise)
        chain.add(made, requests[0])
        chain.add(made, requests[1])
        snapshots(tmp_path).keep(chain, SequenceStep(2, {}, None, 0.0, None))
        want = went_on(lm, chain, made, requests[2:])
    with ExitStack() as stack:
        chain, made = EditChain(ModelScorer(again), stack), editor("memit", again, tmp_path, stabilise=stabilise)
        cases: list[Any] = [_Case(request) for request in requests]
        assert snapshots(tmp_path).resume(chain, made, cases, torch.device("cpu"), most=3) is not None
        tensors, texts = went_on(again, chain, made, requests[2:])
    assert texts == want[1] and all(torch.equal(a, b) for a, b in zip(tensors, want[0], strict=True))
