"""Locate-and-edit methods with ``stabilise``: stabilisers of sequences as one option, in one fixed order."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, ClassVar, Literal, NamedTuple, Self

import torch
from pydantic import field_validator
from torch import Tensor

from evaluation.editors.base import Editor
from evaluation.editors.locate_edit import stabilisers
from evaluation.edits.edit import Edit, WeightEdit
from evaluation.edits.routed_deltas import RoutedDelta
from evaluation.edits.weight_deltas import LowRankDelta, WeightDelta, is_narrow, joint, on
from schemas.cases import Case
from schemas.core.config import Options
from schemas.core.errors import UserError
from schemas.facts import Fact

Stabiliser = Literal["accumulate", "nas", "sphere", "rect", "prune"]
ORDER: tuple[Stabiliser, ...] = ("accumulate", "nas", "sphere", "rect", "prune")
"""In which they act, however they are listed."""

NAS_FACTS = 64
"""Facts of the support, at most, whose searched values have the mean length (published: 1,000 facts)."""


class StabiliserParams(Options):
    """``stabilise``: what keeps a sequence of edits from wearing the model down; any of those that a method offers.

    Attributes:
        stabilise: ``accumulate``: keys of earlier edits keep their values (MEMIT_seq). ``nas``: values of the mean
            length, too long ones not written; needs support. ``sphere``: half of the change along the weight's main
            directions is taken away. ``rect``: only the 40 % relatively largest entries of a change stay. ``prune``:
            singular values of all changes together above the weight's largest are damped.
    """

    offers: ClassVar[tuple[str, ...]] = ORDER

    stabilise: tuple[Stabiliser, ...] = ()

    @field_validator("stabilise")
    @classmethod
    def _offered(cls, names: tuple[Stabiliser, ...]) -> tuple[Stabiliser, ...]:
        for name in names:
            if name not in cls.offers:
                raise ValueError(f"'{name}' is none of this method's stabilisers; allowed: {', '.join(cls.offers)}")
        if len(set(names)) < len(names):
            raise ValueError("name each stabiliser once")
        return tuple(name for name in ORDER if name in names)


@dataclass(frozen=True)
class StabilisedEdit(WeightEdit):
    """A weight edit that knows what stabilisers ask of its own and all earlier changes; only the newest one is asked.

    Attributes:
        damping: By weight what damps the sum of all changes (``prune``).
        total: By weight this sum, undamped; None where no stabiliser asks for it.
    """

    damping: Mapping[str, LowRankDelta] = field(default_factory=dict)
    total: Mapping[str, WeightDelta] | None = None

    def followed(self) -> Self:
        """Without damping and sum, which the next edit carries."""
        return replace(self, damping={}, total=None)


class FinishedChanges(NamedTuple):
    """An edit's changes with those that damp, and what later edits ask: see ``StabilisedEdit``."""

    deltas: tuple[WeightDelta, ...]
    damping: dict[str, LowRankDelta]
    total: dict[str, WeightDelta] | None


class StabilisedEditor(Editor):
    """A method whose options have ``StabiliserParams``."""

    _mean_length: float | None = None

    @classmethod
    def wants_support(cls, options: Mapping[str, Any]) -> bool:
        """With ``nas``, whose mean length is measured on the support."""
        return "nas" in options.get("stabilise", ())

    @property
    def bytes_an_edit(self) -> int:
        """As for every low-rank change; with ``rect`` a change of every entry."""
        if "rect" not in self.params.stabilise:
            return super().bytes_an_edit
        return 4 * self.lm.layout.width * self.lm.layout.inner * len(self.edited_layers)

    @abstractmethod
    def searched_values(self, facts: Sequence[Fact]) -> Tensor:
        """v*, the MLP's part, of every fact in the model as it stands, [facts, width]."""

    def prepare(self, support: Sequence[Case]) -> None:
        """With ``nas``, the mean length of values that are searched for facts of the support.

        Raises:
            UserError: the support holds no edit.
        """
        if "nas" not in self.params.stabilise:
            return
        facts = [case.fact for case in support if case.fact.new is not None][:NAS_FACTS]
        if not facts:
            raise UserError(
                "the stabiliser 'nas' measures the length of values on other facts, and there are none",
                where="support",
                fix="declare support in the run's configuration, such as support = 'shipped'",
            )
        self._mean_length = float(self.searched_values(facts).norm(dim=1).mean())

    def anchor(self, values: Tensor) -> stabilisers.AnchoredValues:
        """Values as they are to be written, and which are not."""
        if self._mean_length is None:
            raise UserError("the stabiliser 'nas' was not prepared", fix="call prepare(support) first")
        return stabilisers.anchored(values, self._mean_length)

    def reshaped(self, layer: int, changes: Sequence[WeightDelta], earlier: Sequence[Edit]) -> list[WeightDelta]:
        """Independent changes of one layer after ``sphere`` and ``rect``; ``earlier`` edits are in force."""
        chosen = self.params.stabilise
        out = list(changes)
        if "sphere" not in chosen and "rect" not in chosen:
            return out
        weight = self._weight(layer, earlier, with_them=True)
        if "sphere" in chosen:
            directions = stabilisers.shielded_directions(weight)
            out = [stabilisers.shielded(change, directions) for change in out]
        if "rect" in chosen:
            out = [stabilisers.rectified(change, weight) for change in out]
        return out

    def finish(self, deltas: Sequence[WeightDelta], earlier: Sequence[Edit]) -> FinishedChanges:
        """An edit's changes, with ``prune`` among them what damps all changes; this damping and their sum by weight.

        What damped the earlier changes alone is taken away by one change and replaced by another.
        """
        out, dampings, totals = list(deltas), dict[str, LowRankDelta](), dict[str, WeightDelta]()
        for layer in self.edited_layers if self._sums else ():
            name = self.lm.layout.weight(layer)
            changes = [*self._undamped(earlier, name), *(d for d in deltas if d.weight == name)]
            everything = [on(change, self.lm.device) for change in changes]  # read from a file they lie elsewhere
            if everything:
                totals[name] = reduce(joint, everything)
            if "prune" not in self.params.stabilise:
                continue
            before = _damping_of(earlier).get(name)
            undone = [] if before is None else [LowRankDelta(name, -before.left, before.right)]
            now = stabilisers.damping(everything, self._weight(layer, earlier, with_them=False))
            if now is not None:
                dampings[name] = now
            out += [*undone, *([] if now is None else [now])]
        return FinishedChanges(tuple(out), dampings, totals if self._sums else None)

    @property
    def _sums(self) -> bool:
        """Whether a stabiliser asks for the sum of all changes: beside narrow weights none can be read from these."""
        chosen = self.params.stabilise
        if "prune" in chosen:
            return True
        reshaping = "sphere" in chosen or "rect" in chosen
        return reshaping and any(is_narrow(self.lm.projection(layer)) for layer in self.edited_layers)

    def _undamped(self, earlier: Sequence[Edit], name: str) -> list[WeightDelta]:
        """Changes whose sum is that of all earlier edits without what damps it."""
        if (total := _total_of(earlier)) is not None:
            return [total[name]] if name in total else []
        before = _damping_of(earlier).get(name)
        return [
            *self._changes(earlier, name),
            *([] if before is None else [LowRankDelta(name, -before.left, before.right)]),
        ]

    def _weight(self, layer: int, earlier: Sequence[Edit], *, with_them: bool) -> Tensor:
        """A layer's weight [out, in], float32, with or without the earlier edits, which the model carries."""
        module, name = self.lm.projection(layer), self.lm.layout.weight(layer)
        weight = stabilisers.weight_matrix(module)
        changed = weight.dtype in (torch.float32, torch.float64)  # narrow weights stay, their changes stand beside them
        weight = weight.float().to(self.lm.device)
        if changed is not with_them:
            for delta in self._changes(earlier, name):
                weight = weight + (1 if with_them else -1) * delta.matrix().to(weight.device)
        return weight

    def _changes(self, earlier: Sequence[Edit], name: str) -> list[WeightDelta]:
        """What earlier edits changed of one weight."""
        newest = next((n for n in reversed(range(len(earlier))) if _total_of(earlier[: n + 1]) is not None), None)
        changes = [d for e in earlier[0 if newest is None else newest + 1 :] for d in e.deltas or ()]
        known = [] if newest is None else _sums_of(earlier[: newest + 1])
        return [d for d in [*known, *changes] if d.weight == name and not isinstance(d, RoutedDelta)]


def _damping_of(earlier: Sequence[Edit]) -> Mapping[str, LowRankDelta]:
    """What damps the earlier edits as they stand."""
    return earlier[-1].damping if earlier and isinstance(earlier[-1], StabilisedEdit) else {}


def _sums_of(earlier: Sequence[Edit]) -> list[WeightDelta]:
    """The sums of the earlier edits' changes that the newest knows, and what damps them."""
    return [*(_total_of(earlier) or {}).values(), *_damping_of(earlier).values()]


def _total_of(earlier: Sequence[Edit]) -> Mapping[str, WeightDelta] | None:
    """The undamped sum of the earlier edits' changes by weight, where the newest knows it."""
    return earlier[-1].total if earlier and isinstance(earlier[-1], StabilisedEdit) else None
