"""Known before the edit: does the model, unedited, put the old object first among the relation's objects?

An edit of a fact that the model never knew overwrites nothing, so the two kinds of edits are better told apart. Two
checks: one ranks over a fact's plain prompts (its fact prompt and paraphrases), one over each script prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import PositiveInt
from typing_extensions import override

from curation.checks.store_checks import CheckContext
from evaluation.checks.base import MeasuredCheck, ModelParams, PromptCheck, no_other, other_objects
from schemas.answers import Answer
from schemas.core.records import Record
from schemas.facts import Fact
from schemas.probes import ScoreProbe
from schemas.scripts import ScriptPrompt
from schemas.verdicts import Verdict


def rank(answer: Answer, *, normalisation: str) -> int:
    """Rank of the first target among all, 1 for the most probable; a tie counts against it.

    Example:
        >>> from schemas.answers import TargetScore as T
        >>> rank(Answer(probe="p", targets=(T(text="a", logprob=-2, tokens=1), T(text="b", logprob=-1, tokens=1))),
        ...      normalisation="sum")
        2
    """
    first, *others = [target.value(normalisation) for target in answer.targets]
    return 1 + sum(value >= first for value in others)


class _KnownParams(ModelParams):
    """Settings.

    Attributes:
        rivals: The most other objects of the relation that the old one is ranked among.
        normalisation: ``sum``: the probability of the whole object; ``mean``: per token, which helps long objects.
    """

    rivals: PositiveInt = 50
    normalisation: Literal["sum", "mean"] = "sum"


class KnownBefore(MeasuredCheck):
    """Share of a fact's plain prompts under which the unedited model ranks the old object first."""

    name = "known_before"
    version = 1
    on = "fact"
    about = "share of a fact's plain prompts under which the unedited model ranks the old object first"

    class Params(_KnownParams):
        """Settings."""

    @override
    def probes(self, item: Record, around: CheckContext) -> list[ScoreProbe] | str:
        assert isinstance(item, Fact)
        others = other_objects(item, around, limit=self.params.rivals)
        if not others:
            return no_other(item)
        targets, texts = (item.old.text, *others), dict.fromkeys((item.fact_prompt, *item.paraphrases))
        return [ScoreProbe(purpose="check", item=item.key, prompt=text, targets=targets) for text in texts]

    @override
    def measured(self, item: Record, probes: Sequence[ScoreProbe], answers: Sequence[Answer]) -> Verdict:
        ranks = [rank(answer, normalisation=self.params.normalisation) for answer in answers]
        share, among = sum(place == 1 for place in ranks) / len(ranks), len(probes[0].targets)
        reason = f"the old object ranks {', '.join(map(str, ranks))} of {among} under {len(ranks)} plain prompts"
        return self.verdict(item, None, reason, value=round(share, 6), unit="share")


class KnownInScript(PromptCheck):
    """Rank of the old object under a script prompt, for the unedited model."""

    name = "known_in_script"
    version = 1
    about = "rank of the object that a script prompt was cut before, for the unedited model (1: known)"

    class Params(_KnownParams):
        """Settings."""

    def ask(self, prompt: ScriptPrompt, fact: Fact, around: CheckContext) -> list[ScoreProbe] | str:
        """The script prompt itself; the object is written as the script mentions it."""
        others = other_objects(fact, around, limit=self.params.rivals)
        if not others:
            return no_other(fact)
        targets = (prompt.targets[0], *others)
        return [
            ScoreProbe(
                purpose="check", item=prompt.key, prompt=prompt.text, separator=prompt.separator, targets=targets
            )
        ]

    def measured(self, item: Record, probes: Sequence[ScoreProbe], answers: Sequence[Answer]) -> Verdict:
        """A rank a prompt."""
        (probe,), (answer,) = probes, answers
        place = rank(answer, normalisation=self.params.normalisation)
        reason = f"{probe.targets[0]!r} ranks {place} of {len(probe.targets)} objects of the relation"
        return self.verdict(item, None, reason, value=float(place), unit="rank")
