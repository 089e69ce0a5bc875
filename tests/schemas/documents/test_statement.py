"""Statements without old objects, and the groups of probes."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from schemas.cases import DocumentCase
from schemas.core.records import stored_text
from schemas.documents.statement import GROUPS, KEPT, Premise, Statement, stated_text
from tests.support.documents.records import document_case, make_document, make_probe

ROME = {"subject": "Chad", "prompt": "The capital of {} is", "target": "Rome"}


def test_a_statement_in_words() -> None:
    assert Statement(**ROME).text == "The capital of Chad is Rome."
    assert stated_text("Who wrote Emma?", "Jane Austen Jr.") == "Who wrote Emma? Jane Austen Jr."


@pytest.mark.parametrize("prompt", ["The capital is", "{} or {} is", ""])
def test_another_number_of_gaps_is_refused(prompt: str) -> None:
    with pytest.raises(ValidationError):
        Statement(**{**ROME, "prompt": prompt})


def test_a_premise_needs_an_answer() -> None:
    with pytest.raises(ValidationError):
        Premise(query="Who?", answers=())


def test_groups_are_explained_and_only_two_are_left_alone() -> None:
    assert all(GROUPS.values()) and set(KEPT) < set(GROUPS) and len(KEPT) == 2
    with pytest.raises(ValidationError):
        make_probe(group="other")


def test_documents_and_probes_of_before_keep_their_ids() -> None:
    """Ids that stood in stores before the fields were there."""
    plain, probe = make_document(), make_probe()
    assert plain.id == "07d4818897a1c2344a97"
    assert not {"group", "old_answer", "premises"} & probe.payload().keys()
    assert "statements" not in plain.payload() and "level" in make_probe(level=None).payload()
    told = make_document(statements=(Statement(**ROME),))
    asked = make_probe(group="hop", old_answer="x", premises=(Premise(query="Who?", answers=("A", "B")),))
    assert told.id != plain.id and asked.id != probe.id
    case = document_case(document=told, probes=(asked,))
    assert DocumentCase.model_validate_json(stored_text(case)) == case
    assert DocumentCase.model_validate(case.payload()).id == case.id
