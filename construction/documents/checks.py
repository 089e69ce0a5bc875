"""Checks of probes about documents, versioned; they describe, the split's rule decides."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from typing_extensions import override

from construction.checks.base import judge_all, likeness, with_earlier
from construction.documents.defaults import ALIKE, MOST_WORDS
from curation.checks.store_checks import CheckContext, ItemCheck
from schemas.core.records import Record
from schemas.core.registry import Registry
from schemas.documents.document import Document, DocumentProbe, contains_words, is_literal, plain_words
from schemas.verdicts import Span, Verdict

UNKNOWN_TAGS = "unknown_tags"
"""Under which name lineage keeps the tags of a reply that are none of the closed list."""


@dataclass(frozen=True, kw_only=True)
class ProbeInputs:
    """What a check may look at.

    Attributes:
        document: The document.
        probe: The probe that is judged.
        earlier: Probes of the document whose keys come before its own.
        unknown_tags: Tags that its author gave and that are none of the closed list.
    """

    document: Document
    probe: DocumentProbe
    earlier: tuple[DocumentProbe, ...] = ()
    unknown_tags: tuple[str, ...] = ()


class ProbeCheck(ItemCheck[ProbeInputs]):
    """Base of the checks on probes of documents."""

    on: ClassVar[str] = DocumentProbe.kind

    @override
    def inputs_of(self, items: Sequence[Record], around: CheckContext) -> Iterator[tuple[Record, ProbeInputs]]:
        earlier_of = dict(with_earlier(around, DocumentProbe, items, lambda one: one.document))
        documents = {one.key: one for one in around.store.by_keys(Document, {p.document for p in earlier_of})}
        for probe, earlier in earlier_of.items():
            if (document := documents.get(probe.document)) is not None:
                unknown = (line.detail.get(UNKNOWN_TAGS) for line in around.store.lineage(probe.id))
                tags = tuple(next((tags for tags in unknown if tags), ()))
                yield probe, ProbeInputs(document=document, probe=probe, earlier=earlier, unknown_tags=tags)


class LevelLiteral(ProbeCheck):
    """Doubt clozes of level 1 that do not stand in their document word for word, and literal ones of another level.

    Level 1 is defined by it (MULFE §4.2). Such a probe is a good one of another level, so people decide. Case and
    punctuation are folded.
    """

    name: ClassVar[str] = "level_literal"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "does a cloze of level 1, filled in, stand in its document word for word, and no other one?"
    not_applicable: ClassVar[str] = "it has no level"

    def applies(self, inputs: ProbeInputs) -> bool:
        """Only to probes that have a level."""
        return inputs.probe.level is not None

    @override
    def judge_one(self, inputs: ProbeInputs) -> Verdict:
        probe, literal = inputs.probe, is_literal(inputs.probe, inputs.document)
        if probe.level == 1 and not literal:
            return self.verdict(probe, "unsure", "of level 1, and not word for word in its document: another level?")
        if probe.level != 1 and literal:
            reason = f"of level {probe.level}, and word for word in its document: level 1?"
            return self.verdict(probe, "unsure", reason)
        return self.verdict(probe, "keep")


class OneBlank(ProbeCheck):
    """Drop probes of level 1 without a blank, and probes of any level with several: they have one answer."""

    name: ClassVar[str] = "one_blank"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "has a probe of level 1 a blank, and no probe several?"

    @override
    def judge_one(self, inputs: ProbeInputs) -> Verdict:
        probe = inputs.probe
        if probe.blanks > 1:
            return self.verdict(probe, "drop", f"{probe.blanks} blanks for one answer")
        if probe.level == 1 and not probe.blanks:
            return self.verdict(probe, "drop", "of level 1, without a blank")
        return self.verdict(probe, "keep")


class AnswerInQuery(ProbeCheck):
    """Drop probes that give their answer, or an accepted one, away. An answer within a longer word is no answer."""

    name: ClassVar[str] = "answer_in_query"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "does the query hold its answer, as whole words?"

    @override
    def judge_one(self, inputs: ProbeInputs) -> Verdict:
        probe = inputs.probe
        for answer in probe.answers:
            if contains_words(probe.query, answer):
                return self.verdict(probe, "drop", f"the query holds the answer '{answer}'")
        return self.verdict(probe, "keep")


class AnswerShort(ProbeCheck):
    """Drop probes with answers too long to be given word for word, or without a letter or digit; measure the words."""

    name: ClassVar[str] = "answer_short"
    version: ClassVar[int] = 1
    about: ClassVar[str] = f"has the answer a word, and at most {MOST_WORDS}?"

    @override
    def judge_one(self, inputs: ProbeInputs) -> Verdict:
        probe = inputs.probe
        count = len(plain_words(probe.answer).split())
        reason = ""
        if not count:
            reason = f"the answer '{probe.answer}' has no word"
        elif count > MOST_WORDS:
            reason = f"an answer of {count} words; at most {MOST_WORDS} can be asked for word for word"
        return self.verdict(probe, "drop" if reason else "keep", reason, value=float(count), unit="words")


class AnswerSupported(ProbeCheck):
    """Keep answers that stand in the document, or whose words all do; of others a person decides.

    Most answers of level 3 stand there, too (659 of 771 in our copy of the published evaluation part). One that does
    not may be a good inference, so it is ``unsure`` and never dropped. The measured value is the share of the answer's
    words that stand in the document.
    """

    name: ClassVar[str] = "answer_supported"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "does the answer, or every word of it, stand in the document?"

    @override
    def judge_one(self, inputs: ProbeInputs) -> Verdict:
        probe, text = inputs.probe, inputs.document.text
        words = plain_words(probe.answer).split()
        share = sum(contains_words(text, word) for word in words) / max(len(words), 1)
        if any(contains_words(text, answer) for answer in probe.answers):
            return self.verdict(probe, "keep", value=1.0, unit="share")
        if share == 1:
            return self.verdict(probe, "keep", "its words stand apart in the document", value=share, unit="share")
        reason = f"'{probe.answer}' does not stand in the document: can it be inferred?"
        return self.verdict(probe, "unsure", reason, value=round(share, 6), unit="share")


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

    @override
    def judge_one(self, inputs: ProbeInputs) -> Verdict:
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


class ProbeRepeats(ProbeCheck):
    """Drop probes that ask what another of the document asks in nearly the same words; measure the likeness.

    Only probes with the same answer (case and punctuation folded) are compared: "Who ...?" and "When ...?" about one
    thing share most of their words. Of two the one with the later key goes.
    """

    name: ClassVar[str] = "probe_repeats"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "greatest ROUGE-1 F with another probe of the document that has the same answer"

    @override
    def judge_one(self, inputs: ProbeInputs) -> Verdict:
        probe = inputs.probe
        others = [p for p in inputs.earlier if plain_words(p.answer) == plain_words(probe.answer)]
        return likeness(
            self,
            probe,
            others,
            lambda one: one.query,
            alone="no other probe has its answer",
            among="with its answer",
            most=ALIKE,
        )


class TagKnown(ProbeCheck):
    """Doubt probes with a tag that means none of the 24 of the closed list, and probes of level 3 without any tag."""

    name: ClassVar[str] = "tag_known"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "does every tag mean one of the closed list, and has a probe of level 3 any?"
    not_applicable: ClassVar[str] = "only probes of level 3 have tags"

    def applies(self, inputs: ProbeInputs) -> bool:
        """Only to probes of level 3, and to others with an unknown tag."""
        return inputs.probe.level == 3 or bool(inputs.unknown_tags)

    @override
    def judge_one(self, inputs: ProbeInputs) -> Verdict:
        probe = inputs.probe
        if inputs.unknown_tags:
            return self.verdict(probe, "unsure", f"the tag '{inputs.unknown_tags[0]}' is none of the closed list")
        if not probe.tags:
            return self.verdict(probe, "unsure", "of level 3, without a tag")
        return self.verdict(probe, "keep")


PROBE_CHECKS = Registry(
    "probe_check",
    shipped=(
        "level_literal",
        "one_blank",
        "answer_in_query",
        "answer_short",
        "answer_supported",
        "probe_stands_alone",
        "probe_repeats",
        "tag_known",
    ),
)


judge_probe = partial(judge_all, PROBE_CHECKS, DocumentProbe.kind)
"""The verdicts of every registered check that applies, in order of registration."""
