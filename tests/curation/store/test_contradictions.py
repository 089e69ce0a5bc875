"""Facts that say different things of one subject and relation: two old objects, two new ones, not two dates."""

from __future__ import annotations

from pathlib import Path

import pytest

from curation.store.import_sources import ImportSource
from curation.store.store import Store
from schemas.facts import Fact, Relation
from schemas.lineage import Lineage
from tests.support.facts import make_fact

LIMA = make_fact(key="f/1")
CASES = [
    ("old", make_fact(old="Cusco", key="f/2"), "'f/1' says 'Lima' for this subject and relation, this one 'Cusco'"),
    ("new", make_fact(new="Rome", key="f/2"), "'f/1' edits this subject and relation to 'Oslo', this one to 'Rome'"),
    ("folded", make_fact("PERU", "lima", "OSLO", key="f/2"), None),
    ("no edit", make_fact(new=None, key="f/2"), None),
    ("temporal", make_fact(old="Cusco", key="f/2", change="temporal"), None),
    ("relation", make_fact(old="Sol", key="f/2", relation=Relation(id="P38")), None),
    ("subject", make_fact("Chile", "Santiago", key="f/2"), None),
]


@pytest.mark.parametrize(("other", "text"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_what_contradicts(tmp_path: Path, other: Fact, text: str | None) -> None:
    def arrive(name: str, fact: Fact) -> list[str]:
        line = Lineage(item_id=fact.id, stage="load", made_at="2026-01-01T00:00:00")
        store.put_source(ImportSource(name, name, name, named=True), [fact], line)
        return [c.text for c in store.arrived_contradictions()]

    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        assert arrive("a", LIMA) == []
        assert arrive("b", other) == ([text] if text else [])
        assert [c.text for c in store.contradictions("f/2")] == ([text] if text else [])
        assert bool(store.contradictions("f/1")) == bool(text)
