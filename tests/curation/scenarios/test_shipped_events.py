"""The shipped split ``events`` is what its page says."""

from __future__ import annotations

from pathlib import Path

import pytest
from sklearn.metrics import roc_auc_score

import curation.shipped as shipped
from benchmarks.scope_wording import items_of, predicted
from construction.documents.checks import (
    ProbeInputs,
    judge_probe,
)
from construction.events.checks import QuestionInputs, judge_event
from curation.shipped import SHIPPED, named_split, shipped_split
from curation.splits.split_file import Split
from schemas.cases import DocumentCase, EventCase
from schemas.events.questions import TendencyQuestion
from tests.support.shipped_splits import BUILDERS, main


@pytest.fixture(scope="module")
def cases() -> list[EventCase]:
    return [case for case in shipped_split("events").all_cases if isinstance(case, EventCase)]


def test_the_split_is_made_of_its_source(tmp_path: Path) -> None:
    main("events", tmp_path)
    assert (tmp_path / "events.jsonl").read_bytes() == (SHIPPED / "events/events.jsonl").read_bytes()
    assert named_split("events").digest == BUILDERS["events"]().digest


@pytest.mark.parametrize("what", ["scope of facts", "scope of tendencies"])
def test_the_scope_cannot_be_told_from_the_wording(cases: list[EventCase], what: str) -> None:
    items = items_of(cases, what)
    assert roc_auc_score([label for *_, label in items], predicted(items, None, 5)) <= 0.65


def test_every_check_keeps_every_question(cases: list[EventCase]) -> None:
    for case in cases:
        for place, question in enumerate(case.tendencies):
            inputs = QuestionInputs(event=case.event, question=question, earlier=case.tendencies[:place])
            verdicts = judge_event(TendencyQuestion.kind, inputs)
            assert {v.label for v in verdicts} == {"keep"}, (question.text, verdicts)
            assert max(v.value or 0 for v in verdicts) < 0.9


@pytest.fixture(scope="module")
def documents() -> list[DocumentCase]:
    return [case for case in shipped.shipped_split("documents").all_cases if isinstance(case, DocumentCase)]


def test_documents_are_made_of_their_source(tmp_path: Path) -> None:
    main("documents", tmp_path)
    for name in ("documents.jsonl", "checksums.sha256"):
        assert (tmp_path / name).read_bytes() == (shipped.SHIPPED / "documents" / name).read_bytes()
    assert shipped.named_split("documents").digest == BUILDERS["documents"]().digest


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
    main("hops", tmp_path)
    for name in ("hops.jsonl", "checksums.sha256"):
        assert (tmp_path / name).read_bytes() == (shipped.SHIPPED / "hops/hops.jsonl").with_name(name).read_bytes()
    assert shipped.named_split("hops").digest == BUILDERS["hops"]().digest == split.digest
