"""What both kinds of summary share."""

from __future__ import annotations

from curation.export.judged_summary import JudgedSummary


def test_licences_come_most_frequent_first() -> None:
    sources = {("a", "MIT", None): 2, ("b", "CC0-1.0", None): 3, ("c", "MIT", "u"): 4}
    assert JudgedSummary(sources=sources).licences == ["MIT", "CC0-1.0"]
    assert not JudgedSummary(sources={}).from_store
