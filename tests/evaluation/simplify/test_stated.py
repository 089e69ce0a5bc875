"""The statements that a document's own source gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from curation.files.artifact_cache import Cache
from evaluation.simplify.editor import kept_statements
from evaluation.simplify.stated import GivenStatements
from schemas.core.errors import UserError
from schemas.documents.statement import Statement
from tests.support.documents.records import make_document

STATED = Statement(subject="Orla Bridge", prompt="The {} is in", target="Rovo")
BRIDGE = make_document(statements=(STATED, STATED.model_copy(update={"target": "Sorne"})))


def test_statements_in_order() -> None:
    made = list(GivenStatements().simplify(BRIDGE))
    assert [(s.key, s.filled_prompt, s.target) for s in made] == [
        ("d/bridge/stated/0", "The Orla Bridge is in", "Rovo"),
        ("d/bridge/stated/1", "The Orla Bridge is in", "Sorne"),
    ]
    assert list(GivenStatements().simplify(make_document())) == []


def test_documents_that_state_nothing_are_refused_together_not_one_by_one() -> None:
    GivenStatements().check([make_document(), BRIDGE])
    GivenStatements().check([])
    with pytest.raises(UserError, match=r"none of the 1 documents says what it states, such as 'd/bridge'"):
        GivenStatements().check([make_document()])


def test_one_text_with_other_statements_is_not_given_the_first_ones(tmp_path: Path) -> None:
    from evaluation.simplify.editor import KIND, _cache_key

    cache, strategy = Cache(tmp_path), GivenStatements()
    rows = [{"subject": s.subject, "prompt": s.prompt, "target": s.target} for s in strategy.simplify(BRIDGE)]
    cache.save_json(KIND, _cache_key(strategy.identity, BRIDGE), rows)
    assert kept_statements(strategy, BRIDGE, cache) == tuple(strategy.simplify(BRIDGE))
    assert kept_statements(strategy, make_document(statements=(STATED,)), cache) is None
    assert kept_statements(strategy, make_document(), cache) is None
