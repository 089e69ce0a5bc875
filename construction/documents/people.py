"""What people did with probes of documents: dropped, levels corrected, levels approved; beside the paper's shares."""

from __future__ import annotations

from collections import defaultdict

from construction.tally import percent_of
from curation.store.store import Store
from schemas.core.records import Frozen
from schemas.documents.document import DocumentProbe
from schemas.text.counting import counted
from schemas.verdicts import Verdict

PAPER_DROPPED, PAPER_RELEVELLED, PAPER_APPROVED = 25, 40, 91
"""Of the published evaluation part, about: % of written probes that people dropped, % of the rest whose level they
corrected, % of levels that a second person approved (MULFE §4.3)."""

CURATE, REVIEW = "curate_probe", "review_level"
"""The tasks whose verdicts are counted."""


class ProbeCuration(Frozen):
    """Counts of what people said of probes, whatever version of a probe they saw.

    Attributes:
        curated: Probes that somebody curated. ``dropped`` of them: somebody, or the lead who decided, drops them.
        relevelled: Of the rest, those whose level today is not the one that was written.
        reviewed: Levels that somebody reviewed, a person and version of a probe each; ``approved`` of them.
    """

    curated: int
    dropped: int
    relevelled: int
    reviewed: int
    approved: int

    def lines(self, *, stored: bool = False) -> list[str]:
        """The counts as text, the paper's shares beside them."""
        rows = [
            ("curated by people", self.curated, ""),
            ("  dropped", self.dropped, share(self.dropped, self.curated, PAPER_DROPPED)),
            (
                "  level corrected",
                self.relevelled,
                share(self.relevelled, self.curated - self.dropped, PAPER_RELEVELLED),
            ),
            ("levels reviewed", self.reviewed, ""),
            ("  approved", self.approved, share(self.approved, self.reviewed, PAPER_APPROVED)),
        ]
        return [f"  {name:26s} {count:7,d}  {note}".rstrip() for name, count, note in rows]


def share(part: int, whole: int, paper: int) -> str:
    """A share of the probes that it is of, and the paper's."""
    return f"{percent_of(part, whole)} of {counted(whole, 'probe')} (in the paper: about {paper} %)" if whole else ""


def probe_curation(store: Store) -> ProbeCuration | None:
    """What people did with the probes of a store; None where they did nothing."""
    curated: dict[str, DocumentProbe] = {}
    drops: defaultdict[str, set[bool]] = defaultdict(set)  # by key: does a person, or the lead (True), drop it?
    decided, reviews = set[str](), list[float]()
    for verdict in store.all(Verdict):
        rater = verdict.judged_by
        if rater is None:
            continue
        lead = rater.kind == "adjudicated"
        if verdict.check == f"{REVIEW}_approved" and verdict.value is not None and not lead:
            reviews.append(verdict.value)
        elif verdict.check in (CURATE, f"{CURATE}_adjudicated"):
            probe = store.get(verdict.item_id)
            assert isinstance(probe, DocumentProbe)
            curated.setdefault(probe.key, probe)
            if lead:
                decided.add(probe.key)
            if verdict.label == "drop":
                drops[probe.key].add(lead)
    if not curated and not reviews:
        return None
    dropped = {key for key, by in drops.items() if (True in by if key in decided else bool(by))}
    return ProbeCuration(
        curated=len(curated),
        dropped=len(dropped),
        relevelled=sum(_relevelled(store, key) for key in curated if key not in dropped),
        reviewed=len(reviews),
        approved=sum(value == 1 for value in reviews),
    )


def _relevelled(store: Store, key: str) -> bool:
    """Whether a probe's level today is not that of the version it goes back to."""
    probe = store.get(key)
    assert isinstance(probe, DocumentProbe)
    first = first_version(store, probe)
    return probe.level != first.level


def first_version(store: Store, probe: DocumentProbe) -> DocumentProbe:
    """The version of a probe that was written, from which people's corrections made this one.

    A correction can lead back to an earlier version, so the way back goes from later lines of lineage to earlier ones.
    """
    before: str | None = None
    while True:
        lines = [
            (line.made_at, parent)
            for line in store.lineage(probe.id)
            if line.stage == "annotation" and (before is None or line.made_at < before)
            for item in line.parents
            if isinstance(parent := store.get(item), DocumentProbe) and parent.key == probe.key
        ]
        if not lines:
            return probe
        before, probe = max(lines, key=lambda line: line[0])
