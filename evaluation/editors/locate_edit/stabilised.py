"""Locate-and-edit methods with ``stabilise``: stabilisers of sequences as one option, in one fixed order."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import torch
from pydantic import field_validator
from torch import Tensor

from evaluation.editors.base import Editor
from evaluation.editors.locate_edit.parts import stabilisers
from evaluation.edits.edit import Edit, WeightEdit
from evaluation.edits.routed_deltas import RoutedDelta
from evaluation.edits.weight_deltas import LowRankDelta, WeightDelta
from schemas.cases import Case
from schemas.core.config import LaterOptions
from schemas.core.errors import UserError
from schemas.facts import Fact

Stabiliser = Literal["accumulate", "nas", "sphere", "rect", "prune"]
ORDER: tuple[Stabiliser, ...] = ("accumulate", "nas", "sphere", "rect", "prune")
"""In which they act, however they are listed."""

NAS_FACTS = 64
"""Facts of the support, at most, whose searched values have the mean length (published: 1,000 facts)."""


class StabiliserParams(LaterOptions):
    """``stabilise``: what keeps a sequence of edits from wearing the model down; any of those that a method offers.

    Attributes:
        stabilise: ``accumulate``: keys of earlier edits keep their values (MEMIT_seq). ``nas``: values of the mean
            length, too long ones not written; needs support. ``sphere``: half of the change along the weight's main
            directions is taken away. ``rect``: only the 40 % relatively largest entries of a change stay. ``prune``:
            singular values of all changes together above the weight's largest are damped.
    """

    later: ClassVar[tuple[str, ...]] = ("stabilise",)
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
    """A weight edit that knows by weight what damps the sum of its own and all earlier changes (``prune``)."""

    damping: Mapping[str, LowRankDelta] = field(default_factory=dict)


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

    def finish(
        self, deltas: Sequence[WeightDelta], earlier: Sequence[Edit]
    ) -> tuple[tuple[WeightDelta, ...], dict[str, LowRankDelta]]:
        """An edit's changes, with ``prune`` among them what damps all changes; and this damping by weight.

        What damped the earlier changes alone is taken away by one change and replaced by another.
        """
        out, dampings = list(deltas), dict[str, LowRankDelta]()
        for layer in self.edited_layers if "prune" in self.params.stabilise else ():
            name = self.lm.layout.weight(layer)
            before = _damping_of(earlier).get(name)
            undone = [] if before is None else [LowRankDelta(name, -before.left, before.right)]
            everything = self._changes(earlier, name)
            everything += [*undone, *(d for d in deltas if d.weight == name)]
            now = stabilisers.damping(everything, self._weight(layer, earlier, with_them=False))
            if now is not None:
                dampings[name] = now
            out += [*undone, *([] if now is None else [now])]
        return tuple(out), dampings

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
        return [d for e in earlier for d in e.deltas or () if d.weight == name and not isinstance(d, RoutedDelta)]


def _damping_of(earlier: Sequence[Edit]) -> Mapping[str, LowRankDelta]:
    """What damps the earlier edits as they stand."""
    return earlier[-1].damping if earlier and isinstance(earlier[-1], StabilisedEdit) else {}
