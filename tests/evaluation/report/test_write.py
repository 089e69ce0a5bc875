"""The report shows the table's numbers, escapes what it is given, needs no network, and says what is unsure."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from curation.splits.split_file import make_split
from curation.store.store import Store
from evaluation.analysis.comparison import compare, score_run
from evaluation.analysis.example_cases import pick_examples
from evaluation.report.formatting import flat, percent, spread
from evaluation.report.tradeoff_plot import HEIGHT, WIDTH, tradeoff_plot
from evaluation.report.write import write_report
from evaluation.runs.plan import load_metrics
from evaluation.runs.results import load_run
from evaluation.runs.runner import Runner
from schemas.core.errors import UserError
from schemas.lineage import Lineage
from schemas.verdicts import Verdict
from tests.support.arithmetic import ArithmeticEditor, ArithmeticLM, make_case, make_cases, make_config

METRICS = ("es", "ps", "ns", "s_es", "s_ns", "s_bo")
HOSTILE = "<script>alert('x')</script>&\"|"


def finished(out: Path, *, split=None, lm=None, **changes) -> Path:
    config = make_config(out, **changes)
    Runner(config, split or make_cases(8, 3), scorer=lm or ArithmeticLM(), make=ArithmeticEditor).run()
    return out


class Reader(HTMLParser):
    """Tags that are open at the end, everything that is loaded from elsewhere, and the text."""

    VOID = frozenset({"meta", "br", "link", "img", "input", "hr", "line", "circle", "rect", "path"})

    def __init__(self) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.loads: list[str] = []
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.loads += [
            v for k, v in attrs if k in ("src", "srcset", "data") or (k == "href" and tag in ("link", "use"))
        ]
        if "id" in values:
            self.ids.append(values["id"])
        if tag == "a":
            self.targets.append(values["href"])
        if tag not in self.VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.stack.pop() == tag, f"</{tag}> does not close what is open"

    def handle_data(self, data):
        self.text.append(data)


def read(path: Path) -> tuple[str, Reader]:
    html = path.read_text(encoding="utf-8")
    reader = Reader()
    reader.feed(html)
    return html, reader


def test_numbers_of_the_table_are_in_the_report(tmp_path):
    written = write_report([finished(tmp_path)])
    html, _ = read(written.files[0])
    names = ["report.html", "results.csv", "results.md", "results.json", "results.tex", "comparisons.csv"]
    assert [p.name for p in written.files] == [*names, "correlations.csv"]
    run, metrics = load_run(tmp_path), load_metrics(METRICS)
    shown = 0
    for table in compare(run, score_run(run, metrics, "mean"), metrics):
        for row in table.rows:
            for metric in metrics:
                summary = row.summaries[metric.name]
                if summary.mean is not None:
                    assert spread(summary.interval) in html
                    assert spread(row.gain[metric.name], signed=True) in html or row.baseline
                    shown += 1
    assert shown > 20


def test_csv_json_and_markdown_agree(tmp_path):
    written = write_report([finished(tmp_path)])
    rows = list(csv.DictReader(io.StringIO(written.files[1].read_text())))
    data = json.loads(written.files[3].read_text())
    markdown = written.files[2].read_text()
    assert len(rows) == len(data["parts"][0]["figures"]) == len(written.figures) == 3 * 2 * 6
    for row, figure in zip(rows, data["parts"][0]["figures"], strict=True):
        assert (row["label"], row["metric"], row["group"]) == (figure["label"], figure["metric"], figure["group"])
        if figure["mean"] is not None:
            assert float(row["mean"]) == figure["mean"]
            assert percent(figure["mean"]) in markdown
    assert data["parts"][0]["interval"].startswith("mean of case means")
    assert {c["label"] for c in data["parts"][0]["cases"]} == {"none", "push"}


def test_gain_is_the_paired_difference(tmp_path):
    finished(tmp_path)
    run, metrics = load_run(tmp_path), load_metrics(["s_es"])
    scores = score_run(run, metrics, "mean")
    row = compare(run, scores, metrics)[0].rows[1]
    now, then = scores.means("push", "s_es"), scores.means("none", "s_es")
    by_hand = [now[k] - then[k] for k in now]
    assert row.gain["s_es"].mean == pytest.approx(sum(by_hand) / len(by_hand))
    assert row.gain["s_es"].n == 11


def test_it_is_whole_and_loads_nothing(tmp_path):
    html, reader = read(write_report([finished(tmp_path)]).files[0])
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


def test_header_names_model_data_and_method(tmp_path):
    html, _ = read(write_report([finished(tmp_path)]).files[0])
    run = load_run(tmp_path)
    told = [
        "arithmetic",
        "float32",
        run.split.digest[:16],
        "split tiny 1.0.0",
        "11 of 11",
        "8 counterfactual",
        "1.96·sd",
    ]
    told += ["log-probability per target token", "single: each edit alone", run.baseline.manifest.key[:10]]
    for text in told:
        assert text in html


def test_normalisation_is_chosen_without_a_new_run(tmp_path):
    finished(tmp_path)
    one = write_report([tmp_path])
    two = write_report([tmp_path], out=tmp_path / "sum", normalisation="sum")
    assert "probability of the whole object" in two.files[0].read_text()
    bleed = [f["mean"] for w in (one, two) for f in w.figures if f["metric"] == "s_bo" and f["label"] == "push"]
    assert len(bleed) == 6 and bleed[0] > bleed[3] > 0, "all, counterfactual, temporal; twice"


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
    assert "push: 1 of 11 cases ended in an error" in text
    assert "Diverged edits" in text and "|v| = 470" in text
    assert re.search(r"Ties1110Truncated00Unscored00 Failed cases01", text)


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
    assert compare(run, score_run(run, metrics, "mean"), metrics)[0].leads == {}


def test_best_and_second_and_whether_it_is_decided(tmp_path):
    editors = ["push", {"name": "push", "label": "weak", "params": {"strength": 0.5}}]
    finished(tmp_path, split=make_cases(40, 0), editors=editors)
    run, metrics = load_run(tmp_path), load_metrics(["s_es", "s_ns"])
    leads = compare(run, score_run(run, metrics, "mean"), metrics)[0].leads
    assert (leads["s_es"].first, leads["s_es"].second, leads["s_es"].decided) == ("push", "weak", True)
    assert leads["s_ns"].first == "weak", "who pushes harder loses more neighbours"
    html, _ = read(write_report([tmp_path]).files[0])
    assert re.search(r"S-ES: <strong>push</strong> beats weak by \d", html)


def test_equal_methods_are_both_best(tmp_path):
    twins = ["push", {"name": "push", "label": "twin", "params": {}}]
    weak = {"name": "push", "label": "weak", "params": {"strength": 0.5}}
    finished(tmp_path, split=make_cases(40, 0), editors=[*twins, weak])
    run, metrics = load_run(tmp_path), load_metrics(["s_es"])
    lead = compare(run, score_run(run, metrics, "mean"), metrics)[0].leads["s_es"]
    assert (set(lead.best), lead.next, lead.decided) == ({"push", "twin"}, (), False)
    html, _ = read(write_report([tmp_path]).files[0])
    assert re.search(r"Highest S-ES: push with (\d.{1,30}?) % and twin with \1 % over 40 cases\.", html)


def test_where_all_are_equal_none_is_best(tmp_path):
    finished(tmp_path, editors=["push", {"name": "push", "label": "twin", "params": {}}])
    run, metrics = load_run(tmp_path), load_metrics(["s_es"])
    lead = compare(run, score_run(run, metrics, "mean"), metrics)[0].leads["s_es"]
    assert (lead.best, lead.next, lead.decided) == ((), (), False)
    html, _ = read(write_report([tmp_path]).files[0])
    assert re.search(r"S-ES: all methods have [\d.]+ % over \d+ cases\.", html) and ", best</span>" not in html


def test_a_rate_without_spread_gets_its_dagger(tmp_path):
    html, _ = read(write_report([finished(tmp_path, editors=[{"name": "push", "params": {"strength": 99}}])]).files[0])
    assert "100.0 ± 0.0†" in html
    assert "71 points with 3 cases" in html


def test_examples_are_the_extremes_and_show_the_cut(tmp_path):
    finished(tmp_path)
    run, metrics = load_run(tmp_path), load_metrics(METRICS)
    scores = score_run(run, metrics, "mean")
    examples = pick_examples(run, scores, metrics, "mean")
    means = scores.means("push", "s_es")
    assert means[examples[0].case.key] == max(means.values())
    assert min(means.values()) in [means[e.case.key] for e in examples]
    script = next(q for q in examples[0].questions if q.kind == "script")
    assert script.lines[-1] == "Step 1: Fly to" and script.targets == ("Oslo", "Lima")
    for choice in script.choices:
        assert choice.won == (choice.values[0] > choice.values[1])
        assert all(0 < v < 1 for v in choice.values)
    assert len({e.case.key for e in examples}) == len(examples)


def test_plane_keeps_inside_and_labels_do_not_collide(tmp_path):
    editors = [{"name": "push", "label": f"method {n}", "params": {"strength": float(n)}} for n in range(6)]
    finished(tmp_path, editors=editors, split=make_cases(20, 0))
    run, metrics = load_run(tmp_path), load_metrics(METRICS)
    table = compare(run, score_run(run, metrics, "mean"), metrics)[0]
    picture = tradeoff_plot(table, metrics)
    assert len(picture.points) == 7
    for point in picture.points:
        assert 0 < point.x < WIDTH and 0 < point.y < HEIGHT
        assert point.bar_x is None or picture.left <= point.bar_x[0] <= point.bar_x[1] <= picture.right
    places = {(p.text_x, p.text_y) for p in picture.points}
    assert len(places) == 7


def test_no_plane_without_both_axes(tmp_path):
    finished(tmp_path, split=make_cases(0, 3))
    run, metrics = load_run(tmp_path), load_metrics(METRICS)
    assert tradeoff_plot(compare(run, score_run(run, metrics, "mean"), metrics)[0], metrics) is None
    assert "Efficacy and locality</h2>" not in write_report([tmp_path]).files[0].read_text()


def test_runs_on_other_models_stand_apart(tmp_path):
    finished(tmp_path / "a")
    finished(tmp_path / "b", lm=ArithmeticLM(name="other", revision="2"))
    written = write_report([tmp_path / "a", tmp_path / "b"], out=tmp_path / "c")
    html, reader = read(written.files[0])
    assert "Part 1: arithmetic" in html and "Part 2: other" in html
    assert reader.stack == []
    rows = list(csv.DictReader(io.StringIO(written.files[1].read_text())))
    assert {r["part"] for r in rows} == {"1", "2"}


def test_construction_is_shown_and_called_what_it_is(tmp_path):
    from curation.files.model_packages import EMBEDDED_LABEL

    def verdict(n: int, label: str, reason: str) -> Verdict:
        item = f"{n:020d}"
        return Verdict(key=f"verdict/leak@1/{item}", item_id=item, by="leak@1", label=label, reason=reason)

    path = tmp_path / "s.duckdb"
    with Store.open(path, create=True) as store:
        found = [verdict(n, "keep", "") for n in range(5)] + [verdict(n, "drop", "old <object> named") for n in (6, 7)]
        store.put(found, [Lineage(item_id="a", stage="scripts", made_at="2026-01-01", model=EMBEDDED_LABEL)])
    html, _ = read(write_report([finished(tmp_path / "run")], store=path).files[0])
    assert "5 items kept, 2 dropped" in html
    assert "2 × leak: old &lt;object&gt; named" in html
    assert "Smoke-test quality" in html


def test_flat_has_every_figure_once(tmp_path):
    finished(tmp_path)
    run, metrics = load_run(tmp_path), load_metrics(METRICS)
    lines = flat(compare(run, score_run(run, metrics, "mean"), metrics), metrics)
    assert len({(x["group"], x["label"], x["metric"]) for x in lines}) == len(lines)


def test_one_case_has_no_interval(tmp_path):
    html, reader = read(write_report([finished(tmp_path, split=make_cases(1, 0))]).files[0])
    assert "± –" in html and reader.stack == []


@pytest.mark.parametrize("what", ["folder", "store", "out"])
def test_mistakes_are_one_sentence(tmp_path, what):
    run = finished(tmp_path / "run", split=make_cases(2, 0))
    with pytest.raises(UserError) as error:
        if what == "folder":
            write_report([tmp_path / "nothing"])
        elif what == "store":
            write_report([run], store=tmp_path / "none.duckdb")
        else:
            (tmp_path / "file").write_text("")
            write_report([run], out=tmp_path / "file")
    assert "\n" not in str(error.value)
