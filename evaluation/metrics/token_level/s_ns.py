"""S-NS, Script-based Neighbour Success (ScEdit Eq. 3)."""

from __future__ import annotations

from typing import ClassVar, Literal

from evaluation.metrics.base import Preference, Role
from schemas.cases import Case, CaseNeighbour
from schemas.probes import ScoreProbe


class SNS(Preference):
    """In scripts about other subjects that share the old object, does it stay ahead of the new one?"""

    name: ClassVar[str] = "s_ns"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "S-NS"
    about: ClassVar[str] = (
        "Script-based Neighbour Success: in scripts about other subjects with the old object, "
        "P(old object) > P(new object) (Eq. 3)"
    )
    role: ClassVar[Role] = "script_locality"
    wanted: ClassVar[Literal["new", "old"]] = "old"

    def probes(self, case: Case) -> list[ScoreProbe]:
        """Every script prompt of every neighbour fact with the old object; the neighbour is a second cluster."""
        return [p for n in case.neighbours if n.link.how == "same_object" for p in self._probes_of(case, n)]

    def _probes_of(self, case: Case, neighbour: CaseNeighbour) -> list[ScoreProbe]:
        return [
            ScoreProbe(
                purpose="script_neighbour",
                item=p.key,
                cluster=neighbour.fact.key,
                prompt=p.text,
                separator=p.separator,
                targets=(case.fact.new_object.text, p.targets[0]),
            )
            for p in neighbour.prompts
        ]
