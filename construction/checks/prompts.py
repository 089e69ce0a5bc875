"""Checks of scripts and of the prompts that are cut from them."""

from __future__ import annotations

import re
from typing import ClassVar

from typing_extensions import override

from construction.checks.base import CheckInputs, LeakCheck, RuleCheck, Stage
from construction.scripts.truncation import first_cut
from schemas.scripts import MAX_STEPS, MAX_WORDS, words
from schemas.text.control_tokens import control_token
from schemas.verdicts import Span, Verdict


def complaint(steps: tuple[str, ...]) -> str | None:
    """What is wrong with the steps of a reply, or None.

    Example:
        >>> complaint(("Walk home",)) is None
        True
        >>> complaint(("Step by step walk all the way back home",))
        'step 1 has 9 words, 7 are allowed'
    """
    if not steps:
        return "the reply holds no step"
    if len(steps) > MAX_STEPS:
        return f"{len(steps)} steps, {MAX_STEPS} are allowed"
    for number, step in enumerate(steps, 1):
        if token := control_token(step):
            return f"step {number} holds the control token {token}"
        if words(step) > MAX_WORDS:
            return f"step {number} has {words(step)} words, {MAX_WORDS} are allowed"
    return None


class ScriptFormatCheck(RuleCheck):
    """Drop steps that break the format: more than nine, or one of eight words or more (Appendix A).

    Such steps cannot be stored as a script, so a ``drop`` stands on the question that they should have answered; a
    ``keep`` stands on the script.
    """

    name: ClassVar[str] = "script_format"
    version: ClassVar[int] = 3
    on: ClassVar[Stage] = "draft"
    about: ClassVar[str] = "do the steps of the reply keep the format of a script?"

    def judge_one(self, inputs: CheckInputs) -> Verdict:
        """The verdict on the script where there is one, else on its question."""
        assert inputs.question is not None
        wrong = complaint(inputs.draft)
        if wrong is not None:
            return self.verdict(inputs.question, "drop", f"no script in the format: {wrong}")
        return self.verdict(inputs.script or inputs.question, "keep")


class NoMention(RuleCheck):
    """Drop a script without the old object or an alias of it: "truncation impossible" (Appendix B.2.1).

    Where the only place to cut at may be another word ("turkey" for Turkey), the script is ``unsure``.
    """

    name: ClassVar[str] = "no_mention"
    version: ClassVar[int] = 8
    on: ClassVar[Stage] = "script"
    about: ClassVar[str] = "does the script mention the old object, so that it can be cut?"

    @override
    def judge_one(self, inputs: CheckInputs) -> Verdict:
        question, script, fact = inputs.question, inputs.script, inputs.fact
        assert question is not None and script is not None
        cut = first_cut(question.text, script.steps, fact)
        if cut is None:
            return self.verdict(script, "drop", f"no step mentions the old object ('{fact.old.text}'): nothing to cut")
        m = cut.mention
        spans = [Span(start=m.start, end=m.end, text=m.text, what="old object")]
        if cut.doubt:
            return self.verdict(script, "unsure", f"cut at a doubtful place: {cut.doubt}", spans=spans)
        return self.verdict(script, "keep", spans=spans)


_ARTICLE = re.compile(r"(?<![\w'’-])(?P<article>an?)[ \u00a0]*\Z", re.IGNORECASE)
_LIKE_YOU = re.compile(  # a vowel letter that sounds like "you" or "one"
    r"(?:uni(?!n|m)|us[aeiu]|ut[eio]|ub[ei]|uk|ura[nl]|ur[iu]|ufo|eu|ew|one\b|once|ouija|uganda|utah|utrecht|uruguay)",
    re.IGNORECASE,
)
_SILENT = re.compile(r"(?:hour|honest|honou?r|heir)", re.IGNORECASE)
_LETTERS = re.compile(r"[A-Z]{2,}\b")


def article_for(name: str) -> str | None:
    """``a`` or ``an``, as a name asks for it; None where that cannot be told: no letter, a number, an abbreviation.

    Example:
        >>> article_for("actor"), article_for("mathematician"), article_for("university"), article_for("heir")
        ('an', 'a', 'a', 'an')
        >>> article_for("NBA"), article_for("8"), article_for("herb")
        (None, None, None)
    """
    if not name[:1].isalpha() or not name[0].isascii() or _LETTERS.match(name):
        return None
    if _LIKE_YOU.match(name):
        return "a"
    if name[0] in "hH":
        return "an" if _SILENT.match(name) else None if name.casefold().startswith(("herb", "hist", "hotel")) else "a"
    return "an" if name[0].casefold() in "aeiou" else "a"


def article_before_cut(before: str, new: str) -> str | None:
    """The article at the end of a text where the other object cannot follow it; else None.

    Args:
        before: The prompt, up to the cut.
        new: The object after the change.

    Example:
        >>> article_before_cut("Become an", "mathematician"), article_before_cut("Become an", "engineer")
        ('an', None)
    """
    match = _ARTICLE.search(before)
    needed = article_for(new)
    if match is None or needed is None or match.group("article").casefold() == needed:
        return None
    return match.group("article")


_LABEL = re.compile(r"^Step \d+:", re.MULTILINE)


def blank_step_labels(text: str) -> str:
    r"""The text with its step labels blanked out, places unchanged: an object "1" is not mentioned by "Step 1:".

    Example:
        >>> blank_step_labels("How?\nStep 1: Go")
        'How?\n        Go'
    """
    return _LABEL.sub(lambda m: " " * len(m.group()), text)


class LeakInPrompt(LeakCheck):
    """Drop a prompt that names the new object, or the old one before the place where it was cut.

    As in the question, an object inside the subject's own name is ``unsure``. So is an
    article right before the cut that the new object cannot follow.
    """

    name: ClassVar[str] = "leak_in_prompt"
    version: ClassVar[int] = 7
    on: ClassVar[Stage] = "prompt"
    about: ClassVar[str] = "does the prompt name the new object, or the old one before the cut?"
    text_name: ClassVar[str] = "prompt"

    @override
    def judge_one(self, inputs: CheckInputs) -> Verdict:
        prompt, fact = inputs.prompt, inputs.fact
        assert prompt is not None
        objects = {"new object": fact.new, "old object": fact.old}
        text = blank_step_labels(prompt.text)
        verdict = self.leak_verdict(prompt, text, objects, fact.subject, relation=fact.relation)
        if verdict.label != "keep" or fact.new is None:
            return verdict
        article = article_before_cut(prompt.text, fact.new.text)
        if article is None:
            return verdict
        start = len(prompt.text.rstrip()) - len(article)
        place = Span(start=start, end=start + len(article), text=article, what="article")
        reason = f"'{article}' before the cut does not fit the new object ('{fact.new.text}') and points to the old one"
        return self.verdict(prompt, "unsure", reason, spans=[place])


class EarlyCut(RuleCheck):
    """Measure the step of the cut; one in step 1 is for people to judge (6.75 % in the paper, Appendix B.2.1).

    Too little leads up to the object there, but many such prompts are good, so they are ``unsure``, never dropped.
    """

    name: ClassVar[str] = "early_cut"
    version: ClassVar[int] = 2
    on: ClassVar[Stage] = "prompt"
    about: ClassVar[str] = "the step of the cut; one in step 1 is for people to judge"

    @override
    def judge_one(self, inputs: CheckInputs) -> Verdict:
        prompt = inputs.prompt
        assert prompt is not None
        if prompt.step is None:
            return self.verdict(prompt, "unscored", "the source does not say which step was cut")
        if prompt.step == 1:
            reason = "cut in step 1: the object comes very early"
            return self.verdict(prompt, "unsure", reason, value=1.0, unit="step")
        return self.verdict(prompt, "keep", value=float(prompt.step), unit="step")


class SubjectInNeighbour(LeakCheck):
    """Drop a neighbour prompt, for one edit, that names the edited subject or the edit's new object.

    Where that is only part of the neighbour's own name ("France" in "Tour de France"), the prompt is ``unsure``.

    The verdict stands on the link between the two facts, with the prompt as related item: the same prompt may serve
    another edit well.
    """

    name: ClassVar[str] = "subject_in_neighbour"
    version: ClassVar[int] = 8
    on: ClassVar[Stage] = "neighbour"
    about: ClassVar[str] = "does a neighbour's prompt name the edited subject or the new object?"
    text_name: ClassVar[str] = "neighbour's prompt"
    whose: ClassVar[str] = "the neighbour's"

    def judge_one(self, inputs: CheckInputs) -> Verdict:
        """The verdict on the link, in relation to the prompt."""
        link, edit, prompt = inputs.link, inputs.edit, inputs.prompt
        assert link is not None and edit is not None and prompt is not None
        unwanted = {"edited subject": edit.subject, "new object of the edit": edit.new}
        text = blank_step_labels(prompt.text)
        return self.leak_verdict(link, text, unwanted, inputs.fact.subject, related=(prompt.id,))
