"""Published figures beside ours: within, outside or undecided, by intervals and by what is known of the cases."""

from __future__ import annotations

import math

import pytest

from curation.export.fact_formats import write_cf, write_t
from evaluation.analysis.text_ratings import RatedTexts
from evaluation.report.sections import make_sections
from evaluation.reproduction.comparison import OurResults, compare_figures, tolerance
from evaluation.reproduction.published import CASES, published_data, published_table, published_tables
from evaluation.runs.results import cases_by_key, load_run
from tests.support.ratings import made_scripts, rate
from tests.support.report import published_figures

folder = published_figures.folder


@pytest.fixture
def files(folder, tmp_path):
    split = load_run(folder).split
    write_cf(split, tmp_path / "ScEdit-CF.json")
    write_t(split, tmp_path / "ScEdit-T.json")
    return published_data(("ScEdit-CF", "ScEdit-T"), tmp_path)


def test_other_data_is_never_called_the_same(folder):
    parts, others = make_sections([load_run(folder)], None, None)
    rows = compare_figures(published_table("scedit-table2"), OurResults(parts, others))
    assert {r.verdict for r in rows} == {"not comparable", "no figure"}
    answer = next(r for r in rows if (r.printed.model, r.printed.method, r.printed.metric) == ("GPT2-XL", "base", "ES"))
    table = next(t for t in parts[0].tables if t.group == "counterfactual")
    assert answer.ours == pytest.approx(100 * table.rows[0].summaries["es"].mean)
    assert "6 cases, not 1,830" in answer.told and answer.tolerance is None


def test_the_number_of_cases_alone_is_not_the_data(folder, files, monkeypatch):
    monkeypatch.setitem(CASES, "ScEdit-CF", 6)
    parts, _ = make_sections([load_run(folder)], None, None)
    table = published_table("scedit-table2")
    assert {r.verdict for r in compare_figures(table, OurResults(parts))} == {"not comparable", "no figure"}
    rows = compare_figures(table, OurResults(parts, data=files))
    same = [r for r in rows if r.verdict in ("within", "undecided", "outside")]
    assert same and {r.printed.model for r in same} == {"GPT2-XL"}
    assert {r.printed.split for r in same} == {"ScEdit-CF"}
    for r in same:
        assert r.tolerance == pytest.approx(max(0.01, math.hypot(r.printed.half, r.half)))
        assert r.paired == pytest.approx(max(0.01, abs(r.printed.half - r.half)))
        off = abs(r.ours - r.printed.value)
        assert r.verdict == ("within" if off <= r.paired else "undecided" if off <= r.tolerance else "outside")


def test_pairing_can_only_narrow_and_only_where_the_cases_are_the_same():
    for figure, value in [(2.0, 2.0), (1.0, 3.0), (0.0, 0.0), (0.5, 40.0)]:
        bound = tolerance(figure, value, same_cases=True)
        assert 0.01 <= bound.paired <= bound.unpaired
        # every correlation from 0 to 1 lies between the two
        for r in (0.0, 0.3, 0.9, 1.0):
            half = math.sqrt(max(0.0, figure**2 + value**2 - 2 * r * figure * value))
            assert bound.paired - 0.01 <= half <= bound.unpaired + 1e-9
        other = tolerance(figure, value, same_cases=False)
        assert other.paired == other.unpaired == bound.unpaired


def test_a_missing_interval_is_said_whichever_is_missing():
    assert "only ours counts" in tolerance(None, 2.0, same_cases=True).note
    assert "only the printed one counts" in tolerance(2.0, None, same_cases=True).note
    assert tolerance(None, None, same_cases=True)[:2] == (0.01, 0.01)


def test_ratings_agreement_and_correlations_come_beside(folder):
    run = load_run(folder)
    scripts = made_scripts(run)
    texts = RatedTexts(tuple(scripts), tuple(rate(scripts, ("person:ann", "person:bob", "judge:m"))))
    results = OurResults(*make_sections([run], None, texts))
    counts = {
        n: sum(r.ours is not None for r in compare_figures(published_table(n), results)) for n in published_tables()
    }
    assert counts["scedit-table5"] == 4
    assert counts["scedit-table6"] >= 3
    assert counts["scedit-table3"] == 4, "the base row; rome and ft are labels here, of another method"


def test_table_8_has_cases_of_its_own_and_the_published_judge_is_compared(folder, files):
    """Its 100 cases were held against 1,830; and a source with more ratings hid the judge that was meant."""
    run = load_run(folder)
    cases = {k: c for k, c in cases_by_key(run).items() if c.fact.change == "counterfactual"}
    scripts = [s.model_copy(update={"model": "gpt-4o"}) for s in made_scripts(run) if s.case in cases]
    ratings = rate(scripts, ("person:ann", "person:bob", "judge:gpt-4o-2024-11-20"))
    _, others = make_sections([run], None, RatedTexts(tuple(scripts), tuple(ratings)))
    table = published_table("scedit-table8")
    assert table.data["cases"] == 100 and others[0].model == "gpt-4o"
    for count, kind in {len(cases): "same", 100: "other"}.items():
        few = table._replace(data={**table.data, "cases": count})
        comparison = compare_figures(few, OurResults([], others, files, cases))
        base = [
            r for r in comparison if (r.printed.model, r.printed.method) == ("GPT-4o", "base") and r.ours is not None
        ]
        assert base and all("gpt-4o-2024-11-20" in r.told for r in base)
        assert {r.verdict for r in base} <= ({"within", "outside"} if kind == "same" else {"not comparable"})
        assert all(("only ours counts" in r.told) == (kind == "same") for r in base)


def test_a_second_run_that_may_be_compared_is_not_passed_over_in_silence(folder, files, monkeypatch):
    """Of two runs (two seeds) the first was shown, and nobody could know of the other."""
    monkeypatch.setitem(CASES, "ScEdit-CF", 6)
    parts, _ = make_sections([load_run(folder)], None, None)
    table = published_table("scedit-table2")

    def told(*sections):
        rows = compare_figures(table, OurResults(sections, data=files))
        return next(r for r in rows if r.verdict in ("within", "undecided", "outside")).told

    assert "more of ours" not in told(parts[0])
    assert "; 1 more of ours may be compared" in told(parts[0], parts[0])
