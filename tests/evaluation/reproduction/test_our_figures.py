"""Ours is compared only where model, data, judge and set-up are the published ones; else it is said what is not."""

from __future__ import annotations

import pytest
from scipy import stats

from curation.export.fact_formats import write_cf, write_t
from evaluation.analysis.text_ratings import RatedTexts
from evaluation.report.sections import main_source, make_sections
from evaluation.reproduction.comparison import OurResults, is_published_model, our_figures
from evaluation.reproduction.published import CASES, printed_figures, published_data, published_table
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


def test_table_6s_filter_is_said_of_ours(run, files):
    """p < 0.05 of single units and |rho| > 0.1, without a correction: what the paper kept, ours keeps or not."""
    parts, _ = rated(run, JUDGE)
    figures = of("scedit-table6", OurResults(parts, data=files), "Exec., Coh.")
    pooled = next(v for v in parts[0].correlations if v.view == "pooled")
    pair = pooled.between("Exec.", "Coh.")
    p = stats.spearmanr(*_units(parts[0], "executability", "coherence")).pvalue
    word = "passes" if p < 0.05 and abs(pair.correlation.value) > 0.1 else "does not pass"
    assert figures and all(f"{word} the printed filter" in f.basis for f in figures)


def _units(part, *aspects):
    """Values of both aspects, a pair for every edited method and case that have both under every method."""
    values = [main_source(part.text.sources).values[a] for a in aspects]
    labels = [label for label in values[0] if label != part.run.baseline.label]
    cases = set.intersection(*(set(v[label]) for v in values for label in labels))
    return [[v[label][c] for label in labels for c in sorted(cases)] for v in values]


def test_correlations_over_some_of_the_cases_are_not_those_of_all(run, files):
    """A judge who rated two of six cases made Table 6's figures "comparable"."""
    scripts = made_scripts(run)
    few = {s.case for s in scripts} - {scripts[0].case}
    ratings = [r for r in rate(scripts, (JUDGE,)) if r.value is not None]
    by_id = {s.id: s for s in scripts}
    parts, _ = make_sections(
        [run], None, RatedTexts(tuple(scripts), tuple(r for r in ratings if by_id[r.item_id].case in few))
    )
    figures = of("scedit-table6", OurResults(parts, data=files), "Exec., Coh.")
    assert figures and all(any("with both values under every method" in d for d in f.differs) for f in figures)


def test_agreement_of_other_people_is_never_the_same(run, files):
    parts, others = rated(run, "person:ann", "person:bob")
    figures = of("scedit-table5", OurResults(parts, others, files), "coherence")
    assert figures and all(f.differs == ("other raters and scripts",) for f in figures)


@pytest.mark.parametrize(
    ("model", "printed", "same"),
    [
        ("gpt-4o", "GPT-4o", True),
        ("openai/gpt-4o-2024-08-06", "GPT-4o", True),
        ("gpt-4o-mini", "GPT-4o", False),
        ("gpt-4o-mini-2024-07-18", "GPT-4o", False),
        ("gpt-4o-2024-11-20-ft", "GPT-4o", False),
        ("deepseek-ai/DeepSeek-V3", "DeepSeek-V3", True),
        ("deepseek-chat", "DeepSeek-V3", False),
        ("claude-3-5-sonnet-20241022", "Claude-3.5", True),
        ("anthropic/claude-3.5-sonnet", "Claude-3.5", True),
        ("claude-3-5-sonnet-latest", "Claude-3.5", True),
        ("claude-3-7-sonnet-20250219", "Claude-3.5", False),
        ("claude-3-5-haiku-20241022", "Claude-3.5", False),
        ("", "GPT-4o", False),
    ],
)
def test_closed_models_are_known_by_the_names_that_their_makers_give_them(model, printed, same):
    """No name of Claude's ever was "claude-3.5", and every GPT-4o has a date: Table 8 could never be compared."""
    assert is_published_model(published_table("scedit-table8"), printed, model) is same


def test_dates_are_no_part_of_the_name_of_closed_models_only():
    assert not is_published_model(published_table("scedit-table2"), "GPT-J", "EleutherAI/gpt-j-6b-20240101")
    assert is_published_model(published_table("scedit-table2"), "GPT-J", "/models/gpt-j-6B/")


def test_a_judge_who_rated_some_scripts_has_not_rated_the_table(run, files):
    """Three rated scripts of a hundred cases stood beside the printed mean, and a wide interval said "within"."""
    cases = {k: c for k, c in cases_by_key(run).items() if c.fact.change == "counterfactual"}
    scripts = [s.model_copy(update={"model": "gpt-4o"}) for s in made_scripts(run) if s.case in cases]
    table = published_table("scedit-table8")
    table = table._replace(data={**table.data, "cases": len(cases)})
    entry = next(e for e in printed_figures(table) if (e.model, e.method, e.metric) == ("GPT-4o", "base", "coherence"))

    def differs(some, ratings):
        _, others = make_sections([], None, RatedTexts(tuple(some), tuple(ratings)))
        (figure,) = our_figures(table, entry, OurResults([], others, files, cases))
        return figure.differs

    ratings = rate(scripts, (JUDGE,))
    base = [s for s in scripts if s.editor == "none"]
    assert differs(scripts, ratings) == ()
    few = {s.id for s in base[:3]}
    assert differs(scripts, [r for r in ratings if r.item_id in few]) == (f"3 of {len(base)} scripts rated",)
    lost = next(iter({s.case for s in base}))
    there = [s for s in scripts if s.editor != "none" or s.case != lost]
    assert differs(there, [r for r in ratings if r.item_id in {s.id for s in there}]) == (
        f"scripts of {len(cases) - 1} of {len(cases)} cases",
    )


def test_of_two_forms_of_the_published_judge_the_one_with_more_ratings_counts(run, files):
    """The older form came first by its name, with whatever few ratings it had."""
    scripts = made_scripts(run)
    ratings = rate(scripts, (JUDGE,))
    older = [
        r.model_copy(update={"form": r.form.replace("@1", "@0"), "key": f"old/{r.key}", "value": 1})
        for r in ratings[:4]
    ]
    parts, _ = make_sections([run], None, RatedTexts(tuple(scripts), (*older, *ratings)))
    figures = of("scedit-table3", OurResults(parts, data=files), "executability")
    assert figures and all("judge@1" in f.basis for f in figures)
