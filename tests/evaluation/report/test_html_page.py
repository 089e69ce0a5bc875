from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from curation.splits.split_file import make_split
from curation.stats.intervals import Interval
from curation.store.store import Store
from evaluation.analysis.comparison import compare
from evaluation.analysis.tables import Plot, PlotPoint
from evaluation.metrics.generation import load_metrics
from evaluation.report import write
from evaluation.report.charts import draw
from evaluation.report.html_page import answer_list
from evaluation.report.sections import make_section
from evaluation.report.write import ReportFiles, write_report
from evaluation.runs.frame import score_run
from evaluation.runs.results import load_run
from schemas.core.errors import UserError
from schemas.lineage import Lineage
from schemas.verdicts import Verdict
from tests.support import arithmetic
from tests.support.arithmetic import ArithmeticLM, Strength, make_case, make_cases
from tests.support.report import texts_run
from tests.support.report.read_report import finished, read

pytestmark = pytest.mark.usefixtures("no_pictures")

HOSTILE = "<script>alert('x')</script>&\"|"


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> ReportFiles:
    return write_report([finished(tmp_path_factory.mktemp("plain"))])


def test_it_is_whole_and_loads_nothing(plain):
    html, reader = read(plain.files[0])
    assert reader.stack == []
    assert reader.loads == []
    assert not re.search(r"@import|url\(|<script", html)
    assert all(t.startswith("#") and t[1:] in reader.ids for t in reader.targets)
    assert len(reader.ids) == len(set(reader.ids))


def test_hostile_text_is_escaped(tmp_path):
    cases = [make_case(f"{HOSTILE} {n}", old=f"{HOSTILE} Lima", new=f"Oslo {HOSTILE}") for n in range(3)]
    split = make_split(f"mini{HOSTILE}", [c.model_copy(update={"key": f"case/{n}"}) for n, c in enumerate(cases)])
    lm = ArithmeticLM(name=HOSTILE)
    editors = [{"name": "push", "label": HOSTILE, "params": {"fail": [cases[0].fact.subject.text]}}]
    html, reader = read(write_report([finished(tmp_path, split=split, lm=lm, editors=editors)]).files[0])
    assert "<script" not in html
    assert "alert('x')" not in html.replace("&#39;", "'").replace("&lt;script&gt;alert('x')", "")
    assert HOSTILE in "".join(reader.text)
    assert reader.stack == []


def test_what_turns_or_hides_text_is_written_out(tmp_path):
    """A name that reads backwards, hides a space or clears the screen of who prints the page."""
    odd = "Li\u202ema\u200b \ufeffX\u2066"
    split = make_split("mini", [make_case(f"Land{n}", old=odd, new="Oslo") for n in range(3)])
    html, _ = read(write_report([finished(tmp_path, split=split)]).files[0])
    assert not set("\u202e\u200b\ufeff\u2066") & set(html)
    assert "Li\\u202ema\\u200b" in html


def test_header_names_model_data_and_method(plain):
    html, _ = read(plain.files[0])
    run = load_run(plain.files[0].parent)
    parts = [
        "arithmetic",
        "float32",
        run.split.digest[:16],
        "split tiny 1.0.0",
        "11 of 11",
        "8 counterfactual",
        "[low, high]",
    ]
    parts += ["log-probability per target token", "single: each edit alone", run.baseline.manifest.key[:10]]
    for text in parts:
        assert text in html


def test_failures_blow_ups_and_ties_are_shown(tmp_path):
    class Flat(ArithmeticLM):
        def _answer(self, probe, prompt):
            answer = super()._answer(probe, prompt)
            same = tuple(t.model_copy(update={"logprob": -3.0}) for t in answer.targets)
            return answer.model_copy(update={"targets": same}) if "capital city" in prompt else answer

    editors = [{"name": "push", "params": {"fail": ["Land01"]}}]
    _, reader = read(write_report([finished(tmp_path, editors=editors, lm=Flat())]).files[0])
    text = " ".join("".join(reader.text).split())
    assert "RuntimeError: cannot edit Land01" in text
    assert "Cases that ended in an error, in no mean (of 11): push 1." in text
    assert "Diverged edits" in text and "0.5470" in text.replace(" ", "")
    assert re.search(r"Ties ?11 ?10 ?Truncated ?0 ?0 ?Unscored ?0 ?0 ?Failed cases ?0 ?1", text)


def test_construction_is_shown_and_called_what_it_is(tmp_path):
    from curation.files.model_packages import EMBEDDED_LABEL

    def verdict(n: int, label: str, reason: str) -> Verdict:
        item = f"{n:020d}"
        return Verdict(key=f"verdict/leak@1/{item}", item_id=item, by="leak@1", label=label, reason=reason)

    path = tmp_path / "s.duckdb"
    with Store.open(path, create=True) as store:
        verdicts = [verdict(n, "keep", "") for n in range(5)] + [
            verdict(n, "drop", "old <object> named") for n in (6, 7)
        ]
        store.put(verdicts, [Lineage(item_id="a", stage="scripts", made_at="2026-01-01", model=EMBEDDED_LABEL)])
    html, _ = read(write_report([finished(tmp_path / "run")], store=path).files[0])
    assert "5 items kept, 2 dropped" in html
    assert "2 × leak: old &lt;object&gt; named" in html
    assert "Smoke-test quality" in html


def test_options_of_a_method_are_on_the_page(tmp_path: Path) -> None:
    fail = [f"Nobody{n}" for n in range(6)]
    out = finished(tmp_path, editors=[{"name": "push", "params": {"strength": 2.5, "fail": fail}}], limit=2)
    html, _ = read(write_report([out]).files[0])
    assert "(6 values)" in html and "2.5" in html and "Nobody3" not in html


def test_a_metric_without_a_value_has_no_column(tmp_path: Path) -> None:
    """No case has a temporal neighbour, so bleed-over has no value: a column of dashes says nothing."""
    out = finished(tmp_path, split=make_cases(4, 0), metrics=["es", "s_bo"])
    html, _ = read(write_report([out]).files[0])
    heads = " ".join(re.sub("<[^>]+>", " ", head) for head in re.findall(r"<thead>.*?</thead>", html, re.S))
    assert "ES" in heads and "S-BO" not in heads
    short = finished(tmp_path / "short", split=make_cases(1, 0), metrics=["es", "n_gram_entropy"])
    html, _ = read(write_report([short]).files[0])
    assert "Generated texts" not in html, "no text has fifty words"


def test_what_a_run_has_not_is_left_out_and_named_once(tmp_path: Path) -> None:
    html, reader = read(write_report([finished(tmp_path, limit=1)]).files[0])
    assert "Not measured: what the model writes, ratings of texts, many edits in one model." in html
    assert not {"p1-text", "p1-judging", "p1-many", "p1-seeds"} & set(reader.ids) and "Not in this report" not in html


def test_every_picture_as_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    written = write_report([finished(tmp_path / "run")], figures=tmp_path / "pictures")
    names = sorted(path.name for path in written.pictures)
    assert {"es.svg", "es.png", "es.pdf", "s-bo.pdf", "correlations-pooled.svg"} <= set(names)
    assert all(path.stat().st_size > 500 for path in written.pictures)
    assert (tmp_path / "pictures" / "es.pdf").read_bytes().startswith(b"%PDF")


def test_long_names_are_told_apart_in_a_picture() -> None:
    """Nine methods were all called "fine_tuning_of_one_layer_wit..."."""
    name = "fine_tuning_of_one_layer_with_learning_rate_{}e-3_and_early_stopping"
    points = tuple(PlotPoint(name.format(n), "", Interval(0.001 * n, None, 9, (0.0, 0.02))) for n in (1, 2))
    texts = re.findall(r">([^<>]+)<", draw(Plot("dots", "S-BO", points), [p.label for p in points]).svg)
    assert [name.format(n) in "".join(texts) for n in (1, 2)] == [True, True]
    assert "2.0" in texts and "20" not in texts, "the axis ends with the values"


def test_an_axis_of_tiny_shares_ends_at_one_percent() -> None:
    points = [PlotPoint("rome", "", Interval(0.00002, 0.00001, 9, (0.0, 0.0002)))]
    drawn = draw(Plot("dots", "S-BO", tuple(points)), ["rome"]).svg
    assert re.search(r"values from 0\.0 to 1\.0|>1\.0<", drawn)


def test_a_control_method_beats_nobody_and_what_could_never_be_decided_is_counted(tmp_path: Path) -> None:
    """ "PS: boost beats none" stood first among what was decided, in bold."""
    editors = ["none", {"name": "push", "label": "rome"}, "boost"]
    html, _ = read(write_report([finished(tmp_path, split=make_cases(6, 0), editors=editors)]).files[0])
    part = html.split('<h2 id="p1-paired">')[1].split("<h2")[0]
    assert "<td>boost</td>" in part and "<td>boost</td>" not in part.split("All comparisons")[0], (
        "a control is never decided"
    )
    html, _ = read(write_report([finished(tmp_path / "few", split=make_cases(3, 0), editors=editors)]).files[0])
    part = html.split('<h2 id="p1-paired">')[1].split("<h2")[0]
    assert "No comparison of methods is decided" in part and "<td>never</td>" in part


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


def test_where_the_first_two_are_equal_the_best_is_not_decided(tmp_path):
    editors = ["push", {"name": "push", "label": "twin", "params": {}}]
    editors += [{"name": "push", "label": "weak", "params": {"strength": 0.5}}]
    finished(tmp_path, split=make_cases(40, 0), editors=editors)
    run, metrics = load_run(tmp_path), load_metrics(["s_es"])
    lead = compare(run, score_run(run, metrics, "mean"), metrics, tests=True)[0].leads["s_es"]
    assert {lead.first, lead.second} == {"push", "twin"} and (lead.decided, lead.best) == (False, None)
    html, _ = read(write_report([tmp_path]).files[0])
    assert "not decided" in html.split("</section>")[0] and 'class="first"' not in html.split("S-NS")[0]


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
    html, old = usual.files[0].read_text(), published.files[0].read_text()
    assert (
        "1.96·sd/√cases by case" not in html
        and "± 1.96·sd/√cases" in old
        and "± " in old.replace("\N{NO-BREAK SPACE}", " ")
    )
    for written, wanted in ((usual, {"beta, by case"}), (published, {"1.96·sd/√n"})):
        rows = list(csv.DictReader(written.files[1].open()))
        assert {r["interval"] for r in rows if r["low_95"]} == wanted
        assert {r["gain_interval"] for r in rows if r["gain_low_95"]} <= wanted
        assert {r["gain_interval"] for r in rows if not r["gain_low_95"]} == {""}, "no kind where there is no interval"
    for row in csv.DictReader(usual.files[1].open()):
        if row["low_95"]:
            assert 0 <= float(row["low_95"]) <= float(row["mean"]) <= float(row["high_95"]) <= 1


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


def test_methods_and_cases_are_numbered_as_they_come(tmp_path: Path) -> None:
    run = texts_run.finished(tmp_path, texts_run.TEXTS)
    listed = answer_list(make_section(run, None, None))
    assert listed["answer_methods"] == [] or listed["answer_labels"] == {"none": 1, "push": 2}
    assert [c.key for c in listed["answer_cases"]] == [k for k in run.cases if k in listed["answer_numbers"]]
    assert listed["answer_count"] == sum(len(q["answers"]) for q in listed["answers"])


def test_a_page_that_would_be_too_large_says_how_to_see_the_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts_run.finished(tmp_path, texts_run.TEXTS)
    assert "scedit results view" not in write_report(tmp_path).files[0].read_text()
    monkeypatch.setattr(write, "LARGEST", 1000)
    assert "24 texts are too many for this page" in write_report(tmp_path).files[0].read_text()
