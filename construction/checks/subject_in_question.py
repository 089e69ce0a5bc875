"""Does the question name its subject?"""

from __future__ import annotations

import re
from typing import ClassVar

from construction.checks.base import CheckInputs, RuleCheck, Stage, span
from construction.mentions.longer_names import longer_name
from construction.mentions.object_mentions import find_object
from schemas.facts import Entity
from schemas.text.mentions import Mention
from schemas.verdicts import Verdict

_WHOSE = re.compile(r"\w\s(?:of|de|du|di|del|da)\s(?:the\s|la\s)?\Z")


class SubjectInQuestion(RuleCheck):
    """Drop a question that names neither the subject nor an alias: an edit of the fact could not reach its script.

    Where the only place may be another word, or is part of a longer name, the question is ``unsure``; a longer name
    that says whose it is ("the National Archives of Japan") still names the subject. A word made from the name
    ("Italian") does not.
    """

    name: ClassVar[str] = "subject_in_question"
    version: ClassVar[int] = 4
    on: ClassVar[Stage] = "question"
    about: ClassVar[str] = "does the question name the subject?"

    def judge_one(self, inputs: CheckInputs) -> Verdict:
        """The verdict on the question."""
        question, subject = inputs.question, inputs.fact.subject
        assert question is not None
        mentions = find_object(question.text, subject)
        named = [one for one in mentions if one.fits]
        for label in ("name", "unsure"):
            one = next((one for one in named if one.label == label), None)
            if one is not None:
                keep = label == "name" or _says_whose(question.text, one.mention, subject)
                why = "" if keep else f"the subject? {one.why}"
                return self.verdict(question, "keep" if keep else "unsure", why, spans=[span(one.mention, "subject")])
        reason = f"the question does not name the subject ('{subject.text}')"
        return self.verdict(question, "drop", "; ".join((reason, *(one.why for one in mentions if one.why))))


def _says_whose(text: str, mention: Mention, subject: Entity) -> bool:
    """Whether the longer name that a mention stands in ends with it, after "of": it is about the subject."""
    whole = longer_name(text, mention.start, mention.end, names=subject.names)
    return whole is not None and whole.endswith(mention.text) and bool(_WHOSE.search(text, 0, mention.start))
