"""UltraEdit (Gu et al. 2025, "Training-, Subject-, and Memory-Free Lifelong Editing"): one gradient, normalised."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import torch
from pydantic import Field, field_validator
from torch import Tensor
from typing_extensions import override

from evaluation.editors.base import Editor, FactFormat, check_requests, norm_notes
from evaluation.editors.hypernetwork.gradients import gradients
from evaluation.editors.target_texts import TargetBatch, fact_texts
from evaluation.edits.edit import CarryingEdit, Edit, carried_by
from evaluation.edits.weight_deltas import LowRankDelta
from schemas.cases import Case
from schemas.core.errors import UserError
from schemas.facts import Fact

_LEAST_DEVIATION = 1e-12  # a feature that never varies is 0 after normalisation


class FeatureStatistics(NamedTuple):
    """What is known of rows seen so far.

    Attributes:
        n: Rows.
        mean: [features], float64.
        squares: [features], float64: sum of squared deviations from the mean.
    """

    n: int
    mean: Tensor
    squares: Tensor

    @classmethod
    def of(cls, rows: Tensor) -> FeatureStatistics:
        """Those of rows [n, features].

        Example:
            >>> import torch
            >>> known = FeatureStatistics.of(torch.tensor([[1.0], [2.0], [6.0]]))
            >>> known.n, float(known.mean), float(known.squares)
            (3, 3.0, 14.0)
        """
        exact = rows.double()
        mean = exact.mean(0)
        return cls(len(exact), mean, (exact - mean).square().sum(0))

    @classmethod
    def total(cls, parts: Iterable[FeatureStatistics]) -> FeatureStatistics:
        """Those of all rows of all parts (Chan, Golub and LeVeque 1979).

        Example:
            >>> import torch
            >>> a, b = FeatureStatistics.of(torch.tensor([[1.0], [2.0]])), FeatureStatistics.of(torch.tensor([[6.0]]))
            >>> float(FeatureStatistics.total([a, b]).squares)
            14.0
        """
        first, *rest = parts
        count, mean, squares = first
        for part in rest:
            gap, whole = part.mean - mean, count + part.n
            squares = squares + part.squares + gap.square() * (count * part.n / whole)
            mean, count = mean + gap * (part.n / whole), whole
        return cls(count, mean, squares)

    def normalise(self, rows: Tensor) -> Tensor:
        """z-scores of rows [n, features], float64, with the variance over ``n - 1``."""
        deviation = (self.squares / max(1, self.n - 1)).sqrt()
        steady = deviation <= _LEAST_DEVIATION
        scores = (rows.double() - self.mean) / deviation.masked_fill(steady, 1.0)
        return scores.masked_fill(steady, 0.0)


ROWS = 32  # requests of one pass
_USUAL_TOKENS = 4  # of a target, for what an edit weighs before it is made

Features = dict[int, tuple[Tensor, Tensor]]
"""By layer: keys [tokens, inner] and output gradients [tokens, width] where the target's tokens are predicted."""


class UltraEdit(Editor):
    """Normalised gradients as wished changes of a layer's output, written by regularised least squares.

    For keys K and output gradients of the target's tokens, z-scores over all tokens seen so far give
    v = -lr |k^|² g^ for each token, and the change is (K'K + I)⁻¹K'V (§3.2), here as K'(KK' + I)⁻¹V: the same, of rank
    n tokens. Statistics begin with those of the support, so that a single edit of one token is defined (the variance
    of one row is not); in a sequence those of earlier edits are added (``edit_after``).
    """

    name: ClassVar[str] = "ultraedit"
    edits_mlp: ClassVar[bool] = True
    about: ClassVar[str] = "one normalised gradient, solved for a low-rank change; no training (UltraEdit)"
    needs: ClassVar[str] = "support: a few cases whose features it starts its statistics from"
    costs: ClassVar[str] = "one forward and backward pass; as many once for the support"

    class Params(FactFormat):
        """Options of UltraEdit.

        Attributes:
            layers: Edited layers (MLP output projections), from 0.
            lr: Strength of the wished change (published: 1e-6, where keys have 14,336 features; it counts |k^|², which
                grows with them).
            support_cases: Cases of the support that the statistics begin with, at most.
        """

        layers: tuple[int, ...] = Field(min_length=1)
        lr: float = Field(default=1e-6, gt=0)
        support_cases: int = Field(default=64, ge=1)

        @field_validator("layers")
        @classmethod
        def _check_each_once(cls, layers: tuple[int, ...]) -> tuple[int, ...]:
            if len(set(layers)) < len(layers) or min(layers) < 0:
                raise ValueError("name each layer once, from 0")
            return tuple(sorted(layers))

    params: Params
    _support: Mapping[int, FeatureStatistics] | None = None

    @classmethod
    @override
    def wants_support(cls, options: Mapping[str, Any]) -> bool:
        return True

    @property
    def bytes_an_edit(self) -> int:
        """As for every low-rank change, with a column for each token of a usual target."""
        return _USUAL_TOKENS * super().bytes_an_edit

    @override
    def prepare(self, support: Sequence[Case]) -> None:
        facts = [case.fact for case in support[: self.params.support_cases] if case.fact.new is not None]
        if not facts:
            raise UserError(
                "ultraedit starts its statistics from other facts, and there are none",
                where="support",
                fix="declare support in the run's configuration, such as support = 'shipped'",
            )
        of_facts = self._features(facts)
        self._support = {
            n: FeatureStatistics.total(_statistics(features[n]) for features in of_facts) for n in self.params.layers
        }

    @override
    def edit(self, requests: Sequence[Fact]) -> Edit:
        return self._write([self._joined(check_requests(requests))], ())[0]

    def edit_after(self, requests: Sequence[Fact], earlier: Sequence[Edit]) -> Edit:
        """One edit for all requests; statistics hold the features of all ``earlier`` ones too."""
        return self._write([self._joined(check_requests(requests))], earlier)[0]

    def edit_each(self, requests: Sequence[Fact]) -> list[Edit]:
        """Independent edits; the gradients of many come from one pass."""
        return self._write(self._features(check_requests(requests)), ()) if requests else []

    def _joined(self, requests: Sequence[Fact]) -> Features:
        """Features of all requests as those of one edit."""
        of_requests = self._features(requests)
        return {
            n: (torch.cat([f[n][0] for f in of_requests]), torch.cat([f[n][1] for f in of_requests]))
            for n in self.params.layers
        }

    def _features(self, facts: Sequence[Fact]) -> list[Features]:
        """Features of each fact's target after its prompt, in the model as it is."""
        texts = fact_texts(self.lm, facts)
        maps = {n: self.lm.layout.projection(n) for n in self.params.layers}
        out: list[Features] = []
        for start in range(0, len(texts), ROWS):
            chunk = texts[start : start + ROWS]
            pairs = gradients(list(maps.values()), TargetBatch(self.lm, chunk, min(maps)))
            for row, text in enumerate(chunk):
                places = slice(text.end, len(text.ids))  # where each target token is predicted
                out.append({n: (pairs[m].u[row, places], pairs[m].delta[row, places]) for n, m in maps.items()})
        return out

    @torch.no_grad()
    def _write(self, groups: Sequence[Features], earlier: Sequence[Edit]) -> list[Edit]:
        """An edit for every group; groups do not influence each other."""
        before = carried_by(earlier) or self._support
        if before is None:
            raise UserError("ultraedit was not prepared", fix="call prepare(support) first")
        return [self._edit_of(features, before) for features in groups]

    def _edit_of(self, features: Features, before: Mapping[int, FeatureStatistics]) -> Edit:
        """The edit of these features; later ones go on from its statistics."""
        deltas, totals = [], {}
        for n, (keys, slopes) in features.items():
            totals[n] = FeatureStatistics.total([before[n], _statistics((keys, slopes))])
            left, right = solve(keys, slopes, totals[n], lr=self.params.lr)
            deltas.append(LowRankDelta(self.lm.layout.weight(n), left.float(), right.float()))
        (notes,) = norm_notes(self.lm.model, [deltas])
        notes["tokens"] = len(next(iter(features.values()))[0])
        return CarryingEdit(tuple(deltas), notes, totals)


def solve(keys: Tensor, slopes: Tensor, known: FeatureStatistics, *, lr: float) -> tuple[Tensor, Tensor]:
    """The change V'(KK' + I)⁻¹K as left [width, tokens] and right [inner, tokens], float64.

    Args:
        keys: K, [tokens, inner].
        slopes: Output gradients, [tokens, width].
        known: Statistics of keys and slopes side by side.
        lr: Strength.
    """
    exact = keys.double()
    inner = exact.shape[1]
    scores = known.normalise(torch.cat([exact, slopes.double()], 1))
    wished = -lr * scores[:, :inner].square().sum(1, keepdim=True) * scores[:, inner:]
    gram = exact @ exact.T + torch.eye(len(exact), dtype=torch.float64, device=exact.device)
    return wished.T.contiguous(), torch.linalg.solve(gram, exact).T.contiguous()


def _statistics(pair: tuple[Tensor, Tensor]) -> FeatureStatistics:
    return FeatureStatistics.of(torch.cat(pair, 1))
