"""Probes made from the parts of a case, and what metrics on plain prompts share; equal probes share the answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Literal

from evaluation.metrics.base import Preference
from schemas.cases import Case
from schemas.facts import Fact
from schemas.probes import ScoreProbe
from schemas.scripts import ScriptPrompt


def plain(case: Case, prompt: str, *, purpose: str, item: str, cluster: str | None = None) -> ScoreProbe:
    """A one-line prompt that either object of the edit may follow after a space."""
    targets = (case.fact.new_object.text, case.fact.old.text)
    return ScoreProbe(purpose=purpose, item=item, cluster=cluster, prompt=prompt, targets=targets)


def script(case: Case, prompt: ScriptPrompt, *, purpose: str, cluster: str | None = None) -> ScoreProbe:
    """A script prompt with the targets (new object of the edit, object that stood at the cut).

    The object is scored as the script names it (``targets[0]`` of the prompt: "USA", not "United States"), and the
    new object as the prompt's second target gives it, where it gives one.
    """
    old, *rest = prompt.targets
    return ScoreProbe(
        purpose=purpose,
        item=prompt.key,
        cluster=cluster,
        prompt=prompt.text,
        separator=prompt.separator,
        targets=(rest[0] if rest else case.fact.new_object.text, old),
    )


def own_object(fact: Fact, prompt: ScriptPrompt) -> ScoreProbe:
    """A neighbour's script prompt with the one target that should stay: the neighbour's own object, as mentioned."""
    return ScoreProbe(
        purpose="script_neighbour",
        item=prompt.key,
        cluster=fact.key,
        prompt=prompt.text,
        separator=prompt.separator,
        targets=prompt.targets[:1],
    )


class ScriptPreference(Preference):
    """Is the new object more probable than the old one after the script prompts of the edited fact?"""

    wanted: ClassVar[Literal["new", "old"]] = "new"

    def probes(self, case: Case) -> list[ScoreProbe]:
        """Every script prompt of the edited fact."""
        return [script(case, prompt, purpose="script") for prompt in case.prompts]


class FactPreference(Preference):
    """Is the new object more probable than the old one after plain prompts of the edited fact?

    A subclass says which prompts.
    """

    wanted: ClassVar[Literal["new", "old"]] = "new"
    purpose: ClassVar[str]
    prompts: ClassVar[Callable[[Fact], Sequence[str]]]

    def probes(self, case: Case) -> list[ScoreProbe]:
        """Each prompt with both objects."""
        return [plain(case, p, purpose=self.purpose, item=case.fact.key) for p in type(self).prompts(case.fact)]
