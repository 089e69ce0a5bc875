"""What construction left over: verdicts of a store counted by check, label and reason."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import NamedTuple

from curation.files.model_packages import EMBEDDED, EMBEDDED_LABEL
from curation.store.store import Store
from schemas.lineage import SMOKE_TEST


class VerdictCounts(NamedTuple):
    """What became of constructed items: counts by check and label, reasons, and whether a small model wrote them."""

    store: str
    kept: int
    dropped: int
    unsure: int
    checks: list[tuple[str, dict[str, int]]]
    reasons: list[tuple[str, str, int]]
    models: list[str]
    smoke_test: bool


def count_verdicts(path: Path) -> VerdictCounts:
    """Counts of verdicts in a store, by check, label and reason.

    Raises:
        StoreError: the store cannot be read.
    """
    by_check: dict[str, Counter[str]] = {}
    reasons: Counter[tuple[str, str]] = Counter()
    items: dict[str, set[str]] = {}
    with Store.open(path) as store:
        for verdict in store.verdicts():
            label = verdict.label or "measured"
            by_check.setdefault(verdict.check, Counter())[label] += 1
            items.setdefault(verdict.item_id, set()).add(label)
            if label in ("drop", "unsure", "unscored"):
                reasons[(verdict.check, verdict.reason)] += 1
        lineages = [x for x in store.lineages() if x.model]
    models = sorted({x.model for x in lineages if x.model})
    smoke_test = any(m in (EMBEDDED, EMBEDDED_LABEL) for m in models)
    smoke_test = smoke_test or any(SMOKE_TEST in str(x.detail.get("quality", "")) for x in lineages)
    dropped = sum("drop" in labels for labels in items.values())
    unsure = sum("drop" not in labels and bool(labels & {"unsure", "unscored"}) for labels in items.values())
    return VerdictCounts(
        store=path.name,
        kept=len(items) - dropped - unsure,
        dropped=dropped,
        unsure=unsure,
        checks=[(name, dict(counts)) for name, counts in sorted(by_check.items())],
        reasons=[(check, reason, n) for (check, reason), n in reasons.most_common(15)],
        models=models,
        smoke_test=smoke_test,
    )
