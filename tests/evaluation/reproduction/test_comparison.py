"""Published figures beside ours: within, outside or undecided, by intervals and by what is known of the cases."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from click.testing import CliRunner
from scipy import stats

from curation.export.fact_formats import write_cf, write_t
from curation.files.artifact_cache import sha256
from evaluation.analysis.text_ratings import RatedTexts
from evaluation.cli.reproduce import reproduce as command
from evaluation.report.sections import main_source, make_sections
from evaluation.reproduction.comparison import OurResults, compare_figures, is_published_model, our_figures, tolerance
from evaluation.reproduction.published import CASES, printed_figures, published_data, published_table, published_tables
from evaluation.runs.results import Run, cases_by_key, load_run
from schemas.core.errors import UserError
from tests.evaluation.report.test_html_page import finished
from tests.support.arithmetic import ArithmeticLM, make_cases
from tests.support.ratings import made_scripts, rate, rated_store

EDITORS = ["none", {"name": "push", "label": "rome"}, {"name": "push", "label": "ft", "params": {"strength": 1.0}}]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    lm = ArithmeticLM(name="openai-community/gpt2-xl")
    return finished(tmp_path_factory.mktemp("run"), lm=lm, editors=EDITORS, split=make_cases(6, 2))


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
        assert 0.01 <= bound[0] <= bound[1]
        # every correlation from 0 to 1 lies between the two
        for r in (0.0, 0.3, 0.9, 1.0):
            half = math.sqrt(max(0.0, figure**2 + value**2 - 2 * r * figure * value))
            assert bound[0] - 0.01 <= half <= bound[1] + 1e-9
        assert tolerance(figure, value, same_cases=False)[:2] == (bound[1], bound[1])


def test_a_missing_interval_is_said_whichever_is_missing():
    assert "only ours counts" in tolerance(None, 2.0, same_cases=True)[2]
    assert "only the printed one counts" in tolerance(2.0, None, same_cases=True)[2]
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
    assert table["cases"] == 100 and others[0].model == "gpt-4o"
    for count, kind in {len(cases): "same", 100: "other"}.items():
        few = {**table, "cases": count}
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


JUDGE = "judge:gpt-4o-2024-11-20"


@pytest.fixture(scope="module")
def run(folder) -> Run:
    return load_run(folder)


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


def test_everything_else_is_named(run, files, counted, monkeypatch):
    description = run.about
    assert differs(run, files) == set()
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


@pytest.mark.parametrize(
    ("table", "metric", "others", "with_judge"),
    [
        ("scedit-table3", "coherence", ("judge:other", "person:ann"), ("judge:other", "person:ann", JUDGE)),
        ("scedit-table6", "Exec., Coh.", ("judge:other",), (JUDGE,)),
    ],
)
def test_only_the_published_judge_stands_for_ratings(run, files, table, metric, others, with_judge):
    """Table 6 rests on GPT-4's ratings: another judge's were compared with it."""
    parts, _ = rated(run, *others)
    figures = of(table, OurResults(parts, data=files), metric)
    assert figures and all("not rated by gpt-4o-2024-11-20" in f.differs for f in figures)
    parts, _ = rated(run, *with_judge)
    figures = of(table, OurResults(parts, data=files), metric)
    assert figures and not any("rated" in d for f in figures for d in f.differs)
    named = all("gpt-4o-2024-11-20" in f.basis for f in figures)
    assert named or all(any(d.startswith("other methods") for d in f.differs) for f in figures)


def test_correlations_under_another_normalisation_say_so(run, files):
    parts, _ = make_sections([run], "sum", None)
    figures = of("scedit-table6", OurResults(parts, data=files), "S-NS, S-ES")
    assert figures and all("normalisation sum, published is mean" in f.differs for f in figures)


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
        ("EleutherAI/gpt-j-6b-20240101", "GPT-J", False),
        ("/models/gpt-j-6B/", "GPT-J", True),
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
def test_models_are_known_by_the_names_that_their_makers_give_them_closed_ones_whatever_the_date(model, printed, same):
    """No name of Claude's ever was "claude-3.5", and every GPT-4o has a date: Table 8 could never be compared."""
    table = published_table("scedit-table2" if printed == "GPT-J" else "scedit-table8")
    assert is_published_model(table, printed, model) is same


def test_a_judge_who_rated_some_scripts_has_not_rated_the_table(run, files):
    """Three rated scripts of a hundred cases stood beside the printed mean, and a wide interval said "within"."""
    cases = {k: c for k, c in cases_by_key(run).items() if c.fact.change == "counterfactual"}
    scripts = [s.model_copy(update={"model": "gpt-4o"}) for s in made_scripts(run) if s.case in cases]
    table = {**published_table("scedit-table8"), "cases": len(cases)}
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


def shown(*words: str) -> str:
    return CliRunner().invoke(command, list(words), catch_exceptions=False).stdout


def test_command_lists_shows_and_prints_json(folder):
    listing = shown()
    assert all(n in listing for n in published_tables())
    assert [table["name"] for table in json.loads(shown("--json"))] == list(published_tables())
    text = shown("scedit-table2", str(folder))
    assert "impossible interval, should be 0.53" in text and "not comparable" in text and "MISSING" in text
    data = [json.loads(x) for x in shown("scedit-table5", "--jsonl").splitlines()]
    assert [x["printed"]["value"] for x in data if "printed" in x] == [0.59, 0.35, -0.09, 0.25]
    assert any("need" in x for x in data)


def test_published_files_are_checked_case_by_case_and_their_digests_told(folder, tmp_path, monkeypatch):
    split = load_run(folder).split
    write_cf(split, tmp_path / "ScEdit-CF.json")
    write_t(split, tmp_path / "ScEdit-T.json")
    monkeypatch.setitem(CASES, "ScEdit-CF", 6)
    assert "name the folder of ScEdit-CF.json with --data" in shown("scedit-table2", str(folder))
    text = shown("scedit-table2", str(folder), "--data", str(tmp_path))
    assert "Tolerance: half width of the difference" in text
    assert f"SHA-256 {sha256(tmp_path / 'ScEdit-CF.json')}" in text and split.digest[:12] in text
    (tmp_path / "ScEdit-CF.json").write_text((tmp_path / "ScEdit-CF.json").read_text().replace("Fly to", "Sail to", 1))
    text = shown("scedit-table2", str(folder), "--data", str(tmp_path))
    assert "other data than ScEdit-CF.json: 1 case of 6 is not in the file" in text and "Tolerance:" not in text


def test_a_store_alone_serves_texts_of_closed_models_and_no_token_table(folder, tmp_path):
    store = tmp_path / "closed.duckdb"
    run = load_run(folder)
    rated_store(store, run._replace(about={**run.about, "model": "gpt-4o"}), ("judge:gpt-4o-2024-11-20",))
    text = shown("scedit-table8", "--store", str(store))
    assert "8 cases, not 100" in text and "rated by gpt-4o-2024-11-20" in text
    with pytest.raises(UserError, match="name the run too"):
        shown("scedit-table2", "--store", str(store))
