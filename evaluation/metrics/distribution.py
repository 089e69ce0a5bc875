"""Locality that discriminates: divergence and top-k agreement of next-token distributions, before and after an edit.

Two targets can keep their order while everything around them moves. These metrics look at the whole distribution, after
"Are we evaluating edit locality properly?" (2026); prompts, cells and the numbers of tokens are ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar, Literal

from typing_extensions import override

from evaluation.metrics.base import (
    NEVER_NEGATIVE,
    TRUNCATED,
    Bounds,
    Metric,
    Normalisation,
    after_and_before,
    item_with_value,
    item_without_value,
    row,
)
from evaluation.metrics.token_level import NS, SNS
from schemas.answers import Answer, ItemScore, NextTokens
from schemas.cases import Case
from schemas.probes import ScoreProbe

TOP = 50
"""Most probable tokens asked for. More of them see more: the divergence can only grow with their number."""

_LEAST = 1e-4  # mass below which a rest is rounding of the stored values (``scoring.DECIMALS``)
_HALVINGS = 60


def divergence(before: NextTokens, after: NextTokens) -> float:
    """Kullback-Leibler divergence of the distribution after from that before, in nats: the least that fits the lists.

    Tokens in both lists are compared one by one. Those that left the list have at most the probability of its last
    token now, and share with all other tokens what the list leaves over; of all distributions that fit, the nearest one
    counts. So the value is exact where the lists hold the whole vocabulary, and never above the truth elsewhere (data
    processing inequality, Cover and Thomas 2006, section 2.8). Masses below 1e-4 count as 1e-4.

    Example:
        >>> flat = NextTokens(ids=(0, 1), logprobs=(math.log(0.5), math.log(0.5)))
        >>> bent = NextTokens(ids=(0, 1), logprobs=(math.log(0.75), math.log(0.25)))
        >>> round(divergence(flat, bent), 4), divergence(flat, flat)
        (0.1438, 0.0)
    """
    now = dict(zip(after.ids, after.logprobs, strict=True))
    both = [(p, now[token]) for token, p in zip(before.ids, before.logprobs, strict=True) if token in now]
    total = math.fsum(math.exp(p) * (p - q) for p, q in both)
    left = [math.exp(p) for token, p in zip(before.ids, before.logprobs, strict=True) if token not in now]
    rest = 1 - math.fsum(math.exp(p) for p in before.logprobs)
    unlisted = max(1 - math.fsum(math.exp(q) for q in after.logprobs), _LEAST)
    arrived = math.fsum(math.exp(q) for q in after.logprobs) - math.fsum(math.exp(q) for _, q in both)
    return max(total + _least_of_rest(left, rest, unlisted, arrived, cap=math.exp(min(after.logprobs, default=0.0))), 0)


def _least_of_rest(left: Sequence[float], rest: float, unlisted: float, arrived: float, *, cap: float) -> float:
    """The least divergence of what is not in both lists.

    Args:
        left: Probabilities before of tokens that left the list; each has at most ``cap`` now.
        rest: Probability before of all tokens outside of the list.
        unlisted: Probability after of all tokens outside of the list: those that left share it with the rest.
        arrived: Probability after of the tokens that came to the list: they belong to the rest.
        cap: Probability of the last token of the list after.
    """
    rest = rest if rest > _LEAST else 0.0

    def shares(scale: float) -> tuple[list[float], float]:
        return [min(cap, p * scale) for p in left], max(max(arrived, 0.0), rest * scale)

    low, high, mass = 0.0, 1 / _LEAST, unlisted + max(arrived, 0.0)
    for _ in range(_HALVINGS if left else 0):
        middle = (low + high) / 2
        mine, others = shares(middle)
        low, high = (middle, high) if math.fsum(mine) + others <= mass else (low, middle)
    mine, _ = shares(low)
    others = max(mass - math.fsum(mine), _LEAST)
    total = math.fsum(p * math.log(p / max(q, _LEAST * p)) for p, q in zip(left, mine, strict=True))
    return total + (rest * math.log(rest / others) if rest else 0.0)


def agreement(before: NextTokens, after: NextTokens, k: int) -> float:
    """Share of the k most probable tokens before that are among the k most probable ones after.

    Example:
        >>> one = NextTokens(ids=(4, 2, 9), logprobs=(-1.0, -2.0, -3.0))
        >>> two = NextTokens(ids=(2, 4, 7), logprobs=(-1.0, -2.0, -3.0))
        >>> agreement(one, two, 1), agreement(one, two, 2), round(agreement(one, two, 3), 2)
        (0.0, 1.0, 0.67)
    """
    first, second = before.ids[:k], set(after.ids[:k])
    return sum(token in second for token in first) / len(first) if first else 1.0


Region = Literal["fact", "neighbour", "script_neighbour", "unrelated"]

UNRELATED = (
    ("To boil an egg, first fill a pot with", "water"),
    ("The days of the week are Monday, Tuesday,", "Wednesday"),
    ("She opened the umbrella because it had started to", "rain"),
    ("How to repair a flat tyre?\nStep 1: Loosen the nuts\nStep 2: Lift the", "car"),
    ("How to plant a tree?\nStep 1: Dig a hole\nStep 2: Fill the hole with", "soil"),
    ("Two plus two is", "four"),
    ("Please close the door when you", "leave"),
    ("He was so tired that he fell asleep on the", "sofa"),
)
"""Prompts written by us with the word that comes next, about nobody and no place; none of them can be edited."""


def distribution_probes(case: Case, region: Region) -> list[ScoreProbe]:
    """The prompts of a region, each asked for the most probable next tokens beside its object."""
    if region == "unrelated":
        return [
            ScoreProbe(purpose=region, item=f"unrelated/{n}", prompt=prompt, targets=(word,), top=TOP)
            for n, (prompt, word) in enumerate(UNRELATED)
        ]
    if region == "fact":
        fact = case.fact
        old, prompt = fact.old.text, fact.fact_prompt
        return [ScoreProbe(purpose=region, item=fact.key, prompt=prompt, targets=(old,), top=TOP)]
    probes = NS().probes(case) if region == "neighbour" else SNS().probes(case)
    return [ScoreProbe.model_validate({**p.model_dump(), "targets": p.targets[1:], "top": TOP}) for p in probes]


AGREEING = 10


class DistributionShift(Metric):
    """One value for every prompt of a region, from the distributions before and after."""

    region: ClassVar[Region]
    value: ClassVar[Callable[[NextTokens, NextTokens], float]]

    @override
    def probes(self, case: Case) -> Sequence[ScoreProbe]:
        return distribution_probes(case, self.region)

    def item_of(
        self, case: Case, probe: ScoreProbe, after: Answer | None, before: Answer | None, normalisation: Normalisation
    ) -> ItemScore:
        """Unscored where either distribution is missing. The normalisation changes nothing."""
        both = after_and_before(next_tokens_of(after), next_tokens_of(before))
        if isinstance(both, str):
            return item_without_value(probe, both)
        now, then = both
        return item_with_value(probe, type(self).value(then, now), after, before)


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
    value = divergence


class _Agreement(DistributionShift):
    unedited: ClassVar[float | None] = 1.0
    value = partial(agreement, k=AGREEING)


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
