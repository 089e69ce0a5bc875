"""Every method in a sequence, and routed edits: as by hand, by both engines, resumed."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor

from curation.files.artifact_cache import Cache
from evaluation.editors.presets import make_editor
from evaluation.edits.edit import WeightEdit
from evaluation.edits.routed_deltas import is_routed
from evaluation.engines.fast import FastEngine
from evaluation.engines.simple import SimpleEngine
from evaluation.inference.answering import ModelScorer
from evaluation.inference.scoring import score
from evaluation.models.language_model import LM
from evaluation.regimes.edit_chain import EditChain
from evaluation.regimes.sequence_log import tensors_in
from evaluation.regimes.snapshots import SequenceStep, Snapshots
from evaluation.runs.config import RunConfig
from schemas.cases import Case
from tests.contracts.test_editors import editor, every, requests_of, support_of
from tests.evaluation.regimes.test_sequential import CASES, SPLIT, by_unit, close, probes
from tests.support.evaluation.runner_of import runner_of
from tests.support.facts import peru_fact
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


OTHERS = [Case(key="o", fact=peru_fact("f/o", prompt="{} was founded in"))]


OPTIONS: dict[str, dict[str, Any]] = {
    "grace": {"layer": 1, "steps": 8, "eps": 2.0},
    "wise": {"layer": 1, "steps": 6, "lr": 0.1, "alpha": 0.2, "beta": 2.0, "gamma": 1.0, "templates": ("{}",)},
}


def config(out: Path, regime: Any, name: str) -> RunConfig:
    return RunConfig.model_validate(
        {
            "split": "mini",
            "editors": [{"name": name, "params": OPTIONS[name]}],
            "out": str(out),
            "regime": regime,
            "metrics": ["es", "s_es"],
        }
    )


def prepared(lm: LM, name: str, folder: Path) -> Any:
    editor = make_editor(name, lm, Cache(folder), OPTIONS.get(name, {}))
    editor.prepare(OTHERS)
    return editor


def go(lm: LM, wanted: RunConfig, *, engine: Any = None) -> Any:
    def method(name: str, params: Any) -> Any:
        editor = prepared(lm, name, wanted.out / "cache")
        editor.prepare = lambda support: None  # the split's own support would be declared in the configuration
        return editor

    return runner_of(wanted, SPLIT, scorer=ModelScorer(lm), make=method, engine=engine).run()[1]


@pytest.mark.parametrize(("name", "engine"), [("grace", "fast"), ("wise", "simple")])
def test_a_sequence_is_the_edit_of_all_so_far(name: str, engine: str, tmp_path: Path) -> None:
    lm = make("llama")
    digest, wanted = lm.weights_digest(), config(tmp_path, {"name": "sequential", "size": [2, 4]}, name)
    made = FastEngine(lm) if engine == "fast" else SimpleEngine(ModelScorer(lm))
    units = by_unit(go(lm, wanted, engine=made))
    assert lm.weights_digest() == digest and not is_routed(lm.model)
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in lm.model.modules())
    editor = prepared(lm, name, tmp_path / "hand")
    for length in (2, 4):
        with editor.edit([case.fact for case in CASES[:length]]).on(lm):
            for case in CASES[:length]:
                scored = [probe for probe in probes(wanted, case) if hasattr(probe, "targets")]
                got = [a for a in units[case.key, length].answers if a.targets]
                close(got, score(lm, scored), within=5e-3)


def test_only_the_newest_edit_of_a_sequence_holds_the_memory(tmp_path: Path) -> None:
    """A sequence of a thousand edits would else hold a thousand codebooks."""
    lm = make("llama")
    kept: list[int] = []
    editor = prepared(lm, "grace", tmp_path / "cache")
    real = editor.edit_after

    def watched(requests: Any, earlier: Any) -> Any:
        kept.append(sum(one.carried is not None for one in earlier))
        assert all(not one.deltas for one in earlier)
        return real(requests, earlier)

    editor.edit_after = watched
    editor.prepare = lambda support: None
    wanted = config(tmp_path, {"name": "sequential", "size": [5]}, "grace")
    runner_of(
        wanted,
        SPLIT,
        scorer=ModelScorer(lm),
        make=lambda name, _: editor if name == "grace" else prepared(lm, name, tmp_path),
    ).run()
    assert kept == [0, 1, 1, 1, 1]
