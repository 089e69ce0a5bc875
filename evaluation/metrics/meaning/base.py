"""What metrics of meaning share: several probes make one item, and every one of them must come out right.

An edit that only raises an object's tokens passes one side of each item and fails the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, NamedTuple

from evaluation.metrics.base import TRUNCATED, Answers, CaseMean, Normalisation, item_without_value, target_values
from schemas.answers import CaseScores, ItemScore
from schemas.cases import Case
from schemas.probes import ScoreProbe


class AskedPrompt(NamedTuple):
    """A prompt about the edited fact, with the objects as they would stand after it.

    Attributes:
        item: The record that it comes from.
        text: The prompt, without the separator.
        separator: What stands between prompt and object.
        new: The new object, as this prompt names it.
        old: The old one.
    """

    item: str
    text: str
    separator: str
    new: str
    old: str


def plain_prompts(case: Case) -> list[AskedPrompt]:
    """The fact prompt."""
    fact = case.fact
    return [AskedPrompt(fact.key, fact.fact_prompt, " ", fact.new_object.text, fact.old.text)]


def script_prompts(case: Case) -> list[AskedPrompt]:
    """The script prompts of the edited fact."""
    new = case.fact.new_object.text
    return [AskedPrompt(p.key, p.text, p.separator, (p.targets[1:2] or (new,))[0], p.targets[0]) for p in case.prompts]


class JointItem(CaseMean):
    """Share of prompts at which every question asked about them has the right answer.

    Every probe has two targets, and the first one should be strictly more probable. One item a prompt, under the id of
    its first probe; it is unscored where one of its probes is.
    """

    version: ClassVar[int] = 1
    better: ClassVar[Literal["higher", "lower"]] = "higher"
    in_scripts: ClassVar[bool] = False

    def questions(self, prompt: AskedPrompt) -> Sequence[ScoreProbe]:
        """The probes of one prompt, the right target first; defined by the metric."""
        raise NotImplementedError

    def groups(self, case: Case) -> list[Sequence[ScoreProbe]]:
        """The probes of every prompt."""
        return [self.questions(p) for p in (script_prompts(case) if self.in_scripts else plain_prompts(case))]

    def probes(self, case: Case) -> list[ScoreProbe]:
        """All of them."""
        return [probe for group in self.groups(case) for probe in group]

    def score(self, case: Case, after: Answers, before: Answers, normalisation: Normalisation) -> CaseScores:
        """1 where all probes of a prompt prefer their first target; a tie is none and is counted."""
        items = tuple(_joint_score(group, after, normalisation) for group in self.groups(case))
        return CaseScores(case=case.key, metric=self.name, items=items)

    def ask(self, prompt: AskedPrompt, text: str, targets: tuple[str, str], *, separator: str = " ") -> ScoreProbe:
        """One probe of a prompt."""
        return ScoreProbe(purpose=self.name, item=prompt.item, prompt=text, separator=separator, targets=targets)


def _joint_score(group: Sequence[ScoreProbe], after: Answers, normalisation: Normalisation) -> ItemScore:
    first, won, tie, cut = group[0], True, False, False
    for probe in group:
        answer = after.get(probe.id)
        values = target_values(probe, answer, normalisation)
        if isinstance(values, str):
            return item_without_value(first, values)
        right, wrong = values
        won, tie = won and right > wrong, tie or right == wrong
        cut = cut or (answer is not None and answer.truncated)
    reason = TRUNCATED if cut else ""
    return ItemScore(probe=first.id, item=first.item, cluster=first.cluster, value=float(won), tie=tie, reason=reason)
