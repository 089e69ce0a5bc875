"""Thirty cases of mini to draw samples of, and what people say of the items."""

from __future__ import annotations

from collections.abc import Callable

from curation.quality.sample import CRITERIA, Sample
from curation.splits.split_file import make_split
from curation.store.store import Store
from schemas.verdicts import Verdict, verdict_key
from tests.support.curation.verdicts import make_verdict
from tests.support.small import small_split

MINI = make_split("mini", small_split().cases[:30])


def judge(store: Store, sample: Sample, person: str, no: Callable[[str], str] = lambda item: "") -> None:
    """A person's verdicts: yes to all, but no to the criterion that ``no`` names for an item."""
    verdicts = []
    for item in (d.item_id for d in sample.items):
        against = no(item)
        verdicts.append(make_verdict(item, "drop" if against else "keep", f"person:{person}/quality@3"))
        for criterion in CRITERIA:
            by, value = f"person:{person}/quality_{criterion}@3", float(criterion != against)
            key = verdict_key(item_id=item, by=by)
            verdicts.append(Verdict(key=key, item_id=item, by=by, label=None, value=value, unit="yes"))
    store.put(verdicts)
