"""The report shows the table's numbers, escapes what it is given, needs no network, and says what is unsure."""

from __future__ import annotations

import re

import pytest

from curation.splits.split_file import make_split
from curation.store.store import Store
from evaluation.analysis.comparison import compare, score_run
from evaluation.report.formatting import spread
from evaluation.report.write import write_report
from evaluation.runs.plan import load_metrics
from evaluation.runs.results import load_run
from schemas.core.errors import UserError
from schemas.lineage import Lineage
from schemas.verdicts import Verdict
from tests.support.arithmetic import ArithmeticLM, make_case, make_cases
from tests.support.report.read_report import METRICS, finished, read

HOSTILE = "<script>alert('x')</script>&\"|"


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
