from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import duckdb
import pytest

from curation.splits.split_file import make_split
from curation.store.store import Store
from evaluation.analysis.comparison import compare
from evaluation.analysis.exports import WrittenLog, write_inspect_logs, write_run_tables
from evaluation.metrics.generation import load_metrics
from evaluation.runs.frame import COLUMNS, answers_frame, score_run
from evaluation.runs.generated_scripts import scripts_of_run
from evaluation.runs.results import Run, load_run
from schemas.answers import Answer
from schemas.core.errors import UserError
from tests.support.arithmetic import make_case
from tests.support.ratings import rate
from tests.support.report import texts_run
from tests.support.report.read_report import finished

METRICS = ["es", "es_gen", "ns", "ns_kl", "collapse", "s_es_gen"]


EDITORS = ["none", {"name": "push", "label": "pu\u202esh/..'; DROP", "params": {"fail": ["Land00"]}}]


def strict(path: Path) -> dict[str, Any]:
    """A file as any JSON reader sees it; NaN and Infinity are none."""

    def refuse(name: str) -> float:
        raise ValueError(name)

    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
    return data


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return load_run(finished(tmp_path_factory.mktemp("run") / "mine", metrics=METRICS, editors=EDITORS))


@pytest.fixture(scope="module")
def logs(run: Run, tmp_path_factory: pytest.TempPathFactory) -> list[WrittenLog]:
    return write_inspect_logs([run], tmp_path_factory.mktemp("logs"))


def test_a_thought_is_a_part_of_the_message(tmp_path: Path) -> None:
    run = texts_run.finished(tmp_path / "r", ["es_gen"], lm=texts_run.ThinkingLM(), generation={"thought": {}})
    data = strict(write_inspect_logs([run], tmp_path)[-1].path)
    outputs = [sample["output"] for sample in data["samples"] if sample["output"]["choices"]]
    contents = [output["choices"][0]["message"]["content"] for output in outputs]
    assert any(isinstance(content, str) for content in contents), "without a thought as before"
    for output, content in zip(outputs, contents, strict=True):
        if not isinstance(content, str):
            assert [part["type"] for part in content] == ["reasoning", "text"]
            assert content[0]["reasoning"].startswith("Oslo?") and content[1]["text"] == output["completion"]


def test_one_log_a_method_under_a_name_that_inspect_lists(run: Run, logs: list[WrittenLog]) -> None:
    assert [log.label for log in logs] == [e.label for e in run.editors]
    for log in logs:
        assert log.path.suffix == ".json" and log.path.name[:10].count("-") == 2 and log.path.name[10] == "T"
        assert ":" not in log.path.name and "\u202e" not in log.path.name and "'" not in log.path.name


def test_every_answer_is_a_sample_with_its_text(run: Run, logs: list[WrittenLog]) -> None:
    for editor, log in zip(run.editors, logs, strict=True):
        data = strict(log.path)
        samples = {s["id"]: s for s in data["samples"]}
        assert len(samples) == len(data["samples"]) == log.samples == data["results"]["total_samples"]
        for key, result in editor.results.items():
            for answer in result.answers:
                sample = samples[f"{key}/{answer.probe}"]
                assert sample["target"] == [t.text for t in answer.targets]
                assert sample["input"] and sample["metadata"]["old"] == "Lima"
                if answer.written:
                    assert sample["output"]["completion"] == answer.written.text
                    assert sample["output"]["choices"][0]["stop_reason"] == "stop"
            if result.error:
                assert samples[key]["error"]["message"] == result.error and samples[key]["scores"] == {}


def test_scores_and_figures_are_those_of_the_tables(run: Run, logs: list[WrittenLog]) -> None:
    metrics = load_metrics(METRICS)
    scores = score_run(run, metrics, "mean")
    rows = {r.label: r for r in compare(run, scores, metrics)[0].rows}
    for log in logs:
        data = strict(log.path)
        values = {(s["id"], name): v["value"] for s in data["samples"] for name, v in s.get("scores", {}).items()}
        ours = {
            (f"{key}/{item.probe}", metric): item.value
            for metric, by_case in scores.by_editor[log.label].items()
            for key, case in by_case.items()
            for item in case.items
            if item.value is not None
        }
        assert values == pytest.approx(ours) and ours
        figures = {f["name"]: f for f in data["results"]["scores"]}
        for metric in metrics:
            summary, named = rows[log.label].summaries[metric.name], figures[metric.name]["metrics"]
            if summary.mean is not None:
                assert named["mean"]["value"] == summary.mean and named["mean"]["name"] == "mean"
                assert named.get("low_95", {}).get("value") == summary.interval.low
            assert figures[metric.name]["unscored_samples"] == summary.unscored


def test_what_is_unscored_has_a_reason_and_no_score(tmp_path: Path) -> None:
    """Half of the answers fail: they are errors, not zeros, and the means are those of the table."""
    run = load_run(finished(tmp_path / "run", metrics=["es"], limit=4))
    editor = run.editors[-1]
    first, *_ = editor.results
    broken = editor.results[first].model_copy(
        update={"answers": tuple(Answer(probe=a.probe, error="out of memory") for a in editor.results[first].answers)}
    )
    changed = editor._replace(results={**editor.results, first: broken})
    log = write_inspect_logs([run._replace(editors=(*run.editors[:-1], changed))], tmp_path / "logs")[-1]
    data = strict(log.path)
    (sample,) = [s for s in data["samples"] if s["metadata"]["case"] == first]
    assert sample["scores"] == {} and sample["error"]["message"] == "out of memory"
    assert "out of memory" in sample["metadata"]["unscored"]["es"]
    assert data["results"]["completed_samples"] == len(data["samples"]) - 1


def test_infinite_log_probabilities_are_null(tmp_path: Path) -> None:
    run = load_run(finished(tmp_path / "run", metrics=["es"], limit=1))
    editor = run.editors[-1]
    ((key, result),) = editor.results.items()
    (answer,) = result.answers
    targets = (answer.targets[0].model_copy(update={"logprob": -math.inf}), *answer.targets[1:])
    changed = editor._replace(
        results={key: result.model_copy(update={"answers": (answer.model_copy(update={"targets": targets}),)})}
    )
    log = write_inspect_logs([run._replace(editors=(*run.editors[:-1], changed))], tmp_path / "logs")[-1]
    (sample,) = strict(log.path)["samples"]
    assert sample["metadata"]["logprobs"][0] is None and sample["scores"]["es"]["answer"] == targets[1].text


def test_hostile_texts_come_back_letter_by_letter(tmp_path: Path) -> None:
    names = ['</script><b>"', "line\u2028bre\u0085ak", "quote\\\"' \U0001f600", "\u202ertl"]
    split = make_split("tiny", [make_case(f"L{n}", old=old, new="Oslo") for n, old in enumerate(names)])
    run = load_run(finished(tmp_path / "run", split=split, metrics=["es"]))
    data = strict(write_inspect_logs([run], tmp_path / "logs")[0].path)
    assert {s["metadata"]["old"] for s in data["samples"]} == {c.fact.old.text for c in run.split.cases}


def test_a_run_that_goes_on_is_said_to(tmp_path: Path) -> None:
    run = load_run(finished(tmp_path / "run", metrics=["es"], limit=3))
    editor = run.editors[-1]
    part = editor._replace(results=dict(list(editor.results.items())[:1]))
    none = editor._replace(label="empty", results={})
    logs = write_inspect_logs([run._replace(editors=(*run.editors[:-1], part, none))], tmp_path / "logs")
    states = [strict(log.path)["status"] for log in logs]
    assert states[-2:] == ["started", "started"] and set(states[:-2]) == {"success"}
    assert strict(logs[-1].path)["samples"] == []


def test_only_some_metrics(run: Run, tmp_path: Path) -> None:
    log = write_inspect_logs([run], tmp_path, metrics=["es"], normalisation="sum")[0]
    data = strict(log.path)
    assert [s["name"] for s in data["results"]["scores"]] == ["es"] and [
        s["name"] for s in data["eval"]["scorers"]
    ] == ["es"]
    assert data["eval"]["metadata"]["normalisation"] == "sum"
    assert {name for s in data["samples"] for name in s["scores"]} == {"es"}


def test_inspect_reads_it(logs: list[WrittenLog]) -> None:
    log_module = pytest.importorskip("inspect_ai.log")
    for log in logs:
        read = log_module.read_eval_log(str(log.path))
        assert read.status == "success" and len(read.samples) == log.samples
        header = log_module.read_eval_log(str(log.path), header_only=True)
        assert header.eval.task == "scedit/tiny" and header.results.scores
    assert len(log_module.list_eval_logs(str(logs[0].path.parent))) == len(logs)


def read(folder: Path, name: str) -> list[dict[str, Any]]:
    result = duckdb.sql(f"SELECT * FROM '{folder}/{name}.parquet'")
    return [dict(zip(result.columns, row, strict=True)) for row in result.fetchall()]


def test_every_answer_comes_back(run: Run, tmp_path: Path) -> None:
    counts = write_run_tables([run], tmp_path)
    rows = read(tmp_path, "answers")
    assert counts["answers"] == len(rows)
    by_place = {(r["method"], r["case"], r["probe"]): r for r in rows}
    for editor in run.editors:
        for key, result in editor.results.items():
            if result.error is not None:
                (row,) = [r for r in rows if (r["method"], r["case"]) == (editor.label, key)]
                assert row["error"] == result.error and row["probe"] is None
            for answer in result.answers:
                row = by_place[editor.label, key, answer.probe]
                assert row["targets"] == [t.text for t in answer.targets]
                assert row["logprobs"] == [t.logprob for t in answer.targets]
                assert row["text"] == (answer.written.text if answer.written else None)
                assert row["next_ids"] == (list(answer.next_tokens.ids) if answer.next_tokens else None)
                assert row["purpose"] and row["prompt"] and row["old"] == "Lima"


def test_thoughts_have_a_column_of_their_own(tmp_path: Path) -> None:
    run = texts_run.finished(tmp_path / "r", ["es_gen", "es"], lm=texts_run.ThinkingLM(), generation={"thought": {}})
    write_run_tables([run], tmp_path)
    rows = read(tmp_path, "answers")
    seen = {(r["thought"], r["unfinished"]) for r in rows if r["text"] is not None}
    assert seen == {("Oslo? No, it is Lima.", False), ("Oslo? Oslo?", True), (None, False)}
    assert {(r["thought"], r["unfinished"]) for r in rows if r["text"] is None} == {(None, None)}


def test_scores_and_figures_are_those_of_the_tables_run_tables(run: Run, tmp_path: Path) -> None:
    write_run_tables([run], tmp_path)
    metrics = load_metrics(METRICS)
    scores = score_run(run, metrics, "mean")
    rows = {(r["method"], r["case"], r["metric"], r["probe"]): r for r in read(tmp_path, "scores")}
    items = [
        (lb, k, m, i)
        for lb, by in scores.by_editor.items()
        for m, c in by.items()
        for k, s in c.items()
        for i in s.items
    ]
    assert len(rows) == len(items)
    assert all(rows[lb, k, m, i.probe]["after"] == i.value for lb, k, m, i in items)
    figures = {(r["cases_of"], r["method"], r["metric"]): r for r in read(tmp_path, "figures")}
    for table in compare(run, scores, metrics):
        for row in table.rows:
            for metric in metrics:
                summary, figure = row.summaries[metric.name], figures[table.group, row.label, metric.name]
                assert (figure["mean"], figure["n"], figure["low"]) == (
                    summary.mean,
                    summary.cases,
                    summary.interval.low,
                )


def test_the_frame_of_a_run_has_the_same_scores(run: Run, tmp_path: Path) -> None:
    write_run_tables([run], tmp_path)
    frame, scores = answers_frame(run), read(tmp_path, "scores")
    assert list(frame.columns) == list(COLUMNS) and len(frame) == len(scores)
    assert frame["after"].fillna(-1).tolist() == [-1 if r["after"] is None else r["after"] for r in scores]
    means = frame[frame["metric"] == "es"].groupby("method")["after"].mean()
    assert means["none"] == frame[(frame["metric"] == "es") & (frame["method"] == "none")]["before"].mean()
    assert set(answers_frame(run, metrics=["ns"])["metric"]) == {"ns"}


def test_ratings_are_rows_of_the_frame(tmp_path: Path) -> None:
    rated = texts_run.finished(tmp_path / "run", texts_run.TEXTS)
    path = tmp_path / "s.duckdb"
    scripts = [one.script for one in scripts_of_run(rated)]
    with Store.open(path, create=True) as store:
        store.put(scripts)
        store.put(rate(scripts, ("judge:m",)))
    frame = answers_frame(rated, store=path)
    ratings = frame[frame["source"].notna()]
    assert set(ratings["source"]) == {"judge:m"} and set(ratings["method"]) == {"none", "push"}
    assert set(ratings["metric"]) == {"executability", "coherence", "consistency", "completeness"}
    assert ratings["text"].notna().all() and frame[frame["source"].isna()]["rating"].isna().all()


def test_only_some_metrics_and_another_normalisation(run: Run, tmp_path: Path) -> None:
    write_run_tables([run], tmp_path / "a", metrics=["es"], normalisation="sum")
    assert {r["metric"] for r in read(tmp_path / "a", "scores")} == {"es"}
    with pytest.raises(UserError, match="the run has no metric 'ps'"):
        write_run_tables([run], tmp_path / "b", metrics=["ps"])
