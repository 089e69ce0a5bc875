"""The funnel of a construction of probes: what was written by level, what is kept, and why the rest is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from construction.authoring.losses import CountedLoss, LossTally, closing_lines, percent_of
from construction.authoring.standing import overall_label
from construction.documents.people import PAPER_DROPPED, ProbeCuration
from schemas.core.records import Frozen
from schemas.documents.document import DocumentProbe
from schemas.verdicts import Verdict

STAGES = ("documents", "probes", "checks", "reader")


class ProbeCounts(Frozen):
    """Counts of one construction of probes.

    Attributes:
        documents: Documents; ``bare`` of them have no probe that is kept.
        short: Documents with fewer probes than were asked for at least.
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
    short: int
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


class ProbeTally(LossTally):
    """Counts while probes are made."""

    def __init__(self) -> None:
        super().__init__(STAGES)
        self.n: Counter[str] = Counter()

    def document(self, probes: Iterable[tuple[DocumentProbe, list[Verdict]]]) -> None:
        """A document with its probes and what is said of each."""
        kept = 0
        for probe, verdicts in probes:
            stands = overall_label(verdicts)
            self.n[f"written_{probe.level}"] += 1
            self.n["unsure"] += stands == "unsure"
            self.n["dropped"] += stands == "drop"
            self.n[f"kept_{probe.level}"] += stands == "keep"
            kept += stands == "keep"
            for verdict in verdicts:
                if verdict.label not in ("keep", None):
                    stage = "reader" if verdict.model else "checks"
                    who = verdict.check if verdict.judged_by is None else f"people ({verdict.check})"
                    self.lose(stage, f"{verdict.label} by {who}")
        self.n["documents"] += 1
        self.n["bare"] += not kept

    def result(self, *, calls: int, quality: str | None) -> ProbeCounts:
        """The counts so far."""
        names = [n for n, f in ProbeCounts.model_fields.items() if f.annotation is int and n != "calls"]
        return ProbeCounts(**{n: self.n[n] for n in names}, calls=calls, quality=quality, losses=self.listed())
