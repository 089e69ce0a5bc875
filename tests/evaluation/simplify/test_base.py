from __future__ import annotations

from evaluation.simplify import SIMPLIFIERS
from evaluation.simplify.base import Simplifier
from evaluation.simplify.openie import OpenStatements
from tests.support.documents.records import make_document


def test_every_strategy_says_what_it_is() -> None:
    for name in SIMPLIFIERS.names():
        kind = SIMPLIFIERS.get(name)
        assert issubclass(kind, Simplifier) and kind.name == name and kind.about and kind.version >= 1


def test_options_are_part_of_the_identity_and_statements_are_named_by_their_place() -> None:
    one, two = (
        OpenStatements(OpenStatements.Params(server="http://localhost:1", threshold=value)) for value in (0.5, 0.6)
    )
    assert one.identity != two.identity
    statement = one.statement(make_document(), 3, subject="Orla", prompt="{} is", target="x")
    assert (statement.key, statement.strategy) == ("d/bridge/openie/3", "openie")
