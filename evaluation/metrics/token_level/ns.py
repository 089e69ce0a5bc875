"""NS, Neighbourhood Success on plain prompts (as CounterFact)."""

from __future__ import annotations

from typing import ClassVar, Literal

from evaluation.metrics.base import Preference, Role
from evaluation.metrics.token_level.probes import plain
from schemas.cases import Case
from schemas.probes import ScoreProbe


class NS(Preference):
    """Do other subjects that have the old object keep it?"""

    name: ClassVar[str] = "ns"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "NS"
    about: ClassVar[str] = (
        "Neighbourhood Success: other subjects that have the old object, P(old object) > P(new object)"
    )
    role: ClassVar[Role] = "locality"
    wanted: ClassVar[Literal["new", "old"]] = "old"

    def probes(self, case: Case) -> list[ScoreProbe]:
        """The source's neighbour prompts, then the fact prompts of linked facts that share the old object."""
        linked = [n.fact for n in case.neighbours if n.link.how == "same_object"]
        neighbour_probes = [
            plain(case, p, purpose="neighbour", item=case.fact.key) for p in case.fact.neighbour_prompts
        ]
        neighbour_probes += [plain(case, f.fact_prompt, purpose="neighbour", item=f.key, cluster=f.key) for f in linked]
        return list({p.id: p for p in reversed(neighbour_probes)}.values())[
            ::-1
        ]  # a linked fact may also be given as a prompt
