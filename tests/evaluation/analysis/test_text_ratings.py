from __future__ import annotations

import csv
import io
from collections import defaultdict
from pathlib import Path

import pytest

from evaluation.analysis.example_cases import side_by_side
from evaluation.analysis.text_ratings import (
    PEOPLE,
    RatedTexts,
    join_texts,
    profile,
    rating_agreement,
    rating_sources,
    read_texts,
)
from evaluation.judge.ratings import rating_cell
from evaluation.report.sections import make_sections
from evaluation.report.write import write_report
from evaluation.runs.results import cases_by_key
from tests.evaluation.report.test_html_page import read
from tests.support.ratings import made_scripts, made_value, rate, rated_store
from tests.support.report import rated_run
from tests.support.report.rated_run import RATERS

pytestmark = pytest.mark.usefixtures("no_pictures")

run = rated_run.run


texts = rated_run.texts


def test_every_cell_is_of_one_source_method_and_aspect(texts):
    """A script's value is the mean of its ratings by the source; what the judge left unscored is in no mean."""
    people, judge = rating_sources(texts)
    assert (people.title, people.person, people.raters) == (PEOPLE, True, ("ann", "bob"))
    assert judge.title == "m (judge@1)" and any(c.unscored for row in judge.cells.values() for c in row.values())
    scripts = {s.id: s for s in texts.scripts}
    for source, kind in ((people, "person:"), (judge, "judge:")):
        given = defaultdict(list)
        for r in texts.ratings:
            if r.rater.startswith(kind):
                given[scripts[r.item_id].editor, r.aspect, r.item_id].append(r.value)
        for label, row in source.cells.items():
            for aspect, cell in row.items():
                mine = [(scripts[i].case, v) for (editor, a, i), v in given.items() if (editor, a) == (label, aspect)]
                means = [(case, None if None in values else sum(values) / len(values)) for case, values in mine]
                assert cell == rating_cell(means, (1, 7)) and len(mine) == 14


def test_decisions_of_a_lead_are_no_ratings(texts, run):
    more = [r.model_copy(update={"form": "rate_script_adjudicated@1", "value": 1}) for r in texts.ratings[:8]]
    variant = texts._replace(ratings=(*texts.ratings, *more))
    assert rating_sources(variant) == rating_sources(texts)


def test_two_profiles_of_a_judge_stand_apart(texts):
    other = [r.model_copy(update={"form": f"evidence_{r.aspect}@2"}) for r in texts.ratings if r.rater == "judge:m"]
    sources = rating_sources(texts._replace(ratings=(*texts.ratings, *other)))
    assert [s.title for s in sources] == ["people", "m (evidence@2)", "m (judge@1)"]
    assert profile(other[0]) == "evidence@2"


def test_worst_and_best_are_by_coherence_and_of_different_cases(texts, run):
    rows = side_by_side(texts, cases_by_key(run))
    assert len({b["case"].key for b in rows}) == len(rows) == 4
    assert [s["label"] for s in rows[0]["scripts"]] == ["none", "push"]
    values = [float(b["why"].rsplit(" ", 1)[1]) for b in rows]
    assert max(values[:2]) <= min(values[2:])
    unrated = side_by_side(texts._replace(ratings=()), cases_by_key(run))
    assert "names the new object only 0.00" in unrated[0]["why"]


def test_store_and_run_come_together_in_one_file(run, tmp_path):
    path = tmp_path / "s.duckdb"
    rated_store(path, run, ("person:synthetic-ann", "person:synthetic-bob", "judge:m"))
    files = write_report([run.folder], store=path, out=tmp_path / "page.html")
    assert files.files[0] == tmp_path / "page.html"
    html, reader = read(files.files[0])
    text = " ".join("".join(reader.text).split())
    assert reader.stack == [] and reader.loads == []
    for phrase in (
        "Rated by simulated raters",
        "Rated by m (judge@1)",
        "simulated (programs)",
        "Consistency with the rubric",
        "Judges compared with simulated raters",
    ):
        assert phrase in text
    assert '<mark class="new"' in html and '<mark class="old"' in html
    rows = list(csv.DictReader(io.StringIO((tmp_path / "ratings.csv").read_text())))
    people = rating_sources(read_texts(path))[0]
    for row in rows:
        if row["source"] == "simulated raters":
            assert float(row["mean_by_case"]) == people.cells[row["label"]][row["aspect"]].by_case.mean
    assert {"simulated raters", "m (judge@1)"} == {r["source"] for r in rows}
    assert "Rated by people" not in text
    tex = (tmp_path / "results.tex").read_text()
    assert "rated by simulated raters:" in tex and "rated by people" not in tex
    assert tex.count(r"\toprule") == 4 and tex.count("{") == tex.count("}")
    metrics = {r["metric"] for r in csv.DictReader(io.StringIO((tmp_path / "comparisons.csv").read_text()))}
    assert "Coh. by simulated raters" in metrics and "S-ES" in metrics
    assert "Coh." in (tmp_path / "correlations.csv").read_text()


def test_scripts_of_another_model_stand_apart(run, texts):
    other = texts._replace(scripts=tuple(s.model_copy(update={"model": "closed-1"}) for s in texts.scripts), ratings=())
    parts, others = make_sections([run], None, other)
    assert parts[0].text is None and [t.model for t in others] == ["closed-1"]


def test_the_same_store_twice_counts_once(run, tmp_path: Path):
    path = tmp_path / "s.duckdb"
    rated_store(path, run, ("judge:m",))
    once = read_texts(path)
    assert join_texts([once, once]) == once and join_texts([]) is None


def test_people_and_programs_in_their_place_are_not_averaged(run, tmp_path):
    rated_store(tmp_path / "s.duckdb", run, ("person:ann", "person:synthetic-bob"))
    entries = rating_sources(read_texts(tmp_path / "s.duckdb"))
    assert [(s.title, s.raters, s.person) for s in entries] == [
        ("people", ("ann",), True),
        ("simulated raters", ("synthetic-bob",), True),
    ]


def test_a_judge_is_held_to_the_people_and_the_rules(texts, run):
    coefficient = rating_agreement(texts, cases_by_key(run))
    assert set(coefficient.people) == {"executability", "coherence", "consistency", "completeness"}
    _, _, count, _, rho, ceiling, _, _ = next(row for row in coefficient.against if row[1] == "coherence")
    edited_ids = {s.id for s in texts.scripts if s.edited}
    ratings = [r for r in texts.ratings if r.rater == "judge:m" and r.aspect == "coherence" and r.value is not None]
    assert count == len(ratings) and -1 <= rho.value <= 1 and ceiling is not None
    rulings = {key: (n, coefficient.rubric.agreed[key]) for key, n in coefficient.rubric.ruled.items()}
    by_hand = [r for r in ratings if r.item_id not in edited_ids]
    both = {s.id for s in texts.scripts if s.edited and "Ask about" in s.text}
    rule = [(r, 1) for r in by_hand] + [(r, 2) for r in ratings if r.item_id in both]
    assert rulings["judge:m", "coherence"] == (len(rule), sum(r.value == v for r, v in rule))
    assert rating_agreement(texts._replace(ratings=()), cases_by_key(run)) is None


def test_judges_who_are_a_known_offset_away_are_found(run):
    def offset(script, rater, aspect):
        value = made_value(script, "person:x", aspect) or 4
        return max(1, value - 1) if rater.startswith("judge") else value

    scripts = made_scripts(run)
    coefficient = rating_agreement(RatedTexts(tuple(scripts), tuple(rate(scripts, RATERS, offset))), cases_by_key(run))
    for *_, rho, _, _, gap in coefficient.against:
        assert gap.value == pytest.approx(-1, abs=0.15) and rho.value > 0.9
