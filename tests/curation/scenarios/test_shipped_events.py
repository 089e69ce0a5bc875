"""The shipped split ``events`` is what its page says."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from sklearn.metrics import roc_auc_score

import curation.shipped as shipped
from benchmarks.scope_wording import items_of, predicted
from construction.documents.checks import (
    AnswerInQuery,
    AnswerShort,
    OneBlank,
    ProbeInputs,
    ProbeStandsAlone,
    TagKnown,
    judge_probe,
)
from construction.documents.hops import HopSource
from construction.events.checks import EventInputs, judge_event
from curation.shipped import SHIPPED, named_split, shipped_split
from curation.splits.split_file import Split, write_split
from schemas.cases import DocumentCase, EventCase
from schemas.core.config import read_toml, validate
from schemas.documents.document import DocumentProbe, contains_words, is_literal
from schemas.events.questions import FactQuestion, TendencyQuestion
from tests.support.curation.shipped_documents import build as build_documents
from tests.support.curation.shipped_documents import kind_of, rows
from tests.support.curation.shipped_documents import main as write_documents
from tests.support.curation.shipped_events import build as build_events
from tests.support.documents.shipped_hops import build as build_hops
from tests.support.documents.shipped_hops import main as write_hops


@pytest.fixture(scope="module")
def cases() -> list[EventCase]:
    return [case for case in shipped_split("events").all_cases if isinstance(case, EventCase)]


def facts(cases: list[EventCase]) -> list[FactQuestion]:
    return [question for case in cases for question in case.facts]


def tendencies(cases: list[EventCase]) -> list[TendencyQuestion]:
    return [question for case in cases for question in case.tendencies]


def test_the_split_is_made_of_its_source(tmp_path: Path) -> None:
    write_split(build_events(), tmp_path / "events.jsonl")
    assert (tmp_path / "events.jsonl").read_bytes() == (SHIPPED / "events/events.jsonl").read_bytes()
    assert named_split("events").digest == build_events().digest


def test_numbers(cases: list[EventCase]) -> None:
    templates = Counter(case.event.template for case in cases)
    assert len(cases) == 24 and templates.pop(None) == 8
    assert len(templates) == 8 and set(templates.values()) == {2}
    assert Counter(q.scope for q in facts(cases)) == {"in": 64, "out": 64}
    assert sum(q.unknown for q in facts(cases)) == 16
    assert sum(q.background for q in facts(cases)) == 28
    assert not any(q.background and q.scope == "out" for q in facts(cases))
    assert Counter(q.scope for q in tendencies(cases)) == {"in": 96, "out": 48}
    assert {case.event.source.licence for case in cases} == {"CC0-1.0"}


def test_right_letters_stand_in_equal_shares_in_both_scopes(cases: list[EventCase]) -> None:
    letters = Counter((q.scope, q.answer) for q in tendencies(cases))
    assert letters == {**{("in", each): 32 for each in "ABC"}, **{("out", each): 16 for each in "ABC"}}


def test_a_third_out_of_scope_is_a_change_and_two_of_six_are_about_others(cases: list[EventCase]) -> None:
    changing = [q for q in tendencies(cases) if q.scope == "out" and "stay" not in q.right_option]
    assert len(changing) >= 16
    for case in cases:
        inner_questions = [q for q in case.tendencies if q.scope == "in"]
        assert 1 <= sum(bool(q.about_event_subject) for q in inner_questions) <= 4


def test_no_wording_is_of_one_scope(cases: list[EventCase]) -> None:
    """Each relation is asked for equally often in both scopes of its event."""
    for case in cases:
        counts = Counter((q.relation.id, q.scope) for q in case.facts)
        assert all(counts[relation, "in"] == counts[relation, "out"] for relation, _ in counts)


@pytest.mark.parametrize("what", ["scope of facts", "scope of tendencies"])
def test_the_scope_cannot_be_told_from_the_wording(cases: list[EventCase], what: str) -> None:
    items = items_of(cases, what)
    assert roc_auc_score([label for *_, label in items], predicted(items, None, 5)) <= 0.65


def test_every_check_keeps_every_question(cases: list[EventCase]) -> None:
    for case in cases:
        for place, question in enumerate(case.tendencies):
            inputs = EventInputs(event=case.event, question=question, earlier=case.tendencies[:place])
            verdicts = judge_event(TendencyQuestion.kind, inputs)
            assert {v.label for v in verdicts} == {"keep"}, (question.text, verdicts)
            assert max(v.value or 0 for v in verdicts) < 0.9


@pytest.fixture(scope="module")
def documents() -> list[DocumentCase]:
    return [case for case in shipped.shipped_split("documents").all_cases if isinstance(case, DocumentCase)]


def probes(documents: list[DocumentCase], level: int) -> list[tuple[DocumentCase, DocumentProbe]]:
    return [(case, probe) for case in documents for probe in case.probes if probe.level == level]


def test_documents_are_made_of_their_source(tmp_path: Path) -> None:
    write_documents(tmp_path / "documents.jsonl")
    for name in ("documents.jsonl", "checksums.sha256"):
        assert (tmp_path / name).read_bytes() == (shipped.SHIPPED / "documents" / name).read_bytes()
    assert shipped.named_split("documents").digest == build_documents().digest


def test_numbers_of_documents(documents: list[DocumentCase]) -> None:
    assert len(documents) == 24 and Counter(map(kind_of, rows())) == {"invented": 12, "changed": 12}
    assert {case.document.source.licence for case in documents} == {"CC0-1.0"}
    for case in documents:
        levels = Counter(probe.level for probe in case.probes)
        assert 8 <= len(case.probes) <= 10 and levels[1] >= 2 and levels[2] >= 3 and levels[3] >= 3
    literal = {n: sum(contains_words(c.document.text, p.answer) for c, p in probes(documents, n)) for n in (1, 2, 3)}
    assert literal == {1: 48, 2: 71, 3: 29} and [len(probes(documents, n)) for n in (1, 2, 3)] == [
        48,
        72,
        72,
    ]
    assert all(is_literal(probe, case.document) for case, probe in probes(documents, 1))
    assert all(probe.tags for _, probe in probes(documents, 3))


def test_every_check_keeps_every_probe_but_what_must_be_inferred(
    documents: list[DocumentCase],
) -> None:
    for case in documents:
        for place, probe in enumerate(case.probes):
            inputs = ProbeInputs(document=case.document, probe=probe, earlier=case.probes[:place])
            doubts = [v.check for v in judge_probe(inputs) if v.label != "keep"]
            assert doubts in ([], ["answer_supported"]) and (not doubts or probe.level == 3), (probe.query, doubts)


@pytest.fixture(scope="module")
def split() -> Split:
    return shipped.shipped_split("hops")


def test_hops_are_made_of_their_source(split: Split, tmp_path: Path) -> None:
    write_hops(tmp_path / "hops.jsonl")
    for name in ("hops.jsonl", "checksums.sha256"):
        assert (tmp_path / name).read_bytes() == (shipped.SHIPPED / "hops/hops.jsonl").with_name(name).read_bytes()
    assert shipped.named_split("hops").digest == build_hops().digest == split.digest


def test_numbers_of_hops(split: Split) -> None:
    cases = [case for case in split.all_cases if isinstance(case, DocumentCase)]
    groups = Counter(probe.group for case in cases for probe in case.probes)
    assert len(cases) == 40
    assert groups == dict.fromkeys(("efficacy", "rephrase", "hop", "script_hop", "locality"), 40)
    assert {case.document.source.licence for case in cases} == {"CC0-1.0"}
    assert all(len(case.document.statements) == 1 for case in cases)
    source = validate(HopSource, read_toml(shipped.SHIPPED / "hops/source.toml"), where="source")
    assert len({edit.subject for edit in source.edit}) == 40 and len(source.table) == 8
    assert max(Counter(edit.hop for edit in source.edit).values()) == 8


def test_no_two_questions_and_no_two_steps_before_the_cut_are_the_same(split: Split) -> None:
    scripts = [p.query for case in split.all_cases for p in case.probes if p.group == "script_hop"]  # type: ignore[union-attr]
    questions = [script.split("\n")[0] for script in scripts]
    assert len(set(questions)) == 40
    steps = Counter(line.partition(". ")[2] for script in scripts for line in script.split("\n")[1:])
    assert max(steps.values()) == 1, steps.most_common(3)


def test_the_checks_of_probes_say_what_the_page_tells(split: Split) -> None:
    """Two scripts whose "text" is a translation, and nothing else."""
    cases = [case for case in split.all_cases if isinstance(case, DocumentCase)]
    dropped: dict[str, list[str]] = {}
    for check in (AnswerInQuery(), AnswerShort(), OneBlank(), ProbeStandsAlone(), TagKnown()):
        for case in cases:
            for probe in case.probes:
                if check.judge_one(ProbeInputs(document=case.document, probe=probe)).label == "drop":
                    dropped.setdefault(check.name, []).append(probe.query)
    assert dropped.keys() == {"probe_stands_alone"}
    assert len(dropped["probe_stands_alone"]) == 2
    assert all("translat" in query for query in dropped["probe_stands_alone"])
