"""Which regime a run is in, as its configuration says it (``evaluation.regimes.table`` has what does them)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from curation.case_sources.opening import has_scripts
from schemas.cases import AnyCase
from schemas.core.config import Options
from schemas.core.ids import seed

LENGTHS = (1, 10, 100)
SNAPSHOT_EVERY = 50
"""Edits after which the newest state of a sequence is kept, where nothing else is said."""
TITLES = {"revert": "edited and reverted", "reedit": "edited, reverted, edited again"}
"""Regimes whose names are short for what is done."""
ALONE = ("single", *TITLES)
"""Regimes in which no case shares a model with another."""


class RegimeChoice(Options):
    """Which regime.

    Attributes:
        name: ``single``, ``batch``, ``sequential``, ``revert`` (each fact edited and edited back) or ``reedit`` (and
            edited again); a bare string in a configuration means this.
        size: ``batch``: edits at once; several sizes are tried one after the other, each a row of its own.
            ``sequential``: lengths at which all cases so far are scored.
        score: ``sequential``: ``immediate`` (each case right after its edit), ``end`` (at the lengths), or ``both``.
        sample: ``sequential``: so many cases at most are asked at a length, and only they right after their edits:
            those with scripts first, then others, drawn by their keys; all where it is not given.
        order: ``sequential``: ``drawn`` from the split's digest, or ``scripts_first``: in that order, but cases with
            scripts before all others, so that they are there at every length.
        snapshot_every: ``sequential``: the edited weights are kept on the disk at every length and after so many edits,
            so that a stopped sequence goes on from there (of the latter the newest only); 0: not at all.

    Example:
        >>> RegimeChoice.model_validate("single").text
        'single'
        >>> RegimeChoice(name="batch", size=10).text, RegimeChoice(name="batch", size=(10, 2)).text
        ('batch:10', 'batch:2, batch:10')
    """

    for_sequences: ClassVar[tuple[str, ...]] = ("sample", "order", "snapshot_every")

    name: Literal["single", "batch", "sequential", "revert", "reedit"] = "single"
    size: int | tuple[int, ...] | None = Field(default=None)
    score: Literal["immediate", "end", "both"] = "both"
    sample: int | None = Field(default=None, ge=1)
    order: Literal["drawn", "scripts_first"] = "drawn"
    snapshot_every: int = Field(default=SNAPSHOT_EVERY, ge=0)

    @model_validator(mode="before")
    @classmethod
    def _accept_bare_name(cls, data: Any) -> Any:
        if not isinstance(data, str | dict | RegimeChoice):
            raise ValueError('give a name, such as "single", or a table, such as { name = "batch", size = 10 }')
        return {"name": data} if isinstance(data, str) else data

    @model_validator(mode="after")
    def _sizes(self) -> RegimeChoice:
        if any(n < 1 for n in self.sizes):
            raise ValueError("sizes are 1 or more")
        if self.name not in ("batch", "sequential") and self.size is not None:
            raise ValueError(f"'{self.name}' takes no size")
        if self.name == "batch" and not self.sizes:
            raise ValueError("'batch' takes one size or more, such as size = 10 or size = [1, 2, 5, 10]")
        if self.name != "sequential" and self.score != "both":
            raise ValueError(f"score is for 'sequential'; '{self.name}' is scored once")
        for name in self.for_sequences:
            if self.name != "sequential" and getattr(self, name) != type(self).model_fields[name].default:
                raise ValueError(f"{name} is for 'sequential'; '{self.name}' has no sequence")
        if self.name == "sequential" and not self.sizes:
            raise ValueError("'sequential' takes one length or more, such as size = [1, 10]; left out: 1, 10 and 100")
        return self

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes in order."""
        sizes = self.size
        if sizes is None:
            sizes = LENGTHS if self.name == "sequential" else ()
        return (sizes,) if isinstance(sizes, int) else tuple(sorted(set(sizes)))

    @property
    def text(self) -> str:
        """The regime as a run's identity has it: lengths of a sequence only say where it is scored."""
        return ", ".join(f"batch:{size}" for size in self.sizes) if self.name == "batch" else self.name

    @property
    def parts(self) -> tuple[RegimeChoice, ...]:
        """The regimes that every method runs in: one, or one for each size of a batch."""
        if self.name != "batch" or len(self.sizes) == 1:
            return (self,)
        return tuple(RegimeChoice(name="batch", size=size) for size in self.sizes)

    def groups(self, cases: Sequence[AnyCase]) -> list[Sequence[AnyCase]]:
        """The cases whose edits are in the model together; none where every edit is alone in it."""
        if self.name == "sequential":
            return [cases[: max(self.sizes)]]
        sizes = self.sizes if self.name == "batch" else ()
        return [cases[start : start + size] for size in sizes for start in range(0, len(cases), size)]

    def labels(self, label: str) -> tuple[str, ...]:
        """What the rows of a method are called in a run: its label, with the size where there are several.

        Example:
            >>> RegimeChoice(name="batch", size=(1, 10)).labels("memit")
            ('memit (batch of 1)', 'memit (batch of 10)')
        """
        if len(self.parts) == 1:
            return (label,)
        return tuple(f"{label} ({regime_title(part.text)})" for part in self.parts)


def regime_title(text: str) -> str:
    """A regime of a run's identity as people read it.

    Example:
        >>> regime_title("single"), regime_title("batch:709")
        ('single', 'batch of 709')
    """
    name, _, size = text.partition(":")
    return f"{name} of {size}" if size else TITLES.get(name, name)


def sampled_positions(cases: Sequence[AnyCase], length: int, sample: int | None) -> list[int]:
    """Positions, from 1, of the cases that are asked when ``length`` edits stand in the model.

    Cases with scripts come first, others by a draw from their keys: what is asked at one length is asked at longer ones
    too, as far as there is room.

    Args:
        cases: All cases of the sequence, in order.
        length: Edits in the model.
        sample: Most cases; None: all.
    """
    positions = list(range(1, length + 1))
    if sample is None or length <= sample:
        return positions
    ranked = sorted(positions, key=lambda n: _rank(cases[n - 1]))
    return sorted(ranked[:sample])


def lengths_reached(cases: Sequence[object], sizes: Sequence[int]) -> set[int]:
    """Lengths that there are cases for; all cases, where there are fewer than the smallest length."""
    return {n for n in sizes if n <= len(cases)} or {len(cases)}


def asked_positions(cases: Sequence[AnyCase], sizes: Sequence[int], sample: int | None) -> set[int]:
    """Positions, from 1, of the cases that are asked at one length or more."""
    return {p for n in lengths_reached(cases, sizes) for p in sampled_positions(cases, n, sample)}


def _rank(case: AnyCase) -> tuple[bool, int, str]:
    return not has_scripts(case), seed(case.key, "asked"), case.key
