"""Batches and sequences of edits against their slow twins, resumed, failing, and as a configuration."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from curation.case_sources.opening import choose
from curation.files.artifact_cache import Cache
from curation.splits.split_file import make_split
from evaluation.editors.base import Editor
from evaluation.editors.presets import make_editor
from evaluation.engines.fast import FastEngine
from evaluation.engines.simple import SimpleEngine
from evaluation.inference.answering import ModelScorer
from evaluation.inference.scoring import score
from evaluation.models.language_model import LM
from evaluation.regimes.base import edits_digest
from evaluation.regimes.sequential import SequentialRegime
from evaluation.runs.config import RunConfig
from evaluation.runs.runner import EditorOutcome
from schemas.answers import Answer
from schemas.cases import Case
from schemas.runs import CaseResult
from tests.evaluation.engines.test_fast import OPTIONS
from tests.support.arithmetic import make_case
from tests.support.evaluation.edited_model import add_to_weights
from tests.support.evaluation.runner_of import runner_of
from tests.support.evaluation.slow_scoring import slow_answer
from tests.support.tiny import make

LANDS = ("Peru", "Norway", "France", "Madrid", "Quito")
SPLIT = make_split("tiny", [make_case(land, old="Lima", new="São Tomé") for land in LANDS])
CASES = choose(SPLIT)
FT, ROME = OPTIONS["ft"], OPTIONS["rome"]
FAST = pytest.param(FastEngine, id="fast")
SIMPLE = pytest.param(lambda lm: SimpleEngine(ModelScorer(lm)), id="simple")


def config(out: Path, regime: Any, name: str = "ft", **more: Any) -> RunConfig:
    editors = [{"name": name, "params": OPTIONS[name]}]
    data = {"split": "mini", "editors": editors, "out": str(out), "regime": regime, "metrics": ["es", "s_es"], **more}
    return RunConfig.model_validate(data)


def go(lm: LM, wanted: RunConfig, *, engine: Any = None, make: Any = None) -> EditorOutcome:
    """The edited model's part of a run."""
    cache = Cache(wanted.out / "cache")
    method = make or (lambda name, params: make_editor(name, lm, cache, params))
    return runner_of(wanted, SPLIT, scorer=ModelScorer(lm), make=method, engine=engine).run()[1]


def close(answers: Sequence[Answer], want: Sequence[Answer], within: float = 1e-4) -> None:
    assert len(answers) == len(want) > 0
    for x, y in zip(answers, want, strict=True):
        assert (x.probe, x.error) == (y.probe, y.error)
        for s, t in zip(x.targets, y.targets, strict=True):
            assert s.logprob == pytest.approx(t.logprob, abs=within)


def by_unit(outcome: EditorOutcome) -> dict[tuple[str, int], CaseResult]:
    return {(r.case, r.after or 0): r for r in outcome.folder.units().values()}


def probes(runner_config: RunConfig, case: Case) -> list[Any]:
    from evaluation.metrics.generation import load_metrics
    from evaluation.runs.plan import ask

    return list(ask(case, load_metrics(runner_config.metrics)))


@pytest.mark.parametrize("engine", [FAST, SIMPLE])
def test_a_batch_is_one_edit_of_all_its_cases(engine: Any, tmp_path: Path) -> None:
    lm = make("llama")
    digest, run_config = lm.weights_digest(), config(tmp_path, {"name": "batch", "size": 2})
    units = by_unit(go(lm, run_config, engine=engine(lm)))
    assert lm.weights_digest() == digest
    assert {k: (r.after, r.position) for (k, _), r in units.items()} == {
        case.key: (2 if n < 4 else 1, n % 2 + 1) for n, case in enumerate(CASES)
    }, "the last batch is smaller"
    plain = make_editor("ft", lm, Cache(tmp_path / "plain"), FT)
    for start in (0, 2, 4):
        batch = CASES[start : start + 2]
        with plain.edit([case.fact for case in batch]).on(lm):
            for case in batch:
                result = units[case.key, len(batch)]
                close(result.answers, [slow_answer(lm, lm.model, probe) for probe in probes(run_config, case)])
                assert result.notes["steps"] == 4 and result.seconds_edit > 0


def by_hand(lm: LM, name: str, folder: Path, wanted: RunConfig) -> dict[tuple[str, int], list[Answer]]:
    """A sequence in a copy of the model, each edit computed there and added to its weights."""
    replica = LM(copy.deepcopy(lm.model), lm.tokenizer, name=lm.name, revision=lm.revision)
    editor = make_editor(name, replica, Cache(folder), OPTIONS[name])
    results = {}
    for n, case in enumerate(CASES, 1):
        add_to_weights(replica.model, editor.edit([case.fact]).deltas or ())
        for earlier in CASES[:n]:
            results[earlier.key, n] = [slow_answer(lm, replica.model, probe) for probe in probes(wanted, earlier)]
    return results


@pytest.mark.parametrize("engine", [FAST, SIMPLE])
@pytest.mark.parametrize(("kind", "name"), [("llama", "ft"), ("gpt2", "rome")])
def test_a_sequence_is_edit_after_edit_in_one_model(kind: str, name: str, engine: Any, tmp_path: Path) -> None:
    lm = make(kind)
    digest = lm.weights_digest()
    run_config = config(tmp_path, {"name": "sequential", "size": [1, 3, 10]}, name)
    outcome = go(lm, run_config, engine=engine(lm))
    assert lm.weights_digest() == digest
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in lm.model.modules())
    units, want = by_unit(outcome), by_hand(lm, name, tmp_path / "hand", run_config)
    keys = [case.key for case in CASES]
    expected = [(k, n) for n in (1, 2, 3) for k in keys[:n] if n != 2 or k == keys[1]]
    assert set(units) == set(expected), "right after each edit, and all so far at lengths that there are cases for"
    for unit, result in units.items():
        close(result.answers, want[unit], within=5e-4)
        assert (result.position, result.after) == (keys.index(unit[0]) + 1, unit[1])


@pytest.mark.parametrize(
    ("score", "lengths", "units"),
    [
        ("immediate", [2, 4], [(1, 1), (2, 2), (3, 3), (4, 4)]),
        ("end", [2, 4], [(1, 2), (2, 2), (1, 4), (2, 4), (3, 4), (4, 4)]),
        ("both", [2, 3], [(1, 1), (1, 2), (2, 2), (1, 3), (2, 3), (3, 3)]),
        ("end", [100], [(n, 5) for n in range(1, 6)]),
    ],
)
def test_what_a_sequence_asks(score: Any, lengths: list[int], units: list[tuple[int, int]]) -> None:
    run_config = config(Path("x"), {"name": "sequential", "size": lengths, "score": score})
    result = SequentialRegime(run_config.regime).units(CASES)
    assert [(u.position, u.after) for u in result] == units
    assert len({u.key for u in result}) == len(units)
    assert all(u.key == f"{u.case.key}@{edits_digest(CASES[: u.after])}" for u in result)


def test_the_forgetting_shows_and_the_newest_prompt_stands_in_front(tmp_path: Path) -> None:
    lm = make("llama")
    run_config = config(tmp_path, {"name": "sequential", "size": [1, 3], "score": "end"}, "prompt")
    units = by_unit(go(lm, run_config, engine=FastEngine(lm)))
    plain = make_editor("prompt", lm, Cache(tmp_path), {})
    sentence = "".join(plain.edit([case.fact]).rewrite("") for case in reversed(CASES[:3]))
    close(units[CASES[0].key, 3].answers, score(lm, probes(run_config, CASES[0]), rewrite=lambda text: sentence + text))


def test_an_interrupted_sequence_replays_its_edits_and_asks_nothing_twice(tmp_path: Path) -> None:
    lm = make("llama")
    regime = {"name": "sequential", "size": [3, 5]}
    full_run = by_unit(go(lm, config(tmp_path / "whole", regime), engine=SimpleEngine(ModelScorer(lm))))
    digest, requests = lm.weights_digest(), []
    scorer = ModelScorer(lm)
    real = scorer.score

    def counted(wanted: Any, **more: Any) -> Any:
        if wanted[0].purpose == "general_text":  # of the model at its lengths, not of a case
            return real(wanted, **more)
        requests.append(len(wanted))
        if len(requests) == 5 + 6:  # the baseline's five, then the sixth of the sequence
            raise KeyboardInterrupt
        return real(wanted, **more)

    scorer.score = counted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        go(lm, config(tmp_path / "cut", regime), engine=SimpleEngine(scorer))
    assert lm.weights_digest() == digest
    count = len(requests) - 6
    requests.clear()
    outcome = go(lm, config(tmp_path / "cut", regime), engine=SimpleEngine(scorer))
    assert count == 5 and outcome.resumed == 5 and outcome.resumed + outcome.computed == len(full_run) == 11
    assert len(requests) == outcome.computed
    case_results = by_unit(outcome)
    for unit, result in full_run.items():
        assert case_results[unit].answers == result.answers and case_results[unit].notes == result.notes


def test_longer_sequences_keep_what_shorter_ones_have(tmp_path: Path) -> None:
    lm = make("llama")
    first = go(lm, config(tmp_path, {"name": "sequential", "size": [1, 2]}))
    second = go(lm, config(tmp_path, {"name": "sequential", "size": [2, 5]}))
    assert first.computed == 3 and second.manifest.key == first.manifest.key
    assert second.resumed == 3, "after 1 edit, and after 2 edits both"
    assert {(r.position, r.after) for r in second.folder.units().values()} >= {(n, 5) for n in range(1, 6)}


class Weak(Editor):
    """A method that cannot edit France."""

    name, version, params, components = "weak", 1, {}, {}

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def prepare(self, support: Any) -> None: ...

    def edit(self, requests: Any) -> Any:
        if any(fact.subject.text == "France" for fact in requests):
            raise RuntimeError("cannot edit France")
        return self.inner.edit(requests)

    def edit_each(self, requests: Any) -> Any:
        return [self.edit([request]) for request in requests]

    def edit_after(self, requests: Any, earlier: Any) -> Any:
        return self.edit(requests)


@pytest.mark.parametrize(
    "regime", [{"name": "batch", "size": 2}, {"name": "sequential", "size": [5], "score": "immediate"}]
)
def test_an_edit_that_fails_is_a_result_and_the_others_go_on(
    regime: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lm = make("llama")
    digest = lm.weights_digest()
    inner, none = (make_editor(n, lm, Cache(tmp_path), OPTIONS[n]) for n in ("ft", "none"))
    outcome = go(lm, config(tmp_path, regime), make=lambda name, _: none if name == "none" else Weak(inner))
    failure = {r.case for r in outcome.folder.units().values() if r.error}
    where = next(n for n, case in enumerate(CASES) if case.fact.subject.text == "France")
    keys = [CASES[where].key] if regime["name"] == "sequential" else [c.key for c in CASES[where // 2 * 2 :][:2]]
    assert failure == set(keys) and outcome.computed == 5
    assert "failed: RuntimeError: cannot edit France (tests/evaluation/regimes/test_sequential.py, line " in caplog.text
    assert {r.error.partition(" (")[0] for r in outcome.folder.units().values() if r.error} == {
        "RuntimeError: cannot edit France"
    }
    assert all(not r.answers for r in outcome.folder.units().values() if r.error)
    assert lm.weights_digest() == digest


def test_a_sequence_of_narrow_weights_adds_in_float32(tmp_path: Path) -> None:
    lm = make("llama", dtype=torch.bfloat16)
    digest = lm.weights_digest()
    units = by_unit(
        go(lm, config(tmp_path, {"name": "sequential", "size": [5], "score": "end"}), engine=FastEngine(lm))
    )
    assert len(units) == 5 and not any(r.error for r in units.values())
    assert lm.weights_digest() == digest
    assert not any(m._forward_hooks for m in lm.model.modules())
