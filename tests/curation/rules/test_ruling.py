from __future__ import annotations

from pathlib import Path

from curation.rules.rule import DocumentRule, EventRule
from curation.rules.selection import Ruling
from curation.store.store import Store
from tests.support.curation.verdicts import make_verdict
from tests.support.documents.records import BRIDGE, document_records
from tests.support.events import MERGER, event_records


def test_people_are_wanted_for_what_asks_and_not_for_the_edit(tmp_path: Path) -> None:
    records = [*document_records(), *event_records()]
    verdicts = [make_verdict(r.id, "keep", "person:ann/curate_probe@1") for r in records]
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put([*records, *verdicts])
        for rule, edit in ((DocumentRule(min_people=2), BRIDGE), (EventRule(min_people=2), MERGER)):
            ruling = Ruling(store, rule).over(r.id for r in records)
            matches = [r for r in records if r.key.startswith(f"{edit}/")]
            assert ruling.decide(next(r for r in records if r.key == edit)).outcome == "keep"
            assert matches and {ruling.decide(r).outcome for r in matches} == {"hold"}
