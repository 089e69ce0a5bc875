"""Events made of facts: what is in scope and out of it, bystanders, and what the wording tells."""

from __future__ import annotations

import re

from curation.loaders import load
from curation.shipped.fact_events import WORDINGS, events_from_facts
from schemas.core.config import read_toml

CASES = events_from_facts(load("shipped").require())


def test_two_thirds_of_the_temporal_facts_are_events_with_questions_of_all_kinds() -> None:
    facts = [q for c in CASES for q in c.facts]
    assert 85 <= len(CASES) <= 100 and sum(q.scope == "in" for q in facts) > 300 < sum(q.scope == "out" for q in facts)
    assert sum(q.unknown for q in facts) > 60 and all(q.scope == "in" for q in facts if q.unknown)
    assert all({q.scope for q in c.tendencies} >= {"in"} for c in CASES)
    assert sum({q.scope for q in c.tendencies} == {"in", "out"} for c in CASES) > 0.9 * len(CASES)
    assert all(c.event.origin == "fact" and c.event.source.licence == "CC0-1.0" for c in CASES)
    assert not [c.event.text for c in CASES if re.search(r"[{}]|the the |  ", c.event.text)]
    assert not [q.text for c in CASES for q in (*c.facts, *c.tendencies) if re.search(r"[{}]|the the |  ", q.text)]


def test_a_question_out_of_scope_is_in_scope_of_no_event_of_the_same_type() -> None:
    inner_questions = {(c.event.type, q.text) for c in CASES for q in (*c.facts, *c.tendencies) if q.scope == "in"}
    out_of_scope = {(c.event.type, q.text) for c in CASES for q in (*c.facts, *c.tendencies) if q.scope == "out"}
    assert out_of_scope and not inner_questions & out_of_scope


def test_every_wording_out_of_scope_stands_in_scope_too() -> None:
    """Names aside; what the event leaves alone of its own subject has no twin, and is less than a quarter."""
    texts = {
        scope: [bare(q.text) for c in CASES for q in (*c.facts, *c.tendencies) if q.scope == scope]
        for scope in ("in", "out")
    }
    unmatched_texts = [text for text in texts["out"] if text not in set(texts["in"])]
    assert len(unmatched_texts) < 0.25 * len(texts["out"]), unmatched_texts[:3]


NAMES = sorted({q.subject.text for c in CASES for q in c.facts if q.subject is not None}, key=len, reverse=True)


def bare(text: str) -> str:
    """A question without the names in it."""
    for name in NAMES:
        text = text.replace(name, "_")
    return text.replace("the _", "_")


def test_equal_facts_make_equal_events_in_any_order() -> None:
    facts, wordings = load("shipped").require(), read_toml(WORDINGS)
    assert events_from_facts(facts[::-1], wordings) == CASES
    assert events_from_facts([f for f in facts if f.change != "temporal"], wordings) == ()
