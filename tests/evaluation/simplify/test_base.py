from __future__ import annotations

import pytest
from pydantic import ValidationError

from evaluation.simplify import SIMPLIFIERS, ner_qg, openie
from evaluation.simplify.base import Simplifier, SimplifyChoice
from evaluation.simplify.ner_qg import EntityQuestions, answers_of, cloze_prompt, subject_beside
from evaluation.simplify.openie import OpenStatements
from evaluation.simplify.parsing import Phrase
from tests.support.documents.parses import DESIGNED, OPENED
from tests.support.documents.records import make_document


def test_every_strategy_says_what_it_is() -> None:
    for name in SIMPLIFIERS.names():
        kind = SIMPLIFIERS.get(name)
        assert issubclass(kind, Simplifier) and kind.name == name and kind.about and kind.version >= 1


def test_options_are_part_of_the_identity_and_statements_are_named_by_their_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(openie, "parser_version", lambda model: model)
    one, two = (OpenStatements(OpenStatements.Params(model=name)) for name in ("en_core_web_sm", "en_core_web_lg"))
    assert one.identity != two.identity
    statement = one.statement(make_document(), 3, subject="Orla", prompt="{} is", target="x")
    assert (statement.key, statement.strategy) == ("d/bridge/openie/3", "openie")


def test_a_bare_name_and_a_table() -> None:
    assert SimplifyChoice.model_validate("ner_qg").made().params.noun_phrases is True
    made = SimplifyChoice.model_validate({"name": "ner_qg", "noun_phrases": False})
    assert made.made().params.noun_phrases is False
    assert SimplifyChoice.model_validate(made.model_dump(mode="json")) == made


@pytest.mark.parametrize(
    ("data", "said"),
    [("openi", "did you mean 'openie'"), ({"name": "openie", "modl": "x"}, "modl"), ("file", "file")],
)
def test_refusals(data: object, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        SimplifyChoice.model_validate(data)


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
