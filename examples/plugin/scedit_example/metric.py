"""S-all: the share of cases in which every script prompt prefers the new object."""

from typing import ClassVar, Literal

from evaluation import Preference, script_probe
from schemas import Answer, Case, CaseScores, ItemScore, ScoreProbe


class AllScripts(Preference):
    """Stricter than S-ES: one script that still follows the old object fails the case."""

    name: ClassVar[str] = "s_all"
    version: ClassVar[int] = 1  # raise it when the same answers would give other scores
    title: ClassVar[str] = "S-all"
    about: ClassVar[str] = "P(new object) > P(old object) at every script prompt of the case"
    better: ClassVar[Literal["higher", "lower"]] = "higher"
    wanted: ClassVar[Literal["new", "old"]] = "new"

    def probes(self, case: Case) -> list[ScoreProbe]:
        """Every script prompt of the edited fact: what S-ES asks too, so the model is asked once for both."""
        return [script_probe(case, prompt, purpose="script") for prompt in case.prompts]

    def score(
        self, case: Case, after: dict[str, Answer], before: dict[str, Answer], normalisation: Literal["mean", "sum"]
    ) -> CaseScores:
        """One item a case: 1 when all prompts succeed, 0 when one fails, unscored when one has no value."""
        prompts = super().score(case, after, before, normalisation).items
        if not prompts:
            return CaseScores(case=case.key, metric=self.name, items=())
        values = [item.value for item in prompts]
        missing = next((item.reason for item in prompts if item.value is None), "")
        value = None if None in values else min(v for v in values if v is not None)
        whole = ItemScore(probe=prompts[0].probe, item=case.key, value=value, reason=missing)
        return CaseScores(case=case.key, metric=self.name, items=(whole,))
