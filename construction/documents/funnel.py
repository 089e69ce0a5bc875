"""The funnel of a construction of probes: what was written by level, what is kept, and why the rest is not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, ClassVar

from typing_extensions import override

from construction.authoring.outcome import overall_label
from construction.report.funnel import CountRow, Counts, Funnel, percent_of
from construction.report.store_funnel import JudgedItems
from curation.store.store import Store
from schemas.documents.document import Document, DocumentProbe
from schemas.text.counting import counted
from schemas.verdicts import Verdict

PAPER_DROPPED, PAPER_RELEVELLED, PAPER_APPROVED = 25, 40, 91
"""Of the published evaluation part, about: % of written probes that people dropped, % of the rest whose level they
corrected, % of levels that a second person approved (MULFE §4.3)."""

CURATE, REVIEW = "curate_probe", "review_level"
"""The tasks whose verdicts are counted."""


class ProbeCuration(Counts):
    """Counts of what people said of probes, whatever version of a probe they saw.

    Of ``curated`` probes those of ``dropped`` are dropped by somebody, or by the lead who decided, and of the rest
    ``relevelled`` have another level today than the one that was written. Of levels ``reviewed``, a person and version
    of a probe each, some are ``approved``.
    """

    names: ClassVar[tuple[str, ...]] = ("curated", "dropped", "relevelled", "reviewed", "approved")

    @override
    def rows(self, *, stored: bool = True) -> list[CountRow]:
        curated, dropped, relevelled, reviewed, approved = self.n.values()
        return [
            ("curated by people", curated, ""),
            ("  dropped", dropped, share(dropped, curated, PAPER_DROPPED)),
            ("  level corrected", relevelled, share(relevelled, curated - dropped, PAPER_RELEVELLED)),
            ("levels reviewed", reviewed, ""),
            ("  approved", approved, share(approved, reviewed, PAPER_APPROVED)),
        ]


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
    counts = ProbeCuration()
    counts.n |= {
        "curated": len(curated),
        "dropped": len(dropped),
        "relevelled": sum(_relevelled(store, key) for key in curated if key not in dropped),
        "reviewed": len(reviews),
        "approved": sum(value == 1 for value in reviews),
    }
    return counts


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


class ProbeFunnel(Funnel):
    """Counts of documents and of the probes about them.

    ``bare`` documents have no probe that is kept. Of ``written_1`` probes of level 1 those of ``kept_1`` are kept by
    every check and reader. ``unsure`` probes wait for a person; a check or a reader drops those of ``dropped``. A probe
    can be lost for several reasons.

    Attributes:
        people: What people did with the probes; None where they did nothing.
    """

    names: ClassVar[tuple[str, ...]] = (
        "documents",
        "bare",
        "written_1",
        "written_2",
        "written_3",
        "kept_1",
        "kept_2",
        "kept_3",
        "unsure",
        "dropped",
    )
    stages: ClassVar[tuple[str, ...]] = ("documents", "probes", "checks", "reader")
    made_by: ClassVar[frozenset[str]] = frozenset({"document", "document_probes"})
    people: ProbeCuration | None = None

    @property
    def written(self) -> int:
        """Probes written, of all levels."""
        return self.n["written_1"] + self.n["written_2"] + self.n["written_3"]

    @property
    def kept(self) -> int:
        """Probes kept, of all levels."""
        return self.n["kept_1"] + self.n["kept_2"] + self.n["kept_3"]

    @override
    def rows(self, *, stored: bool) -> list[CountRow]:
        n, all_written = self.n, self.written
        documents, bare, dropped, unsure = n["documents"], n["bare"], n["dropped"], n["unsure"]
        rows = [
            ("documents", documents, f"{bare:,} without a probe that is kept" if bare else ""),
            ("probes written", all_written, f"{all_written / documents:.1f} a document" if documents else ""),
        ]
        for level in (1, 2, 3):
            written, kept = n[f"written_{level}"], n[f"kept_{level}"]
            note = f"{kept:,} kept, {percent_of(kept, written)}" if written else ""
            rows.append((f"  of level {level}", written, note))
        beside = f"{percent_of(dropped, all_written)} (people in the paper: about {PAPER_DROPPED} %)".strip()
        return [
            *rows,
            ("  dropped", dropped, beside),
            ("  for people to decide", unsure, percent_of(unsure, all_written)),
            ("  kept", self.kept, percent_of(self.kept, all_written)),
            *(self.people.rows() if self.people is not None else ()),
        ]

    @override
    def data(self) -> dict[str, Any]:
        return {**super().data(), "people": None if self.people is None else self.people.data()}

    @override
    def count_items(self, store: Store, made: Mapping[str, set[str]]) -> None:
        probes: defaultdict[str, list[DocumentProbe]] = defaultdict(list)
        for probe in store.all(DocumentProbe):
            if first_version(store, probe).id in made:
                probes[probe.document].append(probe)
        judged = JudgedItems(store.verdicts(probe.id for of in probes.values() for probe in of))
        for document in store.all(Document):
            if document.id in made:
                self._count_document([(probe, judged.deciding(probe.id)) for probe in probes[document.key]])
        self.people = probe_curation(store)

    def _count_document(self, probes: list[tuple[DocumentProbe, list[Verdict]]]) -> None:
        labels = [overall_label(verdicts) for _, verdicts in probes]
        self.n["documents"] += 1
        self.n["bare"] += "keep" not in labels
        self.n["unsure"] += labels.count("unsure")
        self.n["dropped"] += labels.count("drop")
        for (probe, verdicts), label in zip(probes, labels, strict=True):
            self.n[f"written_{probe.level}"] += 1
            self.n[f"kept_{probe.level}"] += label == "keep"
            for verdict in verdicts:
                self.lose_by("reader" if verdict.model else "checks", [verdict])


def stored_probes(store: Store) -> ProbeFunnel | ProbeCuration | None:
    """The funnel of a store; where no probe in it was constructed, what people did with them, if anything."""
    if not store.has(DocumentProbe.kind):
        return None
    funnel = ProbeFunnel()
    funnel.count(store)
    return funnel if funnel.written else funnel.people
