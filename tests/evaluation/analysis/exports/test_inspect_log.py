"""Logs for Inspect: strict JSON, every answer a sample, scores and figures ours, unscored never a zero.

What ``inspect_ai`` itself says of such a file is checked where it is installed (``pip install inspect-ai``).
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from curation.splits.split_file import make_split
from evaluation.analysis.comparison import compare
from evaluation.analysis.exports import WrittenLog, write_inspect_logs
from evaluation.runs.frame import score_run
from evaluation.runs.plan import load_metrics
from evaluation.runs.results import Run, load_run
from schemas.answers import Answer
from schemas.core.errors import UserError
from tests.support.arithmetic import make_case
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


def test_the_same_run_twice_is_refused_and_another_metric_too(run: Run, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="two runs hold the same results of 'none'"):
        write_inspect_logs([run, run], tmp_path)
    with pytest.raises(UserError, match="the run has no metric 'ps'"):
        write_inspect_logs([run], tmp_path / "b", metrics=["ps"])


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
