from __future__ import annotations

import json
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.splits.split_file import Split, make_split, write_split
from evaluation.editors import EDITORS
from evaluation.editors.presets import check_options, make_editor
from evaluation.models.language_model import LM
from evaluation.runs.config import RunConfig
from evaluation.runs.progress import EditorProgress
from evaluation.tuning.search import (
    ScoredSetting,
    SearchRange,
    SearchSpace,
    cost,
    plain,
    plan,
    refuse_evaluated,
    search,
    snippet,
)
from schemas.core.errors import DataError, UserError
from tests.support.arithmetic import make_case, make_cases
from tests.support.documents.runs import numbered_case
from tests.support.documents.shared import write_set
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
    fields = {"budget": 24, "objective": ["es", "ns"], "first": 2, "space": tmp_path / "space.toml", **more}
    return search("ft", lm, split, config(split, tmp_path), constants={"layer": 1}, **fields)


def test_a_search(tmp_path: Path, split: Split, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path / "cache"))
    lm = make("llama")
    digest = lm.weights_digest()
    result = found_on(tmp_path, split, lm)
    assert lm.weights_digest() == digest
    assert result.used <= result.budget == 24 and result.used == cost(result.rungs)
    last = result.rungs[-1].cases
    assert result.best.cases == result.preset.cases == last
    assert result.best.objective >= result.preset.objective
    assert result.best.objective == max(t.objective for t in result.tried if t.cases == last)
    assert len({t.label for t in result.tried}) == result.rungs[0].settings + 1
    assert all(t.params["layer"] == 1 and set(t.metrics) == {"es", "ns"} for t in result.tried)
    preset = tomllib.loads(snippet(result, model="org/Tiny", split=split, number=0, objective=["es", "ns"]))["preset"][
        0
    ]
    assert preset["method"] == "ft" and preset["match"] == ["tiny"] and preset["params"] == result.best.params
    assert f"budget 24, seed 0, harmonic mean of es+ns {result.best.objective:.3f}" in preset["source"]
    assert split.digest[:12] in preset["source"]


def test_a_search_goes_on_where_it_was_broken_off(
    tmp_path: Path, split: Split, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "a").mkdir()
    want = found_on(tmp_path / "a", split, make("llama"))
    (tmp_path / "b").mkdir()
    for stop in (5, 30):
        messages: list[EditorProgress] = []

        def tell(event: EditorProgress, events: list[EditorProgress] = messages, stop: int = stop) -> None:
            events.append(event)
            if len(events) == stop:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            found_on(tmp_path / "b", split, make("llama"), on_event=tell)
    repeat: list[EditorProgress] = []
    result = found_on(tmp_path / "b", split, make("llama"), on_event=repeat.append)
    assert result == want
    first = repeat[0]
    assert first.resumed > 0
    rows: list[EditorProgress] = []
    assert found_on(tmp_path / "b", split, make("llama"), on_event=rows.append) == want
    assert all(event.resumed == event.total for event in rows)


def test_a_metric_that_asks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path / "cache"))
    bare = make_split("bare", [case.model_copy(update={"prompts": ()}) for case in make_cases(4, 0).cases])
    with pytest.raises(UserError, match="no case of 'bare' has anything for the metric 's_es'"):
        found_on(tmp_path, bare, make("llama"), objective=["es", "s_es"])


def test_what_reaches_the_limits_comes_first_and_then_what_lacks_least() -> None:
    made = [("good", 0.9, 0.3), ("right", 0.2, 0.0), ("better", 0.4, 0.0), ("near", 0.1, 0.1)]
    settings = [ScoredSetting(name, {}, 1, value, {}, 0, lacking) for name, value, lacking in made]
    assert [one.label for one in sorted(settings, key=lambda one: one.merit, reverse=True)] == [
        "better",
        "right",
        "near",
        "good",
    ]


def test_efficacy_of_documents_subject_to_specificity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path / "cache"))
    lm = make("llama", max_position_embeddings=256)
    documents = make_split("documents", [numbered_case(n, {f"Lima {n}": (), "Oslo": ("place",)}) for n in range(3)])
    known = {"file": str(write_set(tmp_path / "sets", model=lm.name)), "number": 2}
    (tmp_path / "space.toml").write_text("[ft_lm]\nlr = { log = [1e-4, 1e-1] }\n")
    base = RunConfig.model_validate(
        {**config(documents, tmp_path).model_dump(), "specificity": known, "model": lm.name}
    )

    def searched(folder: str, **more: Any) -> Any:
        changed = base.model_copy(update={"out": tmp_path / folder})
        fields = {
            "budget": 8,
            "first": 1,
            "space": tmp_path / "space.toml",
            "constants": {"scope": "mlps", "epochs": 1},
        }
        return search("ft_lm", lm, documents, changed, **{**fields, "objective": ["em"], **more})

    limits = {"em_spec": 0.9}
    result = searched("one", subject_to=limits)
    for one in result.tried:
        assert set(one.metrics) == {"em", "em_spec"} and one.objective == one.metrics["em"]
        assert one.shortfall == pytest.approx(max(0.0, 0.9 - one.metrics["em_spec"]))
    at_last = [one for one in result.tried if one.cases == result.best.cases]
    assert result.best.merit == max(one.merit for one in at_last)
    text = snippet(result, model="m", split=documents, number=0, objective=["em"], subject_to=limits)
    assert "subject to em_spec at least 0.9 (reached: " in text and tomllib.loads(text)
    free = searched("two", subject_to={"em_spec": 0.0})
    assert not any(one.shortfall for one in free.tried) and "shortfall" not in plain(free)["best"]
    with pytest.raises(UserError, match="'ppl' is a perplexity, and what is maximised or reached is a share"):
        searched("three", objective=["ppl"])


def test_shared_facts_are_refused(split: Split) -> None:
    refuse_evaluated(split, [make_split("other", [make_case("Elsewhere")])])
    shared = make_split("evaluated", [make_case("Elsewhere"), make_case("Land03")])
    with pytest.raises(UserError, match=r"--split tiny: it learnt from tiny, which shares .* split 'evaluated'"):
        refuse_evaluated(split, [shared])


@pytest.mark.parametrize("method", ["ft", "ft_l", "rome", "r_rome", "memit", "emmet", "alphaedit", "ultraedit"])
def test_what_is_drawn_is_accepted(method: str, cache: Any) -> None:
    lm, space = make("llama"), SearchSpace.of(method)
    visits = set()
    for number in range(20):
        options = space.draw(number, purpose="x", depth=lm.layout.depth, constants={})
        assert set(options) == set(space.ranges) <= set(EDITORS.get(method).Params.model_fields)
        make_editor(method, lm, cache, options)  # refuses layers that the model has not, and values out of range
        visits.add(json.dumps(options))
    assert len(visits) > 15


def test_draws_do_not_depend_on_each_other() -> None:
    space = SearchSpace.of("memit")
    later = space.draw(7, purpose="x", depth=30, constants={"lr": 0.5})
    assert later == {**space.draw(7, purpose="x", depth=30, constants={}), "lr": 0.5}
    assert later != space.draw(8, purpose="x", depth=30, constants={"lr": 0.5})
    assert later != space.draw(7, purpose="y", depth=30, constants={"lr": 0.5})
    for number in range(30):
        options = space.draw(number, purpose="x", depth=30, constants={})
        layers = options["layers"]
        assert layers == list(range(layers[0], layers[-1] + 1)) and 1 <= len(layers) <= 6 and 3 <= layers[-1] <= 18
        assert 0.1 <= options["lr"] <= 1 and 0.3 <= options["rho"] <= 0.99


@pytest.mark.parametrize(
    ("space", "message"),
    [
        ({"log": [0, 1]}, "above 0"),
        ({"linear": [2, 1]}, "lower end comes first"),
        ({"log": [1, 2], "linear": [1, 2]}, "give one of"),
        ({}, "give one of"),
        ({"linear": [1, 2], "span": [1, 2]}, "span goes with depth"),
        ({"among": []}, "at least one value"),
    ],
)
def test_wrong_ranges(space: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        SearchRange.model_validate(space)
    lines = "".join(f"{name} = {value}\n" for name, value in space.items())
    (tmp_path / "space.toml").write_text(f"[ft.lr]\n{lines}")
    with pytest.raises(DataError, match=rf"space.toml, \[ft\]: ranges.lr: {message}|{message}"):
        SearchSpace.of("ft", tmp_path / "space.toml")


@pytest.mark.parametrize("method", ["dense", "scr"])
def test_the_threshold_of_retrieval_is_searched(method: str) -> None:
    options = SearchSpace.of(method).draw(7, purpose="x", depth=30, constants={"memory": "split"})
    assert 0 <= options["above"] <= 0.9 and options["memory"] == "split"
    check_options(method, "embedded", options, where="here")


def test_no_ranges() -> None:
    with pytest.raises(UserError, match="no ranges are known for 'prompt'.*--space"):
        SearchSpace.of("prompt")
