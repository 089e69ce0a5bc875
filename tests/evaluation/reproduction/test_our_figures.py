"""Ours is compared only where model, data, judge and set-up are the published ones; else it is said what is not."""

from __future__ import annotations

import pytest

from curation.export.scedit_format import write_cf, write_t
from evaluation.analysis.text_ratings import RatedTexts
from evaluation.report.sections import make_sections
from evaluation.reproduction.our_figures import OurResults, our_figures
from evaluation.reproduction.published import printed_figures, published_table
from evaluation.reproduction.published_data import published_data
from evaluation.reproduction.table_2_check import CASES
from evaluation.runs.results import Run, cases_by_key, load_run
from tests.support.ratings import made_scripts, rate
from tests.support.report import published_figures

folder = published_figures.folder
JUDGE = "judge:gpt-4o-2024-11-20"


@pytest.fixture(scope="module")
def run(folder) -> Run:
    return load_run(folder)


@pytest.fixture(scope="module")
def files(run, tmp_path_factory):
    place = tmp_path_factory.mktemp("published")
    write_cf(run.split, place / "ScEdit-CF.json")
    write_t(run.split, place / "ScEdit-T.json")
    return published_data(("ScEdit-CF", "ScEdit-T"), place)


@pytest.fixture
def counted(run, monkeypatch):
    kinds = [c.fact.change for c in cases_by_key(run).values()]
    monkeypatch.setitem(CASES, "ScEdit-CF", kinds.count("counterfactual"))
    monkeypatch.setitem(CASES, "ScEdit-T", kinds.count("temporal"))


def differs(run: Run, files, *, normalisation=None) -> set[str]:
    parts, _ = make_sections([run], normalisation, None)
    table = published_table("scedit-table2")
    base = next(e for e in printed_figures(table) if (e.model, e.method, e.metric) == ("GPT2-XL", "base", "ES"))
    (figure,) = our_figures(table, base, OurResults(parts, data=files))
    return set(figure.differs)


def test_the_same_model_cases_and_set_up_may_be_compared(run, files, counted):
    assert differs(run, files) == set()


def test_everything_else_is_named(run, files, counted, monkeypatch):
    description = run.about
    assert any("data not checked" in d for d in differs(run, {}))
    assert differs(run, files, normalisation="sum") == {"normalisation sum, published is mean"}
    several = [e._replace(manifest=e.manifest.model_copy(update={"regime": "batch:4"})) for e in run.editors]
    assert differs(run._replace(editors=tuple(several)), files) == {"regime batch:4, not each edit alone"}
    assert differs(run._replace(about={**description, "model": "gpt2"}), files) == {"another model than GPT2-XL"}
    first = run.editors[0]
    key = next(k for k, c in cases_by_key(run).items() if c.fact.change == "counterfactual")
    results = {k: r for k, r in first.results.items() if k != key}
    lacking = run._replace(editors=(first._replace(results=results), *run.editors[1:]))
    assert differs(lacking, files) == {"1 case without answers"}
    monkeypatch.setitem(CASES, "ScEdit-CF", 1830)
    assert differs(run, files) == {"6 cases, not 1,830"}


def test_other_cases_of_the_same_number_are_other_data(run, files, counted):
    """The number of cases alone was taken for the data."""
    cases = list(run.split.cases)
    at = next(n for n, c in enumerate(cases) if c.fact.change == "counterfactual")
    old = cases[at].fact.old.model_copy(update={"text": "Quito"})
    cases[at] = cases[at].model_copy(update={"fact": cases[at].fact.model_copy(update={"old": old})})
    (text,) = differs(run._replace(split=run.split._replace(all_cases=tuple(cases))), files)
    assert text.startswith("other data than ScEdit-CF.json: 1 case of 6 is not in the file")


def rated(run: Run, *raters: str):
    scripts = made_scripts(run)
    texts = RatedTexts(tuple(scripts), tuple(rate(scripts, raters)))
    return make_sections([run], None, texts)


def of(name: str, results: OurResults, metric: str):
    table = published_table(name)
    entries = [e for e in printed_figures(table) if e.metric == metric]
    return [f for e in entries for f in our_figures(table, e, results)]


def test_only_the_published_judge_stands_for_ratings(run, files):
    parts, _ = rated(run, "judge:other", "person:ann")
    assert all(
        any("not rated by gpt-4o-2024-11-20" in d for d in f.differs)
        for f in of("scedit-table3", OurResults(parts, data=files), "coherence")
    )
    parts, _ = rated(run, "judge:other", "person:ann", JUDGE)
    figures = of("scedit-table3", OurResults(parts, data=files), "coherence")
    assert figures and all("gpt-4o-2024-11-20" in f.basis for f in figures)
    assert not any("rated" in d for f in figures for d in f.differs)


def test_correlations_with_ratings_ask_for_the_published_judge_and_methods(run, files):
    """Table 6 rests on GPT-4's ratings: another judge's were compared with it."""
    parts, _ = rated(run, "judge:other")
    figures = of("scedit-table6", OurResults(parts, data=files), "Exec., Coh.")
    assert figures and all("not rated by gpt-4o-2024-11-20" in f.differs for f in figures)
    assert all(any(d.startswith("other methods") for d in f.differs) for f in figures)
    parts, _ = rated(run, JUDGE)
    figures = of("scedit-table6", OurResults(parts, data=files), "Exec., Coh.")
    assert figures and not any("rated" in d for f in figures for d in f.differs)


def test_agreement_of_other_people_is_never_the_same(run, files):
    parts, others = rated(run, "person:ann", "person:bob")
    figures = of("scedit-table5", OurResults(parts, others, files), "coherence")
    assert figures and all(f.differs == ("other raters and scripts",) for f in figures)


def test_scripts_of_no_run_take_their_cases_from_the_store(run, files):
    scripts = [s.model_copy(update={"model": "gpt-4o"}) for s in made_scripts(run)]
    parts, others = make_sections([], None, RatedTexts(tuple(scripts), tuple(rate(scripts, (JUDGE,)))))
    assert parts == []
    cases = cases_by_key(run)
    figures = of("scedit-table8", OurResults([], others, files, cases), "coherence")
    assert {d for f in figures if "none" in f.basis for d in f.differs} >= {f"{len(cases)} cases, not 100"}
