"""Collapse: does the edited model still predict plain English?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Literal

from evaluation.metrics.base import TRUNCATED, Answers, CaseMean, Normalisation, item_without_value, target_values
from schemas.answers import Answer, CaseScores, ItemScore
from schemas.cases import AnyCase
from schemas.probes import ScoreProbe

FACTOR = 10.0
"""So many times the perplexity of the unedited model counts as collapse."""

PROMPT = "On Saturday mornings the market opens before sunrise."
TEXT = (
    "Farmers unload boxes of apples, carrots and bread from their vans, while the first customers walk between the "
    "tables and compare prices. By noon most of the vegetables are gone, and children share a bag of warm chestnuts on "
    "the steps of the old library."
)
"""The fixed text, written by us; it names nothing that could be edited."""


class Collapse(CaseMean):
    """Did the edit raise the perplexity of a fixed text tenfold?

    Perplexity is per token, from the text's log-probability after its first sentence; edits that rewrite prompts put
    their words before it.
    """

    name: ClassVar[str] = "collapse"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Collapse"
    about: ClassVar[str] = f"Share of edits that raise the perplexity of a fixed text {FACTOR:.0f} times"
    better: ClassVar[Literal["higher", "lower"]] = "lower"
    unedited: ClassVar[float | None] = 0.0
    takes: ClassVar[tuple[str, ...]] = ("fact", "event", "document")

    def probes(self, case: AnyCase) -> Sequence[ScoreProbe]:
        """The fixed text: the same for every case."""
        return [ScoreProbe(purpose="fixed_text", item="fixed_text", prompt=PROMPT, targets=(TEXT,))]

    def score(self, case: AnyCase, after: Answers, before: Answers, normalisation: Normalisation) -> CaseScores:
        """1 for a collapse; unscored where either answer is missing."""
        items = tuple(_item(p, after.get(p.id), before.get(p.id)) for p in self.probes(case))
        return CaseScores(case=case.key, metric=self.name, items=items)


def perplexity(probe: ScoreProbe, answer: Answer | None) -> float | str:
    """Perplexity of the probe's target per token, or why there is none."""
    values = target_values(probe, answer, "mean")
    return values if isinstance(values, str) else math.exp(min(-values[0], 700.0))


def _item(probe: ScoreProbe, after: Answer | None, before: Answer | None) -> ItemScore:
    now, then = perplexity(probe, after), perplexity(probe, before)
    if isinstance(now, str):
        return item_without_value(probe, now)
    if isinstance(then, str):
        return item_without_value(probe, f"before the edit: {then}")
    cut = any(a is not None and a.truncated for a in (after, before))
    value = float(now >= FACTOR * then)
    return ItemScore(probe=probe.id, item=probe.item, value=value, reason=TRUNCATED if cut else "")
