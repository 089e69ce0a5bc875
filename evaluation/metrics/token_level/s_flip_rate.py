"""S-flip: S-ES where the unedited model preferred the old object (ours)."""

from __future__ import annotations

from typing import ClassVar

from evaluation.metrics.base import Answers, Normalisation, item_without_value, target_values
from evaluation.metrics.token_level.probes import ScriptPreference
from schemas.answers import CaseScores
from schemas.cases import Case


class SFlipRate(ScriptPreference):
    """Of the script prompts at which the unedited model preferred the old object: does the edited one prefer the new?

    S-ES also counts prompts at which the model preferred the new object before anything was edited. They have no value
    here, and say why.
    """

    name: ClassVar[str] = "s_flip_rate"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "S-flip"
    about: ClassVar[str] = (
        "Flip rate: of the script prompts at which the unedited model preferred the old object, the share at which "
        "P(new object) > P(old object) after the edit"
    )
    unedited: ClassVar[float | None] = 0.0

    def score(self, case: Case, after: Answers, before: Answers, normalisation: Normalisation) -> CaseScores:
        """As S-ES; unscored where the answer before is missing or did not prefer the old object."""
        items = []
        for probe in self.probes(case):
            then = target_values(probe, before.get(probe.id), normalisation)
            if isinstance(then, str):
                items.append(item_without_value(probe, f"before the edit: {then}"))
            elif then[0] >= then[1]:
                items.append(item_without_value(probe, "the unedited model did not prefer the old object"))
            else:
                items.append(self._item(probe, after.get(probe.id), normalisation))
        return CaseScores(case=case.key, metric=self.name, items=tuple(items))
