from __future__ import annotations

import pytest

from evaluation.simplify import openie
from evaluation.simplify.openie import Clause, OpenStatements
from tests.support.documents.parses import DESIGNED, OPENED
from tests.support.documents.records import make_document


def test_a_statement_a_clause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openie, "parse", lambda text, model: (OPENED, DESIGNED))
    statements = list(OpenStatements().simplify(make_document()))
    assert [(s.prompt, s.subject, s.target) for s in statements] == [
        ("{} opened in", "The Orla Bridge", "1931"),
        ("{} designed", "Ada Brun", "it"),
        ("{} designed it with", "Ada Brun", "great care"),
    ]


def test_a_server_is_asked_instead_and_what_it_cannot_name_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    said = [Clause("Rovo", "is in", "Peru"), Clause("Rovo", " ", "Peru"), Clause("{}", "is", "x")]
    monkeypatch.setattr(openie, "ask_server", lambda address, text, threshold: said)
    made = OpenStatements(OpenStatements.Params(server="http://localhost:9000"))
    assert [s.filled_prompt for s in made.simplify(make_document())] == ["Rovo is in"]
    assert dict(made.components) == {} and made.identity.startswith("openie@1:")
