from __future__ import annotations

import pytest

from evaluation.simplify import ner_qg
from evaluation.simplify.ner_qg import EntityQuestions, answers_of, cloze_prompt, subject_beside
from evaluation.simplify.parsing import Phrase
from tests.support.documents.parses import DESIGNED, OPENED
from tests.support.documents.records import make_document


def test_answers_are_entities_and_noun_phrases_beside_them_but_no_pronouns() -> None:
    assert answers_of(OPENED, noun_phrases=True) == [Phrase(0, 3, "FAC"), Phrase(5, 6, "DATE")]
    assert [DESIGNED.text(a.start, a.end) for a in answers_of(DESIGNED, noun_phrases=True)] == [
        "Ada Brun",
        "great care",
    ]
    assert len(answers_of(DESIGNED, noun_phrases=False)) == 1


def test_the_last_other_entity_is_the_subject_and_stands_as_a_gap_beside_the_blank() -> None:
    bridge, year = OPENED.entities
    assert subject_beside(OPENED, year) == bridge and subject_beside(OPENED, bridge) == year
    assert subject_beside(DESIGNED, DESIGNED.entities[0]) is None
    assert cloze_prompt(OPENED, year, bridge) == "Question: {} opened in ___.\nAnswer:"
    assert cloze_prompt(OPENED, bridge, year) == "Question: ___ opened in {}.\nAnswer:"


def test_a_document_becomes_a_cloze_an_answer_and_one_without_a_subject_is_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ner_qg, "parse", lambda text, model: (OPENED, DESIGNED))
    statements = list(EntityQuestions().simplify(make_document()))
    assert [(s.subject, s.filled_prompt, s.target) for s in statements] == [
        ("1931", "Question: ___ opened in 1931.\nAnswer:", "The Orla Bridge"),
        ("The Orla Bridge", "Question: The Orla Bridge opened in ___.\nAnswer:", "1931"),
        ("Ada Brun", "Question: Ada Brun designed it with ___.\nAnswer:", "great care"),
    ]
    assert [s.key for s in statements] == [f"d/bridge/ner_qg/{n}" for n in range(3)]
