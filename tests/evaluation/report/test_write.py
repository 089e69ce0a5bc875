"""The report shows the table's numbers, escapes what it is given, needs no network, and says what is unsure."""

from __future__ import annotations

import csv

import pytest

from evaluation.analysis.comparison import compare
from evaluation.metrics.generation import load_metrics
from evaluation.report.formatting import cell_text
from evaluation.report.html_page import _glue
from evaluation.report.write import write_report
from evaluation.runs.frame import score_run
from evaluation.runs.results import load_run
from schemas.core.errors import UserError
from tests.support import arithmetic
from tests.support.arithmetic import ArithmeticLM, Strength, make_cases
from tests.support.report.read_report import METRICS, finished, read


def test_numbers_of_the_table_are_in_the_report(tmp_path):
    files = write_report([finished(tmp_path)])
    html, _ = read(files.files[0])
    names = ["report.html", "results.csv", "results.md", "results.json", "results.tex", "comparisons.csv"]
    assert [p.name for p in files.files] == [*names, "correlations.csv", "intervals.csv"]
    run, metrics = load_run(tmp_path), load_metrics(METRICS)
    count = 0
    for table in compare(run, score_run(run, metrics, "mean"), metrics):
        for row in table.rows:
            for metric in metrics:
                summary = row.summaries[metric.name]
                if summary.mean is not None:
                    gain = row.gain[metric.name]
                    assert all(_glue(text) in html for text in cell_text(summary.interval))
                    assert _glue(cell_text(gain, "Δ")[1]) in html or row.baseline
                    count += 1
    assert count > 20


def test_unfinished_runs_say_so_and_are_not_ranked(tmp_path):
    class Interrupted(ArithmeticLM):
        def score(self, probes, **more):
            if len(self.calls) == 24:
                raise KeyboardInterrupt
            return super().score(probes, **more)

    with pytest.raises(KeyboardInterrupt):
        finished(tmp_path, lm=Interrupted(), editors=["push", {"name": "push", "label": "late", "params": {}}, "other"])
    html, _ = read(write_report([tmp_path]).files[0])
    assert "not finished" in html and "2 of 11 so far" in html
    run, metrics = load_run(tmp_path), load_metrics(["es"])
    assert compare(run, score_run(run, metrics, "mean"), metrics, tests=True)[0].leads == {}


def test_the_best_is_that_of_the_paired_test(tmp_path):
    editors = ["push", {"name": "push", "label": "weak", "params": {"strength": 0.5}}]
    finished(tmp_path, split=make_cases(40, 0), editors=editors)
    run, metrics = load_run(tmp_path), load_metrics(["s_es", "s_ns"])
    leads = compare(run, score_run(run, metrics, "mean"), metrics, tests=True)[0].leads
    assert (leads["s_es"].best, leads["s_es"].second, leads["s_es"].decided) == ("push", "weak", True)
    assert leads["s_ns"].first == "weak", "who pushes harder loses more neighbours"
    assert leads["s_ns"].worse_than_unedited and leads["s_ns"].best is None, "worse than no edit is never the best"
    _, reader = read(write_report([tmp_path]).files[0])
    text = " ".join("".join(reader.text).split())
    assert "push is best on ES, PS, S-ES" in text and "S-ESpushweak" in text.replace(" ", ""), "said first, and decided"


@pytest.mark.parametrize("weak", [True, False])
def test_where_the_first_two_are_equal_the_best_is_not_decided(tmp_path, weak):
    editors = ["push", {"name": "push", "label": "twin", "params": {}}]
    editors += [{"name": "push", "label": "weak", "params": {"strength": 0.5}}] * weak
    finished(tmp_path, split=make_cases(40, 0), editors=editors)
    run, metrics = load_run(tmp_path), load_metrics(["s_es"])
    lead = compare(run, score_run(run, metrics, "mean"), metrics, tests=True)[0].leads["s_es"]
    assert {lead.first, lead.second} == {"push", "twin"} and (lead.decided, lead.best) == (False, None)
    html, _ = read(write_report([tmp_path]).files[0])
    assert "not decided" in html.split("</section>")[0] and 'class="first"' not in html.split("S-NS")[0]


def test_four_cases_decide_nothing(tmp_path):
    editors = ["push", {"name": "push", "label": "weak", "params": {"strength": 0.01}}]
    html, _ = read(write_report([finished(tmp_path, split=make_cases(4, 0), editors=editors)]).files[0])
    assert "n = 4: too few" in html and "not decided" in html and 'class="first"' not in html


@pytest.mark.parametrize("kind", ["folder", "store", "out"])
def test_mistakes_are_one_sentence(tmp_path, kind):
    run = finished(tmp_path / "run", split=make_cases(2, 0))
    with pytest.raises(UserError) as error:
        if kind == "folder":
            write_report([tmp_path / "nothing"])
        elif kind == "store":
            write_report([run], store=tmp_path / "none.duckdb")
        else:
            (tmp_path / "file").write_text("")
            write_report([run], out=tmp_path / "file")
    assert "\n" not in str(error.value)


def test_the_published_kind_is_selectable_and_marks_itself(tmp_path):
    finished(tmp_path)
    usual, published = write_report([tmp_path]), write_report([tmp_path], intervals="published", out=tmp_path / "p")
    assert usual.figures == published.figures, "results.csv and its columns are the same"
    html, old = usual.files[0].read_text(), published.files[0].read_text()
    assert (
        "1.96·sd/√cases by case" not in html
        and "± 1.96·sd/√cases" in old
        and "± " in old.replace("\N{NO-BREAK SPACE}", " ")
    )
    kinds = [{r["interval"] for r in csv.DictReader((w.files[-1]).open())} for w in (usual, published)]
    assert kinds[1] == {"1.96·sd/√n"} and "1.96·sd/√n" not in kinds[0] - {"1.96·sd/√n"}
    for row in csv.DictReader(usual.files[-1].open()):
        if row["low_95"]:
            assert 0 <= float(row["low_95"]) <= float(row["mean"]) <= float(row["high_95"]) <= 1


def test_a_null_method_is_shown_and_never_crowned(tmp_path, monkeypatch):
    editors = [
        {"name": "push", "params": {"strength": 99}},
        {"name": "push", "label": "weak", "params": {"strength": 1}},
    ]
    finished(tmp_path, editors=editors)
    run, metrics = load_run(tmp_path), load_metrics(METRICS)
    assert compare(run, score_run(run, metrics, "mean"), metrics, tests=True)[0].leads["s_es"].first == "push"
    monkeypatch.setattr("evaluation.analysis.comparison.NULL_METHODS", frozenset({"none", "push"}))
    (table, *_) = compare(run, score_run(run, metrics, "mean"), metrics, tests=True)
    assert table.leads == {} and [r.null for r in table.rows] == [True, True, True]


def test_against_keeps_the_question_to_one_method(tmp_path):
    editors = [{"name": "push", "label": name, "params": {"strength": s}} for name, s in (("a", 9), ("b", 2), ("c", 1))]
    finished(tmp_path, editors=editors)
    html, _ = read(write_report([tmp_path], against="b").files[0])
    assert "All comparisons of b" in html
    pairs = {(r["first"], r["second"]) for r in csv.DictReader((tmp_path / "comparisons.csv").open())}
    assert pairs == {("b", "a"), ("b", "c"), ("b", "none")}
    assert "All comparisons of" not in read(write_report([tmp_path]).files[0])[0]
    for label in ("nobody", "none"):
        with pytest.raises(UserError, match=f"no method is called '{label}'") as error:
            write_report([tmp_path], against=label)
        assert "a, b, c" in str(error.value)


def test_runs_with_another_seed_show_their_variation(tmp_path, monkeypatch):
    class Seeded(Strength):
        seed: int = 0

    monkeypatch.setattr(arithmetic, "Strength", Seeded)
    folders = [
        finished(tmp_path / str(n), editors=[{"name": "push", "params": {"seed": n, "strength": 1 + n}}, "none"])
        for n in range(2)
    ]
    same = [{"name": "push", "label": f"s{n}", "params": {"seed": n}} for n in range(2)]
    folders.append(finished(tmp_path / "same", editors=same))
    html, reader = read(write_report(folders).files[0])
    assert "p1-seeds" in reader.ids and '<th scope="col">SD</th>' in html
    assert "Variation over seeds" not in read(write_report(folders[:1]).files[0])[0], "what a run has not is left out"
