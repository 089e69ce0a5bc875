"""Can a probe be understood without its document?"""

from __future__ import annotations

import re
from typing import ClassVar

from construction.documents.checks.base import ProbeCheck, ProbeInputs
from schemas.documents.document import Document, contains_words
from schemas.verdicts import Span, Verdict

_DEFINED = r"(?! (?:that|which|who|whose|whom|where|of|in which|centre|center)\b)"
_TEXT = re.compile(
    r"\b(?:the|this|that|these|given|above) (?:text|document|passage|article|paragraph|excerpt|sentence|description"
    rf"|statement)s?\b{_DEFINED}|\b(?:mentioned|described|stated|given) (?:above|here|below)\b",
    re.IGNORECASE,
)
_PRONOUN = re.compile(r"\b(?:he|she|it|they|him|her|them|his|its|their|hers|theirs)\b", re.IGNORECASE)
_ASKED = re.compile(r"\b(?:who|whom|whose|which|what)\b|_{3,}", re.IGNORECASE)
_NOUN = re.compile(
    r"\b(?:the|this|that|these|those) (?:film|movie|book|novel|song|album|band|series|show|game|company|firm|team|club"
    r"|author|artist|singer|actor|actress|director|writer|person|man|woman|player|politician|event|incident|festival"
    r"|match|tournament|election|war|battle|agreement|deal|law|project|building|bridge|museum|city|town|village|country"
    r"|region|area|river|island|school|university|organization|organisation|institution|group|ship|vehicle|product"
    rf"|device|species|plant|animal|disease|award|prize|former|latter)\b{_DEFINED}",
    re.IGNORECASE,
)
_NAME = re.compile(r"\b[A-ZÀ-ÖØ-Þ][\w'’-]*")
_MONTHS = "January February March April May June July August September October November December"
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
_NO_NAME = frozenset({*_MONTHS.split(), *_DAYS.split(), "I"})


class ProbeStandsAlone(ProbeCheck):
    """Drop probes that speak of "the text", or of "he" and "the film" without a name before it.

    A name is what the document is about, a capital inside the sentence, or a first word that the document spells with
    a capital inside a sentence. "The film that ..." says which one, and "its" after "which" or a blank is the answer's.
    """

    name: ClassVar[str] = "probe_stands_alone"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "does the probe stand alone, without 'the text', 'he' or 'the film' that nothing names?"

    def judge_one(self, inputs: ProbeInputs) -> Verdict:
        """The verdict on the probe."""
        probe = inputs.probe
        if match := _TEXT.search(probe.query):
            return self._drop(inputs, match, "speaks of a text that whoever is asked does not see")
        match = _NOUN.search(probe.query) or _pronoun(probe.query)
        if match and not _has_name(probe.query, inputs.document):
            return self._drop(inputs, match, "points at something that the query does not name")
        return self.verdict(probe, "keep")

    def _drop(self, inputs: ProbeInputs, match: re.Match[str], why: str) -> Verdict:
        span = Span(start=match.start(), end=match.end(), text=match.group(), what="deictic")
        return self.verdict(inputs.probe, "drop", f"'{match.group()}' {why}", spans=[span])


def _pronoun(query: str) -> re.Match[str] | None:
    """The first pronoun, unless what is asked for stands before it."""
    match, answer = _PRONOUN.search(query), _ASKED.search(query)
    return None if match and answer and answer.start() < match.start() else match


def _has_name(query: str, document: Document) -> bool:
    if any(contains_words(query, name) for name in document.names):
        return True
    known = set(_inner_names(document.text))
    first = _NAME.match(query)
    return bool(set(_inner_names(query)) - _NO_NAME) or (first is not None and first.group() in known - _NO_NAME)


def _inner_names(text: str) -> list[str]:
    """Words with a capital that begin no sentence."""
    return [m.group() for m in _NAME.finditer(text) if not re.search(r"(?:^|[.!?:]['\"”’)]*)\s*$", text[: m.start()])]
