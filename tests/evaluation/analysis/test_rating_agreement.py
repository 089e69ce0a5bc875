"""A judge held to the people and the rules."""

from __future__ import annotations

import pytest

from evaluation.analysis.text_ratings import RatedTexts, rating_agreement
from evaluation.runs.results import cases_by_key
from tests.support.ratings import made_scripts, made_value, rate
from tests.support.report import rated_run
from tests.support.report.rated_run import RATERS

run = rated_run.run
texts = rated_run.texts


def test_a_judge_is_held_to_the_people_and_the_rules(texts, run):
    coefficient = rating_agreement(texts, cases_by_key(run))
    assert set(coefficient.people) == {"executability", "coherence", "consistency", "completeness"}
    coherence = next(a for a in coefficient.against if a.aspect == "coherence")
    edited_ids = {s.id for s in texts.scripts if s.edited}
    ratings = [r for r in texts.ratings if r.rater == "judge:m" and r.aspect == "coherence" and r.value is not None]
    assert coherence.scripts == len(ratings)
    assert -1 <= coherence.rho.value <= 1 and coherence.ceiling is not None
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
    for a in coefficient.against:
        assert a.gap.value == pytest.approx(-1, abs=0.15) and a.rho.value > 0.9
