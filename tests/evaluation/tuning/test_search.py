"""The search's plan, its draws, and a whole search on a tiny model, also one that is broken off."""

from __future__ import annotations

import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.splits.split_file import Split, make_split, write_split
from evaluation.models.language_model import LM
from evaluation.runs.config import RunConfig
from evaluation.runs.runner import EditorProgress
from evaluation.tuning.search import cost, plan, refuse_evaluated, search, snippet
from schemas.core.errors import UserError
from tests.support.arithmetic import make_case, make_cases
from tests.support.evaluation import tuning
from tests.support.evaluation.tuning import SPACE
from tests.support.tiny import make

split = tuning.split


@given(st.integers(8, 300), st.integers(1, 80), st.integers(1, 8))
def test_a_plan_stays_within_its_budget(budget: int, cases: int, first: int) -> None:
    if budget < 2 * min(first, cases):
        return
    rungs = plan(budget, cases, first=first)
    assert cost(rungs) <= budget
    assert rungs[0].cases == min(first, cases) or len(rungs) == 1
    assert all(a.settings >= b.settings and a.cases <= b.cases <= cases for a, b in pairwise(rungs))
    one_by_one, before = 0, 0
    for rung in rungs:
        one_by_one += sum(1 for _ in range(rung.settings + 1) for _ in range(before, rung.cases))
        before = rung.cases
    assert one_by_one == cost(rungs)


def test_a_budget_too_small() -> None:
    with pytest.raises(UserError, match="a budget of 7 is too small; give at least 8"):
        plan(7, 30, first=4)


def config(split: Split, out: Path) -> RunConfig:
    write_split(split, out / "dev.jsonl")
    return RunConfig.model_validate(
        {"split": {"file": str(out / "dev.jsonl")}, "editors": ["ft"], "out": str(out / "run")}
    )


def found_on(tmp_path: Path, split: Split, lm: LM, **more: Any) -> Any:
    (tmp_path / "space.toml").write_text(SPACE)
    told = {"budget": 24, "objective": ["es", "ns"], "first": 2, "space": tmp_path / "space.toml", **more}
    return search("ft", lm, split, config(split, tmp_path), constants={"layer": 1}, **told)


def test_a_search(tmp_path: Path, split: Split, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path / "cache"))
    lm = make("llama")
    digest = lm.weights_digest()
    found = found_on(tmp_path, split, lm)
    assert lm.weights_digest() == digest
    assert found.used <= found.budget == 24 and found.used == cost(found.rungs)
    last = found.rungs[-1].cases
    assert found.best.cases == found.preset.cases == last
    assert found.best.objective >= found.preset.objective
    assert found.best.objective == max(t.objective for t in found.tried if t.cases == last)
    assert len({t.label for t in found.tried}) == found.rungs[0].settings + 1
    assert all(t.params["layer"] == 1 and set(t.metrics) == {"es", "ns"} for t in found.tried)
    told = tomllib.loads(snippet(found, model="org/Tiny", split=split, number=0, objective=["es", "ns"]))["preset"][0]
    assert told["method"] == "ft" and told["match"] == ["tiny"] and told["params"] == found.best.params
    assert f"budget 24, seed 0, harmonic mean of es+ns {found.best.objective:.3f}" in told["source"]
    assert split.digest[:12] in told["source"]


def test_a_search_goes_on_where_it_was_broken_off(
    tmp_path: Path, split: Split, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "a").mkdir()
    want = found_on(tmp_path / "a", split, make("llama"))
    (tmp_path / "b").mkdir()
    for stop in (5, 30):
        told: list[EditorProgress] = []

        def tell(event: EditorProgress, events: list[EditorProgress] = told, stop: int = stop) -> None:
            events.append(event)
            if len(events) == stop:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            found_on(tmp_path / "b", split, make("llama"), on_event=tell)
    again: list[EditorProgress] = []
    got = found_on(tmp_path / "b", split, make("llama"), on_event=again.append)
    assert got == want
    first = again[0]
    assert first.resumed > 0
    whole: list[EditorProgress] = []
    assert found_on(tmp_path / "b", split, make("llama"), on_event=whole.append) == want
    assert all(event.resumed == event.total for event in whole)


def test_a_metric_that_asks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path / "cache"))
    bare = make_split("bare", [case.model_copy(update={"prompts": ()}) for case in make_cases(4, 0).cases])
    with pytest.raises(UserError, match="no case of 'bare' has anything for the metric 's_es'"):
        found_on(tmp_path, bare, make("llama"), objective=["es", "s_es"])


def test_shared_facts_are_refused(split: Split) -> None:
    refuse_evaluated(split, [make_split("other", [make_case("Elsewhere")])])
    shared = make_split("evaluated", [make_case("Elsewhere"), make_case("Land03")])
    with pytest.raises(UserError, match=r"--split tiny: it learnt from tiny, which shares .* split 'evaluated'"):
        refuse_evaluated(split, [shared])
