from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from curation.store.store import Store
from evaluation.analysis.comparison import compare
from evaluation.analysis.exports import TABLES, write_run_tables
from evaluation.metrics.generation import load_metrics
from evaluation.report.results_card import results_card, results_files
from evaluation.runs.frame import COLUMNS, answers_frame, score_run
from evaluation.runs.generated_scripts import scripts_of_run
from evaluation.runs.results import Run, load_run
from tests.support.ratings import rate
from tests.support.report import texts_run
from tests.support.report.read_report import finished

METRICS = ["es", "es_gen", "ns", "ns_kl", "collapse", "s_es_gen"]


EDITORS = ["none", {"name": "push", "label": "pu\u202esh/..'; DROP", "params": {"fail": ["Land00"]}}]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return load_run(finished(tmp_path_factory.mktemp("run") / "mine", metrics=METRICS, editors=EDITORS))


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


def test_scores_and_figures_are_those_of_the_tables(run: Run, tmp_path: Path) -> None:
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


CARD_METRICS = ["es", "ns", "ns_kl"]


def test_tables_and_card(tmp_path: Path) -> None:
    run = texts_run.finished(tmp_path / "secret-place" / "mine", CARD_METRICS)
    (tmp_path / "out").mkdir()
    files = results_files([run], tmp_path / "out")
    assert [f.name for f in files] == ["README.md", *(f"{name}.parquet" for name in TABLES)]
    assert all(f.size > 100 for f in files)
    for file in files:
        assert isinstance(file.content, Path) and b"secret-place" not in file.content.read_bytes()


def test_every_figure_with_its_interval_and_cases(tmp_path: Path) -> None:
    run = texts_run.finished(tmp_path / "mine", CARD_METRICS)
    text, metrics = results_card([run]), load_metrics(CARD_METRICS)
    assert run.split.digest in text and f"{len(run.cases)} cases" in text and "CC0-1.0" in text
    for table in compare(run, score_run(run, metrics, "mean"), metrics):
        for row in table.rows:
            for metric in metrics:
                interval = row.summaries[metric.name].interval
                if interval.mean is not None:
                    start = f"| {row.label} | {table.group} | {metric.title} | "
                    (line,) = [one for one in text.split("\n") if one.startswith(start)]
                    assert line.endswith(f" | {interval.n} |") and "[" in line
                    assert ("nats" in line) is (metric.name == "ns_kl")


def test_labels_cannot_break_out_of_the_table(tmp_path: Path) -> None:
    editors = ["none", {"name": "push", "label": "p|u<b>\u202esh`"}]
    text = results_card([texts_run.finished(tmp_path / "mine", ["es"], editors=editors)])
    assert "<b>" not in text and "\u202e" not in text and "p\\|u" in text
