"""Checks of replies and questions."""

from __future__ import annotations

import re
from typing import ClassVar

from typing_extensions import override

from construction.checks.base import CheckInputs, LeakCheck, RuleCheck, Stage, likeness, span
from construction.mentions import find_object
from schemas.text.control_tokens import control_token
from schemas.verdicts import Span, Verdict


class ReplyUsable(RuleCheck):
    """Say on a fact or a question that nothing came of it because the model refused or its reply could not be read.

    The label is ``unscored``, never ``drop``: nothing is wrong with the item itself.
    """

    name: ClassVar[str] = "reply_usable"
    version: ClassVar[int] = 1
    on: ClassVar[Stage] = "reply"
    about: ClassVar[str] = "did the model answer, in a form that can be read?"

    def judge_one(self, inputs: CheckInputs) -> Verdict:
        """The verdict on the question where a script was asked for, else on the fact."""
        item = inputs.question or inputs.fact
        if inputs.failure:
            return self.verdict(item, "unscored", inputs.failure)
        return self.verdict(item, "keep")


MOST_WORDS = 40
_HOW = re.compile(r"how\s+(to|can|could|do|does|did|should|would|will|might|must|may)\b", re.IGNORECASE)
_IMPACT = re.compile(r"\b(impact|affect|influenc|effect(?!ive))\w*", re.IGNORECASE)
_AGAIN = re.compile(r"\b(\w+(?:\s+\w+){0,4})(?:\s+\1\b){2,}", re.IGNORECASE)


class QuestionForm(RuleCheck):
    """Drop what is not one "How ..." question for a guide, or asks about an impact (Figure 6)."""

    name: ClassVar[str] = "question_form"
    version: ClassVar[int] = 4
    on: ClassVar[Stage] = "question"
    about: ClassVar[str] = "is it one 'How ...' question that does not ask about an impact?"

    @override
    def judge_one(self, inputs: CheckInputs) -> Verdict:
        question = inputs.question
        assert question is not None
        text = question.text
        if not _HOW.match(text):
            return self.verdict(question, "drop", "the question does not begin like 'How to' or 'How does a'")
        if not text.endswith("?"):
            return self.verdict(question, "drop", "the question does not end with a question mark")
        subjects = find_object(text, inputs.fact.subject)  # "Deep Impact" is a film
        named = [one.mention for one in subjects if not one.doubt]
        matches = [m for m in _IMPACT.finditer(text) if not any(n.start <= m.start() < n.end for n in named)]
        if matches:
            match = matches[0]
            span = Span(start=match.start(), end=match.end(), text=match.group(), what="impact")
            return self.verdict(
                question, "drop", f"the question asks about an influence ('{match.group()}')", spans=[span]
            )
        if text.rstrip("?").count("?"):
            return self.verdict(question, "drop", "more than one question")
        if len(text.split()) > MOST_WORDS:
            return self.verdict(question, "drop", f"the question has more than {MOST_WORDS} words")
        if token := control_token(text):
            return self.verdict(question, "drop", f"the question holds the control token {token}")
        if _AGAIN.search(text):
            return self.verdict(question, "drop", "the question repeats the same words over and over")
        return self.verdict(question, "keep")


class SubjectInQuestion(RuleCheck):
    """Drop a question that names neither the subject nor an alias: an edit of the fact could not reach its script.

    Where only a word without the name's capital stands ("the square" for Square), the question is ``unsure``. A word
    made from the name ("Italian") does not name the subject.
    """

    name: ClassVar[str] = "subject_in_question"
    version: ClassVar[int] = 5
    on: ClassVar[Stage] = "question"
    about: ClassVar[str] = "does the question name the subject?"

    @override
    def judge_one(self, inputs: CheckInputs) -> Verdict:
        question, subject = inputs.question, inputs.fact.subject
        assert question is not None
        named = [one for one in find_object(question.text, subject) if one.fits]
        if not named:
            return self.verdict(question, "drop", f"the question does not name the subject ('{subject.text}')")
        one = min(named, key=lambda one: bool(one.doubt))
        place = [span(one.mention, "subject")]
        if one.doubt:
            return self.verdict(question, "unsure", f"the subject? {one.doubt}", spans=place)
        return self.verdict(question, "keep", spans=place)


class LeakInQuestion(LeakCheck):
    """Drop a question that names the old or the new object, or an alias of one (Figure 6: "should not leak").

    An object that is only part of the subject's own name ("Porsche" in "Porsche Panamera") cannot be avoided by any
    question; such questions are ``unsure``, and so are those where only a capital is missing ("turkey" for Turkey).
    """

    name: ClassVar[str] = "leak_in_question"
    version: ClassVar[int] = 7
    on: ClassVar[Stage] = "question"
    about: ClassVar[str] = "does the question name either object or an alias?"
    text_name: ClassVar[str] = "question"

    @override
    def judge_one(self, inputs: CheckInputs) -> Verdict:
        question, fact = inputs.question, inputs.fact
        assert question is not None
        objects = {"old object": fact.old, "new object": fact.new}
        return self.leak_verdict(question, question.text, objects, fact.subject, relation=fact.relation)


class SimilarQuestion(RuleCheck):
    """Measure the greatest ROUGE-1 F of a question with an earlier one of the same fact, which is the related item.

    It drops nothing: a threshold in the split's rule says from where on two questions are one. Only earlier ones are
    compared, so of two equal questions the first has no fault.
    """

    name: ClassVar[str] = "similar_question"
    version: ClassVar[int] = 1
    on: ClassVar[Stage] = "question"
    about: ClassVar[str] = "greatest ROUGE-1 F with an earlier question of the same fact"

    def applies(self, inputs: CheckInputs) -> bool:
        """Only where the earlier questions of the fact are given."""
        return inputs.questions is not None

    @override
    def judge_one(self, inputs: CheckInputs) -> Verdict:
        question, earlier = inputs.question, inputs.questions
        assert question is not None and earlier is not None
        others = [q for q in earlier if q.id != question.id and q.fact == question.fact]
        return likeness(
            self,
            question,
            others,
            lambda one: one.text,
            alone="the first question of its fact",
            among="earlier questions",
        )
