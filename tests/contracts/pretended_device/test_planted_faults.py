"""Faults of devices planted in copies of our code: the CPU passes all of them, the pretended device finds all."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest
import torch

from evaluation.editors.baselines import boost
from evaluation.editors.fine_tuning import training
from evaluation.editors.locate_edit import readings, value_search
from evaluation.edits import per_row
from evaluation.engines.base import Job
from evaluation.engines.fast import FastEngine
from evaluation.inference import batched_scoring, generation, prefix_cache, token_tree
from evaluation.models import language_model
from schemas.cases import Case
from tests.contracts.pretended_device.exercise import TEXTS
from tests.contracts.test_editors import FACTS, PROBES, editor
from tests.support.pretended_device import Refused, pretended
from tests.support.pretended_device.planting import plant
from tests.support.tiny import make


class Fault(NamedTuple):
    """What is planted, and the method whose run meets it."""

    owner: type | ModuleType
    name: str
    old: str
    new: str
    method: str
    kind: str = "gpt2"


FAULTS = {
    "padded ids left on the CPU": Fault(
        language_model.LM,
        "pad",
        "send([ids, mask], self.device)",
        'send([ids, mask], torch.device("cpu"))',
        "none",
    ),
    "a mask of a tree on the CPU": Fault(
        token_tree, "to_tensors", "additive_mask(ancestors(ends)", "additive_mask(ancestors(ends.cpu())", "none"
    ),
    "positions of a tree on the CPU": Fault(
        token_tree, "to_tensors", '["position_ids"] = depths', '["position_ids"] = depths.cpu()', "none"
    ),
    "a start in the middle on the CPU": Fault(
        batched_scoring.EditScorer,
        "_layer_input",
        "dtype=lm.dtype, device=lm.device",
        "dtype=lm.dtype",
        "ft",
    ),
    "factors of a row's edit on the CPU": Fault(
        per_row.PerRow,
        "_stack",
        "left = torch.zeros(self.count, out, rank, device=self._device(name))",
        "left = torch.zeros(self.count, out, rank)",
        "rome",
    ),
    "a number drawn by a CPU generator on the card": Fault(
        generation._GenerationBatch, "_choose", "logits.cpu()", "logits", "none"
    ),
    "places of a continued prefix on the CPU": Fault(
        prefix_cache.Prefix, "arguments", "device=mask.device", 'device="cpu"', "none"
    ),
    "shares of goals in a training batch on the CPU": Fault(
        training.Batch, "__init__", "send(torch.block_diag(*shares), lm.device)", "torch.block_diag(*shares)", "lora"
    ),
    "a slope at a vector of the CPU": Fault(
        boost.Boost, "_slopes", "device=lm.device, requires_grad", "requires_grad", "boost"
    ),
    "v0 on the CPU": Fault(
        value_search._ValueSearch, "__init__", "lm.layout.width, device=lm.device)", "lm.layout.width)", "rome"
    ),
    "keys turned into numpy": Fault(
        readings,
        "read_at",
        "zip(seen.input[rows, positions].float()",
        "zip(torch.from_numpy(seen.input[rows, positions].float().numpy())",
        "rome",
    ),
    "changes in training on the CPU": Fault(
        training.DenseChange, "__init__", "torch.zeros(shape, device=home_of(module)", "torch.zeros(shape", "ft"
    ),
}


def run(fault: Fault, folder: Path) -> Iterator[str | None]:
    """Errors of a method's run through the engine."""
    lm = make(fault.kind)
    if torch.cuda.is_available():
        lm.model.to("cuda")
    instance = editor(fault.method, lm, folder, steps=2)
    jobs = [Job(str(n), Case(key=f"c{n}", fact=f), (*PROBES, *TEXTS)) for n, f in enumerate(FACTS[:2])]
    engine = FastEngine(lm)
    engine.expect([instance])
    for method in (editor("none", lm, folder), instance):
        for answers in engine.work(method, jobs):
            yield answers.error


@pytest.mark.parametrize("name", FAULTS)
def test_found_at_its_line_and_never_swallowed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = FAULTS[name]
    plant(monkeypatch, fault.owner, fault.name, old=fault.old, new=fault.new)
    with pretended() as machine, contextlib.suppress(Refused):
        assert any(run(fault, tmp_path)), "the fault was planted and nothing failed"
    assert machine.counts.refused, "the device refused nothing"


@pytest.mark.parametrize("name", FAULTS)
def test_not_found_without_the_device(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = FAULTS[name]
    plant(monkeypatch, fault.owner, fault.name, old=fault.old, new=fault.new)
    assert not any(run(fault, tmp_path))
