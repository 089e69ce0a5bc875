"""ES, PS and NS by argmax under teacher forcing (a share of tokens, as EasyEdit reports it)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from evaluation.metrics.base import (
    TRUNCATED,
    Answers,
    CaseMean,
    Normalisation,
    item_without_value,
    row,
    target_values,
)
from evaluation.metrics.fact_texts.probes import Place, argmax_probe, fact_prompts
from schemas.answers import Answer, CaseScores, ItemScore
from schemas.cases import Case
from schemas.probes import ScoreProbe


class MatchedTokens(CaseMean):
    """Share of the wanted object's tokens that are the most probable ones, each after the object's own earlier tokens.

    Teacher forcing: a model that gets the first token wrong is still shown it before the second. So a target of several
    tokens can score without ever being written.
    """

    version: ClassVar[int] = 1
    better: ClassVar[Literal["higher", "lower"]] = "higher"
    place: ClassVar[Place]

    def probes(self, case: Case) -> Sequence[ScoreProbe]:
        """The wanted object after each prompt."""
        return [argmax_probe(case, p, self.place) for p in fact_prompts(case, self.place)]

    def score(self, case: Case, after: Answers, before: Answers, normalisation: Normalisation) -> CaseScores:
        """Matched tokens over tokens. The normalisation changes nothing."""
        items = tuple(matched_share(p, after.get(p.id)) for p in self.probes(case))
        return CaseScores(case=case.key, metric=self.name, items=items)


def matched_share(probe: ScoreProbe, answer: Answer | None) -> ItemScore:
    """Share of a probe's one target whose tokens are the most probable ones; unscored where that was not read."""
    values = target_values(probe, answer, "mean")
    if isinstance(values, str) or answer is None:
        return item_without_value(probe, "no answer" if not isinstance(values, str) else values)
    target = answer.targets[0]
    if target.matched is None:
        return item_without_value(probe, "the answer does not say which tokens are the most probable ones")
    reason = TRUNCATED if answer.truncated else ""
    value = target.matched / target.tokens
    return ItemScore(probe=probe.id, item=probe.item, cluster=probe.cluster, value=value, reason=reason)


ESArgmax = row(
    MatchedTokens,
    name="es_argmax",
    title="ES-argmax",
    about="Efficacy by argmax under teacher forcing: share of the new object's tokens that are the most probable ones",
    place="fact",
)


PSArgmax = row(
    MatchedTokens,
    name="ps_argmax",
    title="PS-argmax",
    about="The same after paraphrases of the fact prompt",
    place="paraphrase",
)


NSArgmax = row(
    MatchedTokens,
    name="ns_argmax",
    title="NS-argmax",
    about="The same of the old object, after prompts about other subjects that have it",
    place="neighbour",
)
