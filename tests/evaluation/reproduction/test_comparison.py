"""Published figures: all there, cited, beside ours, and compared only where model and data are the published ones."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

from evaluation.analysis.text_ratings import RatedTexts
from evaluation.cli.reproduce import reproduce as command
from evaluation.report.sections import make_sections
from evaluation.reproduction import comparison as reproduce
from evaluation.reproduction.comparison import (
    compare_figures,
    printed_figures,
    published_table,
    published_tables,
    requirements,
)
from evaluation.reproduction.table_2_check import CASES
from evaluation.runs.results import load_run
from schemas.core.errors import UserError
from tests.support.ratings import made_scripts, rate
from tests.support.report import published_figures

folder = published_figures.folder


def figures(name: str) -> set[str]:
    return {f"{p.value:.2f}" for p in printed_figures(published_table(name))}


@pytest.mark.parametrize("name", published_tables())
def test_every_figure_stands_in_the_paper(name, shared):
    text = "".join(p.read_text(encoding="utf-8") for p in sorted((shared / "papers").glob("*.txt")))
    flat = text.replace("−", "-")
    for p in printed_figures(published_table(name)):
        assert re.search(rf"(?<![\d.]){re.escape(f'{p.value:.2f}'.rstrip('0').rstrip('.'))}0?", flat), p


def test_counts_of_the_tables():
    assert [len(printed_figures(published_table(n))) for n in published_tables()] == [99, 20, 4, 15, 48]
    assert sum(bool(p.note) for p in printed_figures(published_table("scedit-table2"))) == 1


def test_named_pairs_of_table_6_agree_with_the_papers_words(shared):
    """The pairs are named in the earlier version; each named line must say what our table says."""
    text = "".join(p.read_text(encoding="utf-8") for p in sorted((shared / "papers").glob("*.txt")))
    lines = {
        frozenset(m.group(1, 2)): float(m.group(3))
        for m in re.finditer(r"^(\S+) vs\. (\S+)\t(-?0\.\d+)$", text, flags=re.M)
    }
    ours = {frozenset(p.metric.split(", ")): p.value for p in printed_figures(published_table("scedit-table6"))}
    assert len(lines) == 15 and lines == ours


def test_other_data_is_never_called_the_same(folder):
    parts, others = make_sections([load_run(folder)], None, None)
    rows = compare_figures(published_table("scedit-table2"), parts, others)
    assert {r.verdict for r in rows} == {"not comparable", "no figure"}
    mine = next(r for r in rows if (r.printed.model, r.printed.method, r.printed.metric) == ("GPT2-XL", "base", "ES"))
    table = next(t for t in parts[0].tables if t.group == "counterfactual")
    assert mine.ours == pytest.approx(100 * table.rows[0].summaries["es"].mean)
    assert "6 cases" in mine.told and mine.tolerance is None


def test_same_model_and_data_are_compared_within_both_intervals(folder, monkeypatch):
    monkeypatch.setitem(CASES, "ScEdit-CF", 6)
    parts, _ = make_sections([load_run(folder)], None, None)
    rows = compare_figures(published_table("scedit-table2"), parts)
    same = [r for r in rows if r.verdict in ("within", "outside")]
    assert same and {r.printed.model for r in same} == {"GPT2-XL"}
    assert {r.printed.split for r in same} == {"ScEdit-CF"}
    for r in same:
        assert r.tolerance == pytest.approx(max(0.01, (r.printed.half**2 + r.half**2) ** 0.5))
        assert (r.verdict == "within") == (abs(r.ours - r.printed.value) <= r.tolerance)
    far = same[0]._replace(ours=None)
    assert far.ours is None


def test_ratings_agreement_and_correlations_come_beside(folder):
    run = load_run(folder)
    scripts = made_scripts(run)
    texts = RatedTexts(tuple(scripts), tuple(rate(scripts, ("person:ann", "person:bob", "judge:m"))))
    parts, others = make_sections([run], None, texts)
    counts = {
        n: sum(r.ours is not None for r in compare_figures(published_table(n), parts, others))
        for n in published_tables()
    }
    assert counts["scedit-table5"] == 4
    assert counts["scedit-table6"] >= 3
    assert counts["scedit-table3"] == 4, "the base row; rome and ft are labels here, of another method"


def test_table_8_has_cases_of_its_own_and_the_published_judge_is_compared(folder):
    """Its 100 cases were held against 1,830; and a source with more ratings hid the judge that was meant."""
    run = load_run(folder)
    scripts = [s.model_copy(update={"model": "gpt-4o"}) for s in made_scripts(run)]
    ratings = rate(scripts, ("person:ann", "person:bob", "judge:gpt-4o-2024-11-20"))
    _, others = make_sections([run], None, RatedTexts(tuple(scripts), tuple(ratings)))
    table = published_table("scedit-table8")
    assert table.data["cases"] == 100 and others[0].model == "gpt-4o"
    rows = {len({s.case for s in scripts}): "same", 100: "other"}
    for cases, kind in rows.items():
        found = compare_figures(table._replace(data={**table.data, "cases": cases}), [], others)
        base = [r for r in found if (r.printed.model, r.printed.method) == ("GPT-4o", "base") and r.ours is not None]
        assert base and all("gpt-4o-2024-11-20" in r.told for r in base)
        assert {r.verdict for r in base} <= ({"within", "outside"} if kind == "same" else {"not comparable"})
        assert all(("only ours counts" in r.told) == (kind == "same") for r in base)


def test_needs_name_what_is_missing_and_see_what_is_there(tmp_path):
    (tmp_path / "ScEdit-CF.json").write_text("[]")
    found = {n.what: n.here for n in requirements(published_table("scedit-table2"), data=tmp_path)}
    assert found["data: ScEdit-CF.json"] and not found["data: ScEdit-T.json"]
    assert found["method: rome"] and found["method: memit"]
    assert all(n.fix for n in requirements(published_table("scedit-table8")))


def test_unknown_names_are_refused_with_a_near_one():
    with pytest.raises(UserError, match="did you mean 'scedit-table2'"):
        published_table("scedit-table22")


def test_small_run_says_it_is_not_the_published_one(folder, monkeypatch, tmp_path):
    from evaluation.runs import session

    asked = []
    monkeypatch.setattr(session, "execute", lambda config, on_event: asked.append(config))
    words = ["scedit-table2", str(folder), "--run", "--limit", "6", "--out", str(folder)]
    shown = CliRunner().invoke(command, words, catch_exceptions=False)
    assert "Not the published model or data" in shown.stderr
    assert "only show that the pipeline runs" in shown.stdout
    assert asked[0].model == "embedded" and asked[0].limit == {"counterfactual": 4, "temporal": 2}
    assert reproduce.unit(published_table("scedit-table2")) == "percent"
