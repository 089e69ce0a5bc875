"""A whole run as one call: from the split to the store, its size beforehand, and the choice of methods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from curation.case_sources.opening import SplitChoice, open_split
from curation.shipped import named_split
from curation.splits.split_file import make_split, write_split
from curation.store.store import Store
from evaluation.editors.in_context.prompt import PromptEditor
from evaluation.runs.config import TEACHER_FORCED, WRITTEN, RunConfig, parse_config, select_editors
from evaluation.runs.dry_run import size
from evaluation.runs.open_model import make_engine
from evaluation.runs.plan import BASELINE
from evaluation.runs.progress import EditorProgress
from evaluation.runs.results import load_run, write_back
from evaluation.runs.runner import execute
from schemas.core.errors import UserError
from tests.support.arithmetic import ArithmeticLM, go, make_cases, make_config
from tests.support.evaluation.tiny_runs import saved
from tests.support.tiny import CHAT, chatting, make

GOOD = {"split": "mini", "editors": ["none", "ft"], "out": "runs/x"}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No answers of the unedited model from another test."""
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path / "cache"))


def split_file(folder: Path, counterfactual: int = 3, temporal: int = 1) -> Path:
    path = folder / "split.jsonl"
    write_split(make_cases(counterfactual, temporal), path)
    return path


def config(folder: Path, **changes: Any) -> RunConfig:
    record = {"split": {"file": str(split_file(folder))}, "metrics": ["es", "s_es"], "model": "tiny"}
    out = changes.pop("out", folder / "run")
    return make_config(out, **{"editors": ["none", "prompt"], "engine": "simple", **record, **changes})


def test_a_fixed_order_is_asked_for_put_on_record_and_ends_with_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []

    def note(event: EditorProgress) -> None:
        seen.append(torch.are_deterministic_algorithms_enabled())

    for wanted in (True, False):
        out = tmp_path / str(wanted)
        execute(config(tmp_path, out=out, deterministic=wanted), lm=make("gpt2", n_positions=512), on_event=note)
        assert set(seen) == {wanted} and not torch.are_deterministic_algorithms_enabled()
        assert {e.environment["deterministic"] for e in load_run(out).editors} == {wanted}
        seen.clear()
    keys = [[e.manifest.key for e in load_run(tmp_path / str(wanted)).editors] for wanted in (True, False)]
    assert keys[0] == keys[1], "the results are those of the same run"


# --- the split --------------------------------------------------------------------------------------------------------


def test_a_split_that_a_command_line_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    want, path = make_cases(3, 1), split_file(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mini").write_text("a file of the same name")
    assert named_split("mini").name == "mini" and named_split(str(path)).digest == want.digest
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put_split(want)
    assert open_split(SplitChoice(name="tiny", store=tmp_path / "s.duckdb")).digest == want.digest
    with Store.open(tmp_path / "s.duckdb", write=True):
        pass  # it was closed again
    with pytest.raises(UserError, match="none.duckdb"):
        open_split(SplitChoice(name="tiny", store=tmp_path / "none.duckdb"))
    with pytest.raises(UserError, match="mini"):
        open_split(SplitChoice(name="mini", store=tmp_path / "s.duckdb"))  # of the store, which has none
    shipped = "mini, open, open:dev, open:test, events, documents, hops"
    with pytest.raises(UserError, match=f"none.jsonl: there is no such split file; allowed: a file, or {shipped}"):
        named_split("none.jsonl")
    with pytest.raises(UserError, match="allowed: that"):
        named_split(str(tmp_path), allowed="that")


# --- the whole run ----------------------------------------------------------------------------------------------------


def test_from_the_split_to_the_store(tmp_path: Path) -> None:
    """Results are in the folder and in the store; again, nothing is computed; the unedited model's answers are kept."""
    store, events, lm = tmp_path / "s.duckdb", list[EditorProgress](), make("llama")
    with Store.open(store, create=True):
        pass
    run_config = config(tmp_path, feed=str(store))
    outcomes = execute(run_config, lm=lm, on_event=events.append)
    assert [(o.label, o.computed, o.failed) for o in outcomes] == [(BASELINE, 4, 0), ("prompt", 4, 0)]
    assert events[-1].done == events[-1].total == 4
    with Store.open(store) as db:
        assert db.split("tiny").digest == make_cases(3, 1).digest
        by_name = {o.label: list(db.results(o.manifest.key)) for o in outcomes}
        assert {label: len(some) for label, some in by_name.items()} == {BASELINE: 4, "prompt": 4}
    repeat = execute(run_config, lm=lm)
    assert [(o.computed, o.resumed) for o in repeat] == [(0, 4), (0, 4)]
    elsewhere = execute(config(tmp_path, out=tmp_path / "second"), lm=lm)
    assert [(o.computed, o.resumed) for o in elsewhere] == [(0, 4), (4, 0)], "cached answers"
    first, second = load_run(tmp_path / "run"), load_run(tmp_path / "second")
    for key, result in first.baseline.results.items():
        assert second.baseline.results[key].answers == result.answers


def test_a_model_with_a_chat_template_writes_where_no_metrics_are_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A model without one is only scored; what a dry run counts is what the run asks."""
    plain = config(tmp_path, metrics=[], out=tmp_path / "plain")
    execute(plain, lm=make("llama"))
    assert load_run(plain.out).about["metrics"] == list(TEACHER_FORCED) and not caplog.messages
    cheap = config(tmp_path, metrics="teacher-forced", out=tmp_path / "cheap")
    writing = config(tmp_path, metrics=[], out=tmp_path / "writing", limit=1, generation={"max_tokens": 4})
    with chatting() as lm:
        execute(writing, lm=lm)
        assert "each method writes" in caplog.text and "metrics = 'teacher-forced' writes none" in caplog.text
        caplog.clear()
        execute(cheap, lm=lm)
        assert not caplog.messages
    run = load_run(writing.out)
    assert run.about["metrics"] == [*TEACHER_FORCED, *WRITTEN]
    texts = sum(a.written is not None for a in next(iter(run.baseline.results.values())).answers)
    assert texts == size(writing).texts > 0 and size(cheap).texts == 0


def test_a_dry_run_reads_from_the_tokenizer_whether_the_model_writes(tmp_path: Path) -> None:
    folder = saved(make("llama"), tmp_path / "model")
    asked = config(tmp_path, metrics=[], model=str(folder))
    assert size(asked).metrics == TEACHER_FORCED
    (folder / "chat_template.jinja").write_text(CHAT)
    assert size(asked).metrics == (*TEACHER_FORCED, *WRITTEN)


def test_a_store_that_takes_nothing_leaves_the_results_in_the_folder(tmp_path: Path) -> None:
    outcomes, _ = go(tmp_path / "run", limit=1)
    (tmp_path / "s.duckdb").write_text("not a store")
    with pytest.raises(UserError, match="the run is finished, but its results could not be fed back") as error:
        write_back(tmp_path / "s.duckdb", make_cases(), list(outcomes.values()))
    assert error.value.fix is not None and "nothing is computed twice" in error.value.fix
    assert len(load_run(tmp_path / "run").editors[1].results) == 1


def test_the_engine_is_the_one_that_is_named(tmp_path: Path) -> None:
    from evaluation.engines.fast import FastEngine
    from evaluation.engines.simple import SimpleEngine

    for name, kind in (("simple", SimpleEngine), ("fast", FastEngine)):
        assert type(make_engine(config(tmp_path, engine=name), make("llama"))) is kind


# --- its size ---------------------------------------------------------------------------------------------------------


def test_the_size_counts_cases_probes_and_targets(tmp_path: Path) -> None:
    summary = size(config(tmp_path))
    assert (summary.split, summary.cases, summary.of, summary.kinds) == (
        "tiny@1.0.0",
        4,
        4,
        {"counterfactual": 3, "temporal": 1},
    )
    assert summary.probes == 4 * 3 and summary.targets == 2 * summary.probes, (
        "the fact prompt and two scripts; old and new"
    )
    assert summary.editors == (BASELINE, "prompt") and summary.finished == {BASELINE: 0, "prompt": 0}
    assert summary.seconds is None and summary.texts == summary.text_tokens == 0 and summary.support == ""
    assert not (tmp_path / "run").exists(), "counting writes nothing"


def test_a_limit_and_texts_are_counted(tmp_path: Path) -> None:
    summary = size(config(tmp_path, limit={"temporal": 1}, metrics=["s_es_gen"], generation={"step_tokens": 7}))
    assert (summary.cases, summary.kinds) == (1, {"temporal": 1})
    assert (summary.texts, summary.text_tokens, summary.targets) == (2, 14, 0)


def test_the_time_left_is_that_of_the_cases_that_are_not_done(tmp_path: Path) -> None:
    run_config = config(tmp_path)
    execute(config(tmp_path, limit=2), lm=make("llama"))
    half = size(run_config)
    assert half.finished == {BASELINE: 2, "prompt": 2} and half.seconds is not None and half.seconds > 0
    assert size(config(tmp_path, limit=2)).seconds == 0.0
    more = size(config(tmp_path, editors=["prompt", "ft"]))
    assert more.finished == {BASELINE: 2, "prompt": 2, "ft": 0} and more.seconds is None, "no pace of a new method"


SEQUENCE = {"regime": {"name": "sequential", "size": [1, 4], "score": "end", "sample": 2}}


@pytest.mark.parametrize(
    ("changes", "edits", "asked", "half"),
    [
        pytest.param(SEQUENCE, 4, 3, [1], id="a sequence: 1 case after 1 edit, 2 of a sample after 4"),
        pytest.param({"regime": {"name": "batch", "size": 2}}, 4, 4, None, id="a batch"),
        pytest.param({"regime": "revert"}, 4, 4, None, id="back and forth"),
        pytest.param({"part": "2/2"}, 2, 2, None, id="a part"),
    ],
)
def test_the_size_is_of_what_the_regime_and_the_part_ask(
    tmp_path: Path, changes: dict[str, Any], edits: int, asked: int, half: list[int] | None
) -> None:
    wanted = config(tmp_path, editors=[{"name": "ft", "params": {"layer": 1, "steps": 1}}], **changes)
    before = size(wanted)
    assert (before.edits, before.times_asked["ft"], before.seconds) == (edits, asked, None)
    if half is not None:
        shorter = {**wanted.model_dump(mode="json"), "regime": {**SEQUENCE["regime"], "size": half}}
        execute(RunConfig.model_validate(shorter), lm=make("llama"))
        some = size(wanted)
        assert 0 < some.finished["ft"] < asked and some.seconds is not None and some.seconds > 0
    execute(wanted, lm=make("llama"))
    after = size(wanted)
    assert (after.finished, after.seconds) == (after.times_asked, 0.0)
    folder = load_run(wanted.out).editors[1].folder
    assert folder is not None and before.probes == sum(len(unit.answers) for unit in folder.units().values())


@pytest.mark.parametrize("call", [size, execute])
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "other"}, "holds a run with model 'tiny', and this run has model 'other'; name another --out"),
        ({"dtype": "bfloat16"}, "dtype 'float32', and this run has dtype 'bfloat16'; name another --out"),
        ({"cases": 5}, "holds a run with split digest '[0-9a-f]+', and this run has .*; name another --out"),
    ],
)
def test_a_folder_of_another_model_or_split_is_refused_before_anything_is_replaced(
    tmp_path: Path, call: Any, changes: dict[str, Any], message: str
) -> None:
    execute(config(tmp_path, limit=2), lm=make("llama"))
    before = (tmp_path / "run" / "run.json").read_bytes()
    wanted = config(tmp_path, **{k: v for k, v in changes.items() if k != "cases"})
    if "cases" in changes:
        write_split(make_split("tiny", make_cases(changes["cases"], 0).cases), tmp_path / "split.jsonl")
    with pytest.raises(UserError, match=message):
        call(wanted)
    assert (tmp_path / "run" / "run.json").read_bytes() == before


def test_other_weights_under_the_same_name_are_refused_without_loading_them(tmp_path: Path) -> None:
    lm = make("llama")
    for model in (lm, make("gpt2")):
        wanted = config(tmp_path, model=str(saved(model, tmp_path / "model")))
        if model is lm:
            execute(wanted)
            assert size(wanted).finished == {BASELINE: 4, "prompt": 4}
    with pytest.raises(UserError, match="model revision '[0-9a-f]+', and this run has .*; name another --out"):
        size(wanted)


def test_a_folder_of_other_weights_is_refused(tmp_path: Path) -> None:
    go(tmp_path, lm=ArithmeticLM(revision="1"))
    with pytest.raises(UserError, match="model revision '1', and this run has model revision '2'; name another --out"):
        go(tmp_path, lm=ArithmeticLM(revision="2"))


@pytest.mark.parametrize(
    ("changes", "finished"),
    [
        ({}, 2),
        ({"metrics": ["es"]}, 2),
        ({"metrics": ["es", "ps"]}, 0),
        ({"attention": "eager"}, 0),
        ({"editors": [{"name": "ft", "label": "prompt", "params": {"layer": 1}}]}, 0),
        ({"regime": {"name": "batch", "size": 2}}, 0),
    ],
)
def test_the_plan_counts_what_the_run_would_find(tmp_path: Path, changes: dict[str, Any], finished: int) -> None:
    execute(config(tmp_path, limit=2), lm=make("llama"))
    assert size(config(tmp_path, **changes)).finished["prompt"] == finished


def test_failed_cases_are_counted_apart_and_not_done_again_unasked(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(PromptEditor, "edit", lambda self, requests: 1 / 0)
    execute(config(tmp_path, limit=3), lm=make("llama"))
    plan = size(config(tmp_path))
    assert (plan.finished["prompt"], plan.failed["prompt"], plan.seconds) == (0, 3, None)


def test_a_folder_without_a_result_has_no_pace(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{}")
    summary = size(config(tmp_path))
    assert summary.seconds is None and set(summary.finished.values()) == {0}


# --- methods and variants ---------------------------------------------------------------------------------------------


def test_selection_keeps_params_and_refuses_unknown_names():
    config = parse_config({**GOOD, "editors": [{"name": "ft", "label": "ft hard", "params": {"steps": 9}}]}, where="x")
    selection = select_editors(config, ["ft hard", "rome"])
    assert list(selection.editors) == ["ft hard", "rome"]
    assert selection.editors["ft hard"].params == {"steps": 9}
    assert select_editors(config, []) == config
    with pytest.raises(UserError, match="did you mean 'rome'"):
        select_editors(config, ["rmoe"])
