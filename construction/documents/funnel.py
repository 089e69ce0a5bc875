"""The funnel of a construction of probes: what was written by level, what is kept, and why the rest is not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar

from construction.authoring.outcome import overall_label
from construction.authoring.tally import CountedLoss, Tally, closing_lines, percent_of
from construction.report.store_funnel import JudgedItems, MadeItems
from curation.store.store import Store
from schemas.core.records import Frozen
from schemas.documents.document import Document, DocumentProbe
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


class ProbeCounts(Frozen):
    """Counts of one construction of probes.

    Attributes:
        documents: Documents; ``bare`` of them have no probe that is kept.
        written_1, written_2, written_3: Probes written, by level.
        kept_1, kept_2, kept_3: Those of them that every check and reader keeps.
        unsure: Probes that wait for a person.
        dropped: Those that a check or reader drops.
        unfinished: Calls without an answer so far.
        calls: Calls made over the network in this run.
        losses: What was lost, by stage and reason; a probe can be lost for several.
        people: What people did with the probes; None where they did nothing.
    """

    documents: int
    bare: int
    written_1: int
    written_2: int
    written_3: int
    kept_1: int
    kept_2: int
    kept_3: int
    unsure: int
    dropped: int
    unfinished: int
    calls: int
    quality: str | None
    losses: tuple[CountedLoss, ...]
    people: ProbeCuration | None = None

    @property
    def written(self) -> int:
        """Probes written, of all levels."""
        return self.written_1 + self.written_2 + self.written_3

    @property
    def kept(self) -> int:
        """Probes kept, of all levels."""
        return self.kept_1 + self.kept_2 + self.kept_3

    def lines(self, *, stored: bool = False) -> list[str]:
        """The funnel as text, the paper's figures beside it.

        Args:
            stored: It was counted from a store, which knows of no calls that came to nothing.
        """
        levels = [(self.written_1, self.kept_1), (self.written_2, self.kept_2), (self.written_3, self.kept_3)]
        dropped = f"{percent_of(self.dropped, self.written)} (people in the paper: about {PAPER_DROPPED} %)"
        rows = [
            ("documents", self.documents, f"{self.bare:,} without a probe that is kept" if self.bare else ""),
            (
                "probes written",
                self.written,
                f"{self.written / self.documents:.1f} a document" if self.documents else "",
            ),
            *(
                (f"  of level {n}", written, f"{kept:,} kept, {percent_of(kept, written)}" if written else "")
                for n, (written, kept) in enumerate(levels, 1)
            ),
            ("  dropped", self.dropped, dropped.strip()),
            ("  for people to decide", self.unsure, percent_of(self.unsure, self.written)),
            ("  kept", self.kept, percent_of(self.kept, self.written)),
        ]
        lines = [f"  {name:26s} {count:7,d}  {note}".rstrip() for name, count, note in rows]
        lines += self.people.lines() if self.people is not None else []
        return [*lines, *closing_lines(self.losses, self.calls, stored=stored)]


class ProbeTally(Tally):
    """Counts probes of documents."""

    stages: ClassVar[tuple[str, ...]] = ("documents", "probes", "checks", "reader")

    def count(self, probes: Iterable[tuple[DocumentProbe, Sequence[Verdict]]]) -> None:
        """Count a document with its probes."""
        kept = 0
        for probe, verdicts in probes:
            label = overall_label(verdicts)
            kept += label == "keep"
            self.n[f"written_{probe.level}"] += 1
            self.n["unsure"] += label == "unsure"
            self.n["dropped"] += label == "drop"
            self.n[f"kept_{probe.level}"] += label == "keep"
            for verdict in verdicts:
                self.lose_by("reader" if verdict.model else "checks", [verdict])
        self.n["documents"] += 1
        self.n["bare"] += not kept


def count_probes(store: Store, run: ProbeTally | None = None, *, calls: int | None = None) -> ProbeCounts:
    """The counts of a store, all runs together.

    A person's verdict outranks those of checks and readers, as in a rule. What came complete from a file or a split is
    not counted.

    Args:
        store: The store.
        run: What a run lost that leaves no record: documents that stood there before, replies of no use.
        calls: Calls that the run made; left out, those that the store knows.
    """
    made, tally = MadeItems.of(store, {"document", "document_probes"}), run or ProbeTally()
    probes: defaultdict[str, list[DocumentProbe]] = defaultdict(list)
    for probe in store.all(DocumentProbe):
        if first_version(store, probe).id in made.stages:
            probes[probe.document].append(probe)
    judged = JudgedItems(store.verdicts(probe.id for of in probes.values() for probe in of))
    for document in store.all(Document):
        if document.id in made.stages:
            tally.count((probe, judged.deciding(probe.id)) for probe in probes[document.key])
    counts = tally.result(ProbeCounts, calls=len(made.requests) if calls is None else calls, quality=made.quality)
    return counts.model_copy(update={"people": probe_curation(store)})


def stored_probe_counts(path: Path) -> ProbeCounts | ProbeCuration | None:
    """The counts of a store; where no probe in it was constructed, what people did with them, if anything.

    Args:
        path: The store.

    Raises:
        UserError: there is no such store.
    """
    with Store.open(path) as store:
        counts = count_probes(store) if store.has(DocumentProbe.kind) else None
    return counts if counts is None or counts.written else counts.people
