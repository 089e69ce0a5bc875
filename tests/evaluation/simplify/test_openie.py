from __future__ import annotations

import pytest

from evaluation.simplify import openie
from evaluation.simplify.openie import Clause, OpenStatements, clauses
from tests.support.documents.parses import DESIGNED, OPENED, sentence
from tests.support.documents.records import make_document


def test_a_statement_a_clause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openie, "parse", lambda text, model: (OPENED, DESIGNED))
    statements = list(OpenStatements().simplify(make_document()))
    assert [(s.prompt, s.subject, s.target) for s in statements] == [
        ("{} opened in", "The Orla Bridge", "1931"),
        ("{} designed", "Ada Brun", "it"),
        ("{} designed it with", "Ada Brun", "great care"),
    ]


def test_verb_and_preposition() -> None:
    assert clauses(OPENED) == (Clause("The Orla Bridge", "opened in", "1931"),)


def test_verb_with_object_and_with_object_and_preposition() -> None:
    assert clauses(DESIGNED) == (
        Clause("Ada Brun", "designed", "it"),
        Clause("Ada Brun", "designed it with", "great care"),
    )


def test_copula_and_the_preposition_of_its_noun() -> None:
    copula = sentence(
        ("Rovo", 1, "nsubj", "PROPN"),
        ("is", 1, "ROOT", "AUX"),
        ("a", 3, "det", "DET"),
        ("town", 1, "attr", "NOUN"),
        ("in", 3, "prep", "ADP"),
        ("Peru", 4, "pobj", "PROPN"),
        (".", 1, "punct", "PUNCT"),
    )
    assert clauses(copula) == (Clause("Rovo", "is", "a town in Peru"),)


def test_passive_with_agent_particle_and_a_second_verb_that_shares_the_subject() -> None:
    passive = sentence(
        ("Rovo", 2, "nsubjpass", "PROPN"),
        ("was", 2, "auxpass", "AUX"),
        ("set", 2, "ROOT", "VERB"),
        ("up", 2, "prt", "ADP"),
        ("by", 2, "agent", "ADP"),
        ("Ada", 4, "pobj", "PROPN"),
        ("and", 2, "cc", "CCONJ"),
        ("won", 2, "conj", "VERB"),
        ("prizes", 7, "dobj", "NOUN"),
    )
    assert clauses(passive) == (Clause("Rovo", "was set up by", "Ada"), Clause("Rovo", "won", "prizes"))


def test_apposition_and_a_clause_inside_a_phrase_is_left_out() -> None:
    apposition = sentence(
        ("Ada", 6, "nsubj", "PROPN"),
        (",", 0, "punct", "PUNCT"),
        ("an", 3, "det", "DET"),
        ("engineer", 0, "appos", "NOUN"),
        ("from", 3, "prep", "ADP"),
        ("Rovo", 4, "pobj", "PROPN"),
        ("wrote", 6, "ROOT", "VERB"),
        ("books", 6, "dobj", "NOUN"),
    )
    assert clauses(apposition) == (Clause("Ada", "wrote", "books"), Clause("Ada", "is", "an engineer from Rovo"))


def test_a_pronoun_is_no_subject() -> None:
    pronoun = sentence(("It", 1, "nsubj", "PRON"), ("won", 1, "ROOT", "VERB"), ("prizes", 1, "dobj", "NOUN"))
    assert clauses(pronoun) == ()
