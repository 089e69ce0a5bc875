"""S-BO, Script-based Bleedover (ScEdit Eq. 4)."""

from __future__ import annotations

import math
from typing import ClassVar, Literal

from evaluation.metrics.base import TRUNCATED, Answers, CaseMean, Normalisation, Role, item_without_value, target_values
from evaluation.metrics.token_level.probes import own_object
from schemas.answers import Answer, CaseScores, ItemScore
from schemas.cases import Case
from schemas.probes import ScoreProbe


class SBO(CaseMean):
    """How much probability do near subjects lose on their own objects?

    An item is max(P_before(o_j) - P_after(o_j), 0), where P = exp(log-probability in the stated normalisation): with
    ``mean`` the geometric mean over the object's tokens, with ``sum`` the probability of the whole object. No prompt
    can lose more than P_before, and intervals know it (``bounded.limited_spread``).
    """

    name: ClassVar[str] = "s_bo"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "S-BO"
    about: ClassVar[str] = (
        "Script-based Bleedover: probability that near subjects lose on their own objects, "
        "max(P before - P after, 0) (Eq. 4)"
    )
    better: ClassVar[Literal["higher", "lower"]] = "lower"
    role: ClassVar[Role] = "bleed_over"
    unedited: ClassVar[float | None] = 0.0

    def probes(self, case: Case) -> list[ScoreProbe]:
        """Every script prompt of every near subject, with that subject's own object."""
        near = [n for n in case.neighbours if n.link.how == "near_subject"]
        return [own_object(n.fact, p) for n in near for p in n.prompts]

    def score(self, case: Case, after: Answers, before: Answers, normalisation: Normalisation) -> CaseScores:
        """The loss of each prompt, at least 0; unscored where either answer is missing."""
        items = tuple(_item(p, after.get(p.id), before.get(p.id), normalisation) for p in self.probes(case))
        return CaseScores(case=case.key, metric=self.name, items=items)


def _item(probe: ScoreProbe, after: Answer | None, before: Answer | None, normalisation: Normalisation) -> ItemScore:
    now = target_values(probe, after, normalisation)
    if isinstance(now, str):
        return item_without_value(probe, now)
    then = target_values(probe, before, normalisation)
    if isinstance(then, str):
        return item_without_value(probe, f"before the edit: {then}")
    held = math.exp(then[0])
    cut = any(a is not None and a.truncated for a in (after, before))
    return ItemScore(
        probe=probe.id,
        item=probe.item,
        cluster=probe.cluster,
        value=max(held - math.exp(now[0]), 0.0),
        largest=held,
        reason=TRUNCATED if cut else "",
    )
