"""Documents made of facts: two statements each, three levels, and what the wording says."""

from __future__ import annotations

import re

from curation.loaders import load
from curation.shipped.fact_documents import WORDINGS, documents_from_facts
from schemas.core.config import read_toml
from schemas.documents.document import contains_words, is_literal
from tests.support.facts import make_fact

FACTS = load("shipped").require()
CASES = documents_from_facts(FACTS)
PROBES = [(case, probe) for case in CASES for probe in case.probes]


def test_nearly_all_shipped_facts_are_in_a_document_once() -> None:
    assert len(CASES) == 417 and len({case.key for case in CASES}) == 417  # of 835 facts one is left
    texts = tuple({f"{f.fact_prompt} {f.new_object.text}." for f in FACTS})
    assert all(case.document.text.startswith(texts) and case.document.text.endswith(texts) for case in CASES)
    assert all(case.document.source.licence == "CC0-1.0" for case in CASES)


def test_every_document_has_probes_of_three_levels_that_are_what_they_say() -> None:
    assert all({p.level for p in case.probes} == {1, 2, 3} for case in CASES)
    assert all(is_literal(probe, case.document) == (probe.level == 1) for case, probe in PROBES)
    assert all(probe.tags for _, probe in PROBES if probe.level == 3)
    assert all(contains_words(case.document.text, probe.answer) for case, probe in PROBES)
    assert not [p.query for _, p in PROBES for answer in p.answers if contains_words(p.query, answer)]
    assert not [p.query for _, p in PROBES if re.search(r"[{}]|the the |  ", p.query)]
    assert 200 < sum("multi_hop" in probe.tags for _, probe in PROBES) < 300


def test_a_document_goes_by_the_names_of_both_its_subjects() -> None:
    for case in CASES:
        about = [f for f in FACTS if f"{f.fact_prompt} {f.new_object.text}." in case.document.text]
        names = {name for fact in about for name in fact.subject.names}
        assert names <= set(case.document.names) and len(case.document.names) == len(set(case.document.names))


def test_the_same_facts_in_another_order_make_the_same_documents() -> None:
    assert documents_from_facts(reversed(FACTS)) == CASES


def test_two_facts_of_one_relation_and_facts_without_a_wording_make_none() -> None:
    one, other = make_fact("France", "Paris", "Lima"), make_fact("Peru", "Lima", "Oslo")
    assert one.relation.id == other.relation.id
    assert documents_from_facts([one, other], read_toml(WORDINGS)) == ()
    assert documents_from_facts(FACTS, {}) == ()
