"""Locate-and-edit methods with ``stabilise``: stabilisers of sequences as one option, in one fixed order."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import field_validator
from torch import Tensor

from evaluation.editors.base import Editor
from evaluation.editors.locate_edit import stabilisers
from evaluation.edits.edit import CarryingEdit, Edit, carried_by
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


class CarriedState(NamedTuple):
    """What an edit hands on to the next one of a sequence; empty before the first.

    Attributes:
        total: By weight the sum of all changes so far, undamped; only where a stabiliser asks for it.
        damping: By weight what damps this sum (``prune``).
        keys: By layer the keys that edits wrote at, [facts, inner], where later edits are to spare them.
    """

    total: Mapping[str, WeightDelta] = {}
    damping: Mapping[str, LowRankDelta] = {}
    keys: Mapping[int, Tensor] = {}


FIRST = CarriedState()
"""Of edits that none came before."""


def state_after(earlier: Sequence[Edit]) -> CarriedState:
    """What the newest of some edits hands on."""
    state: CarriedState | None = carried_by(earlier)
    return FIRST if state is None else state


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

    def reshaped(self, layer: int, changes: Sequence[WeightDelta], before: CarriedState) -> list[WeightDelta]:
        """Independent changes of one layer after ``sphere`` and ``rect``; what came before is active."""
        chosen = self.params.stabilise
        out = list(changes)
        if "sphere" not in chosen and "rect" not in chosen:
            return out
        weight = self._weight(layer, before, edited=True)
        if "sphere" in chosen:
            directions = stabilisers.shielded_directions(weight)
            out = [stabilisers.shielded(change, directions) for change in out]
        if "rect" in chosen:
            out = [stabilisers.rectified(change, weight) for change in out]
        return out

    def added(self, before: CarriedState, deltas: Sequence[WeightDelta]) -> CarriedState:
        """The state with these changes in the sums."""
        if {"sphere", "rect", "prune"}.isdisjoint(self.params.stabilise):
            return before
        total = dict(before.total)
        for delta in deltas:
            name, new = delta.weight, on(delta, self.lm.device)
            total[name] = joint(on(total[name], self.lm.device), new) if name in total else new
        return before._replace(total=total)

    def finish(
        self, deltas: Sequence[WeightDelta], notes: Mapping[str, Any], before: CarriedState, keys: Mapping[int, Tensor]
    ) -> CarryingEdit:
        """An edit, with ``prune`` among its changes what damps all changes together.

        What damped the earlier changes alone is taken away by one change and replaced by another.

        Args:
            deltas: The edit's own changes.
            notes: Of the edit.
            before: What earlier edits handed on.
            keys: Keys that later edits are to spare, by layer.
        """
        after, out, damping = self.added(before, deltas), list(deltas), dict[str, LowRankDelta]()
        for layer in self.edited_layers if "prune" in self.params.stabilise else ():
            name = self.lm.layout.weight(layer)
            if name in before.damping:
                earlier = before.damping[name]
                out.append(LowRankDelta(name, -earlier.left, earlier.right))
            now = None
            if name in after.total:
                now = stabilisers.damping(after.total[name], self._weight(layer, before, edited=False))
            if now is not None:
                damping[name] = now
                out.append(now)
        return CarryingEdit(tuple(out), notes, CarriedState(after.total, damping, keys))

    def _weight(self, layer: int, before: CarriedState, *, edited: bool) -> Tensor:
        """A layer's weight [out, in], float32, with or without the earlier edits, which the model carries."""
        module, name = self.lm.projection(layer), self.lm.layout.weight(layer)
        weight = stabilisers.weight_matrix(module).float().to(self.lm.device)
        if is_narrow(module) is edited:  # narrow weights stay, their changes stand beside them
            for delta in (before.total.get(name), before.damping.get(name)):
                if delta is not None:
                    change = delta.matrix().to(weight.device)
                    weight = weight + change if edited else weight - change
        return weight
