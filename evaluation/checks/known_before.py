"""Known before the edit: does the model, unedited, put the old object first among the relation's objects?

An edit of a fact that the model never knew overwrites nothing, so the two kinds of edits are better told apart. Two
checks: one ranks over a fact's plain prompts (its fact prompt and paraphrases), one over each script prompt.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from curation.checks.store_checks import CheckContext
from evaluation.checks.base import ModelCheck, ModelParams, problem, rivals
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


class _KnownCheck(ModelCheck):
    class Params(ModelParams):
        """Settings.

        Attributes:
            rivals: The most other objects of the relation that the old one is ranked among.
            normalisation: ``sum``: the probability of the whole object; ``mean``: per token, which helps long objects.
        """

        rivals: int = 50
        normalisation: Literal["sum", "mean"] = "sum"

    def probes(self, item: Record, around: CheckContext) -> list[ScoreProbe] | str:
        raise NotImplementedError

    def ranked(
        self, items: Sequence[Record], around: CheckContext
    ) -> Iterator[tuple[Record, list[tuple[ScoreProbe, int]] | str]]:
        """Every item with its prompts' ranks, or with why there are none."""
        probe_lists = [self.probes(item, around) for item in items]
        flat = [probe for one in probe_lists if not isinstance(one, str) for probe in one]
        answers = iter(self.lm.score(flat) if flat else [])
        for item, one in zip(items, probe_lists, strict=True):
            if isinstance(one, str):
                yield item, one
                continue
            item_answers = [next(answers) for _ in one]
            ranks = [rank(a, normalisation=self.params.normalisation) for a in item_answers if not a.error]
            yield item, problem(*item_answers) or list(zip(one, ranks, strict=True))

    def cost(self, items: Sequence[Record], around: CheckContext) -> Mapping[str, Any]:
        """Objects to score."""
        probe_lists = [self.probes(item, around) for item in items]
        return {"scored objects": sum(len(p.targets) for one in probe_lists if not isinstance(one, str) for p in one)}

    def targets(self, fact: Fact, old: str, around: CheckContext) -> tuple[str, ...]:
        """The old object, then those it is ranked among (the new one is one of them)."""
        apart = [fact.new] if fact.new else []
        others = rivals(fact, around.objects[fact.relation.id], limit=self.params.rivals - len(apart), apart=apart)
        return (old, *(one.text for one in (*apart, *others)))


class KnownBefore(_KnownCheck):
    """Share of a fact's plain prompts under which the unedited model ranks the old object first."""

    name = "known_before"
    version = 1
    on = "fact"
    about = "share of a fact's plain prompts under which the unedited model ranks the old object first"

    def probes(self, item: Record, around: CheckContext) -> list[ScoreProbe] | str:
        """One probe for the fact prompt and for every paraphrase."""
        assert isinstance(item, Fact)
        targets = self.targets(item, item.old.text, around)
        if len(targets) == 1:
            return f"no other object of the relation {item.relation.id} is in the store"
        texts = dict.fromkeys((item.fact_prompt, *item.paraphrases))
        return [ScoreProbe(purpose="check", item=item.key, prompt=text, targets=targets) for text in texts]

    def judge(self, items: Sequence[Record], around: CheckContext) -> Iterator[Verdict]:
        """A share a fact, with the ranks as the reason."""
        for item, outcome in self.ranked(items, around):
            if isinstance(outcome, str):
                yield self.verdict(item, "unscored", outcome)
                continue
            ranks = [place for _, place in outcome]
            share = sum(place == 1 for place in ranks) / len(ranks)
            among = len(outcome[0][0].targets)
            reason = f"the old object ranks {', '.join(map(str, ranks))} of {among} under {len(ranks)} plain prompts"
            yield self.verdict(item, None, reason, value=round(share, 6), unit="share")


class KnownInScript(_KnownCheck):
    """Rank of the old object under a script prompt, for the unedited model."""

    name = "known_in_script"
    version = 1
    on = "prompt"
    about = "rank of the object that a script prompt was cut before, for the unedited model (1: known)"

    def probes(self, item: Record, around: CheckContext) -> list[ScoreProbe] | str:
        """The script prompt itself; the object is written as the script mentions it."""
        assert isinstance(item, ScriptPrompt)
        fact = around.facts.get(item.fact)
        if fact is None:
            return f"the fact '{item.fact}' is not in the store"
        targets = self.targets(fact, item.targets[0], around)
        if len(targets) == 1:
            return f"no other object of the relation {fact.relation.id} is in the store"
        return [ScoreProbe(purpose="check", item=item.key, prompt=item.text, separator=item.separator, targets=targets)]

    def judge(self, items: Sequence[Record], around: CheckContext) -> Iterator[Verdict]:
        """A rank a prompt."""
        for item, outcome in self.ranked(items, around):
            if isinstance(outcome, str):
                yield self.verdict(item, "unscored", outcome)
                continue
            ((probe, place),) = outcome
            reason = f"{probe.targets[0]!r} ranks {place} of {len(probe.targets)} objects of the relation"
            yield self.verdict(item, None, reason, value=float(place), unit="rank")
