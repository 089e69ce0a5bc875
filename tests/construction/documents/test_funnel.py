from __future__ import annotations

from construction.documents.funnel import ProbeCounts, ProbeTally, count_document
from tests.support.curation.verdicts import make_verdict
from tests.support.documents.records import make_probe


def test_a_funnel_by_level_with_reasons() -> None:
    tally = ProbeTally()
    kept, held, lost = make_probe(), make_probe("Who?", "Ada", level=2), make_probe("Why?", "so", level=3)
    reader = make_verdict(lost.id, "drop", "answered_without@1").model_copy(update={"model": "m"})
    person = make_verdict(lost.id, "drop", "person:ann/curate_probe@1")
    said = {
        kept: [make_verdict(kept.id, "keep", "one_blank@1")],
        held: [make_verdict(held.id, "unsure", "level_literal@1")],
        lost: [reader, person],
    }
    for probe, verdicts in said.items():
        tally.count(probe, verdicts)
    tally.n.update([*count_document(said.values()), *count_document([])])
    tally.lose("probes", "refused reply")
    counts = tally.result(ProbeCounts, calls=2, quality=None)
    assert (counts.documents, counts.bare, counts.written, counts.kept) == (2, 1, 3, 1)
    assert (counts.kept_1, counts.written_3, counts.unsure, counts.dropped) == (1, 1, 1, 1)
    assert [(x.stage, x.reason) for x in counts.losses] == [
        ("probes", "refused reply"),
        ("checks", "drop by people (curate_probe)"),
        ("checks", "unsure by level_literal"),
        ("reader", "drop by answered_without"),
    ]
    text = "\n".join(counts.lines())
    assert "33.3 % (people in the paper: about 25 %)" in text and "1 kept, 100.0 %" in text
    assert counts.lines(stored=True)[-1] == "2 calls on record."


def test_nothing_is_a_funnel_too() -> None:
    counts = ProbeTally().result(ProbeCounts, calls=0, quality=None)
    assert "probes written                   0\n" in "\n".join(counts.lines())
