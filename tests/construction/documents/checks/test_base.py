"""The checks over a store find what they look at."""

from __future__ import annotations

from pathlib import Path

from construction.documents.checks import PROBE_CHECKS, judge_probe
from construction.documents.checks.base import UNKNOWN_TAGS, ProbeInputs
from curation.checks.store_checks import CheckContext, make_checks, run_check
from curation.store.store import Store
from schemas.lineage import Lineage
from tests.support.documents.records import document_records, make_document, make_probe


def test_a_store_is_judged_as_construction_judges(tmp_path: Path) -> None:
    repeated = make_probe("When did the Orla Bridge open?", "1931", level=2, key="d/bridge/zz")
    first = make_probe("When did the Orla Bridge open", "1931", level=2, key="d/bridge/aa")
    stranger = make_probe("Who?", "x", level=3, document="d/away")
    line = Lineage(item_id=first.id, stage="document_probes", made_at="now", detail={UNKNOWN_TAGS: ["Weather"]})
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put([*document_records(), first, repeated, stranger], [line])
        around = CheckContext(store)
        for name in PROBE_CHECKS.names():
            (check,) = make_checks([name])
            done = run_check(store, check, around=around)
            assert done.left == 1, "the probe whose document is away stays due"
        labels = {v.check: v.label for v in store.verdicts([repeated.id])}
        (unknown,) = [v for v in store.verdicts([first.id]) if v.check == "tag_known"]
    earlier = tuple(sorted((r for r in document_records()[1:4]), key=lambda r: r.key))
    inputs = ProbeInputs(document=make_document(), probe=repeated, earlier=(*earlier, first))
    own = {v.check: v.label for v in judge_probe(inputs)}
    assert labels == {**own, "tag_known": "keep"} and own["probe_repeats"] == "drop"
    assert unknown.label == "unsure"
