"""Does the place where a script was cut lead to its object, and does a word right before it give the object away?

ScEdit's reviewers asked "whether the truncation positions effectively guided the generation of the target object"
(Appendix B.2.2). Here a model, unedited, says how it ranks the old object there among the objects of the relation, and
with which odds; beside it stands the same under the fact's plain prompt, so that a fact which the model never knew is
told from a place that leads nowhere. What an article or a verb's number adds is measured by swapping it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import log
from typing import NamedTuple

from pydantic import PositiveInt

from curation.checks.store_checks import CheckContext
from evaluation.checks.base import ModelParams, PromptCheck, no_other, other_objects
from evaluation.checks.known_before import rank
from evaluation.checks.predictability import odds
from schemas.answers import Answer
from schemas.core.records import Record
from schemas.facts import Fact
from schemas.probes import ScoreProbe
from schemas.scripts import ScriptPrompt
from schemas.verdicts import Span, Verdict

_SWAPS = {"a": "an", "an": "a", "the": "", "is": "are", "are": "is", "was": "were", "were": "was", "this": "these",
          "these": "this", "that": "those", "those": "that"}  # fmt: skip
_LAST = re.compile(rf"(?<=\s)({'|'.join(_SWAPS)})\Z", re.IGNORECASE)


class SwappedWord(NamedTuple):
    """A word right before the cut that fits some objects only: its place, and the prompt with its counterpart."""

    start: int
    word: str
    instead: str
    prompt: str


def swapped_word(text: str) -> SwappedWord | None:
    r"""The article or number word at the end of a prompt, and the prompt with the other one; None where there is none.

    Example:
        >>> swapped_word("How to work like Ann?\nStep 1: Become an").prompt.rsplit(" ", 2)[1:]
        ['Become', 'a']
        >>> swapped_word("Fly to") is None
        True
    """
    match = _LAST.search(text)
    if match is None:
        return None
    word = match.group()
    instead = _SWAPS[word.casefold()]
    instead = instead.capitalize() if word[0].isupper() else instead
    return SwappedWord(match.start(), word, instead, (text[: match.start()] + instead).rstrip(" "))


class CutGuidance(PromptCheck):
    """Log-odds of the old object at the cut against the relation's other objects, beside those under the fact prompt.

    The new object is one of the others. Nothing is dropped: a split's rule sets the bound.
    """

    name = "cut_guidance"
    version = 1
    about = "log-odds and rank of the old object where the script was cut, beside its plain prompt (does it guide?)"

    class Params(ModelParams):
        """Settings.

        Attributes:
            rivals: The most other objects of the relation to compare with.
        """

        rivals: PositiveInt = 50

    def ask(self, prompt: ScriptPrompt, fact: Fact, around: CheckContext) -> list[ScoreProbe] | str:
        """The script prompt, and the fact prompt, with the same objects."""
        others = other_objects(fact, around, limit=self.params.rivals)
        if not others:
            return no_other(fact)
        cut = ScoreProbe(
            purpose="check",
            item=prompt.key,
            prompt=prompt.text,
            separator=prompt.separator,
            targets=(prompt.targets[0], *others),
        )
        plain = ScoreProbe(purpose="check", item=fact.key, prompt=fact.fact_prompt, targets=(fact.old.text, *others))
        return [cut, plain]

    def measured(self, item: Record, probes: Sequence[ScoreProbe], answers: Sequence[Answer]) -> Verdict:
        """Bits at the cut; ranks, and the bits under the plain prompt, are in the reason."""
        (cut, plain), among = answers, len(probes[0].targets)
        ranks = [rank(answer, normalisation="sum") for answer in answers]
        reason = (
            f"at the cut {probes[0].targets[0]!r} ranks {ranks[0]} of {among} ({odds(cut):+.2f} bits), under the plain "
            f"prompt {ranks[1]} of {among} ({odds(plain):+.2f} bits)"
        )
        return self.verdict(item, None, reason, value=round(odds(cut), 6), unit="bits")


class TellingWord(PromptCheck):
    """Bits that an article, or a word's number, right before the cut adds to the old object against the new one."""

    name = "telling_word"
    version = 1
    about = "bits that an article or number right before the cut adds to the old object against the new, by swapping"

    def ask(self, prompt: ScriptPrompt, fact: Fact, around: CheckContext) -> list[ScoreProbe] | str:
        """The prompt as it is and with the word swapped; nothing where there is none, or no new object."""
        swapped = swapped_word(prompt.text)
        if swapped is None or fact.new is None:
            return []
        targets = (prompt.targets[0], fact.new.text)
        return [
            ScoreProbe(purpose="check", item=prompt.key, prompt=text, separator=prompt.separator, targets=targets)
            for text in (prompt.text, swapped.prompt)
        ]

    def measured(self, item: Record, probes: Sequence[ScoreProbe], answers: Sequence[Answer]) -> Verdict:
        """The difference of the two log-odds, with the word as its place."""
        assert isinstance(item, ScriptPrompt)
        if not probes:
            return self.verdict(item, "keep", "no article or number before the cut fits some objects only")
        swapped = swapped_word(item.text)
        assert swapped is not None
        here, there = [(a.targets[0].logprob - a.targets[1].logprob) / log(2) for a in answers]
        instead = f"'{swapped.instead}'" if swapped.instead else "nothing"
        reason = f"'{swapped.word}' instead of {instead} adds {here - there:+.2f} bits to {probes[0].targets[0]!r}"
        span = Span(start=swapped.start, end=len(item.text), text=swapped.word, what="telling word")
        return self.verdict(item, None, reason, value=round(here - there, 6), unit="bits", spans=[span])
