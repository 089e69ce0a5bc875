"""Locality that discriminates: divergence and top-k agreement of next-token distributions, before and after an edit.

Two targets can keep their order while everything around them moves. These metrics look at the whole distribution, after
"Are we evaluating edit locality properly?" (2026); prompts, cells and the numbers of tokens are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from evaluation.metrics.base import (
    NEVER_NEGATIVE,
    TRUNCATED,
    Answers,
    Bounds,
    CaseMean,
    Normalisation,
    item_without_value,
    row,
)
from evaluation.metrics.distribution.next_tokens import agreement, divergence
from evaluation.metrics.distribution.probes import Region, distribution_probes
from schemas.answers import Answer, CaseScores, ItemScore, NextTokens
from schemas.cases import Case
from schemas.probes import ScoreProbe

AGREEING = 10


class DistributionShift(CaseMean):
    """One value for every prompt of a region, from the distributions before and after."""

    version: ClassVar[int] = 1
    region: ClassVar[Region]

    def probes(self, case: Case) -> Sequence[ScoreProbe]:
        """Every prompt of the region."""
        return distribution_probes(case, self.region)

    def value(self, before: NextTokens, after: NextTokens) -> float:
        """The value of a prompt; defined by the metric."""
        raise NotImplementedError

    def score(self, case: Case, after: Answers, before: Answers, normalisation: Normalisation) -> CaseScores:
        """Unscored where either distribution is missing. The normalisation changes nothing."""
        items = tuple(self._item(p, after.get(p.id), before.get(p.id)) for p in self.probes(case))
        return CaseScores(case=case.key, metric=self.name, items=items)

    def _item(self, probe: ScoreProbe, after: Answer | None, before: Answer | None) -> ItemScore:
        now, then = next_tokens_of(after), next_tokens_of(before)
        if isinstance(now, str):
            return item_without_value(probe, now)
        if isinstance(then, str):
            return item_without_value(probe, f"before the edit: {then}")
        cut = any(a is not None and a.truncated for a in (after, before))
        value, reason = self.value(then, now), TRUNCATED if cut else ""
        return ItemScore(probe=probe.id, item=probe.item, cluster=probe.cluster, value=value, reason=reason)


def next_tokens_of(answer: Answer | None) -> NextTokens | str:
    """The most probable next tokens of an answer, or why there are none."""
    if answer is None:
        return "no answer"
    if answer.error is not None:
        return f"{TRUNCATED}: {answer.error}" if answer.truncated else answer.error
    return answer.next_tokens or "the answer holds no next tokens"


class _Divergence(DistributionShift):
    better: ClassVar[Literal["higher", "lower"]] = "lower"
    unit: ClassVar[str] = "nats"
    bounds: ClassVar[Bounds] = NEVER_NEGATIVE
    unedited: ClassVar[float | None] = 0.0

    def value(self, before: NextTokens, after: NextTokens) -> float:
        """Divergence in nats."""
        return divergence(before, after)


class _Agreement(DistributionShift):
    better: ClassVar[Literal["higher", "lower"]] = "higher"
    unedited: ClassVar[float | None] = 1.0

    def value(self, before: NextTokens, after: NextTokens) -> float:
        """Share of the most probable tokens that stay."""
        return agreement(before, after, AGREEING)


# The fact prompt itself: an edit should move it, and an edit back should leave nothing of that.
FactDivergence = row(
    _Divergence,
    name="es_kl",
    title="ES-KL",
    about="KL divergence (nats) of the next token after the fact prompt: what an edit moved, or a revert left",
    region="fact",
)


NSDivergence = row(
    _Divergence,
    name="ns_kl",
    title="NS-KL",
    about="KL divergence (nats) of the next token after neighbour prompts, before to after the edit; a lower bound",
    region="neighbour",
)


NSAgreement = row(
    _Agreement,
    name="ns_top",
    title=f"NS-top{AGREEING}",
    about=f"Share of the {AGREEING} most probable next tokens after neighbour prompts that stay so",
    region="neighbour",
)


ScriptNSDivergence = row(
    _Divergence,
    name="s_ns_kl",
    title="S-NS-KL",
    about="KL divergence (nats) of the next token in scripts of neighbours; a lower bound",
    region="script_neighbour",
)


ScriptNSAgreement = row(
    _Agreement,
    name="s_ns_top",
    title=f"S-NS-top{AGREEING}",
    about=f"Share of the {AGREEING} most probable next tokens in scripts of neighbours that stay so",
    region="script_neighbour",
)


UnrelatedDivergence = row(
    _Divergence,
    name="unrelated_kl",
    title="Unrelated-KL",
    about="KL divergence (nats) of the next token after eight unrelated prompts; a lower bound",
    region="unrelated",
)


UnrelatedAgreement = row(
    _Agreement,
    name="unrelated_top",
    title=f"Unrelated-top{AGREEING}",
    about=f"Share of the {AGREEING} most probable next tokens after unrelated prompts that stay so",
    region="unrelated",
)
