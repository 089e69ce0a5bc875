"""Metrics over probes of documents by what is written, and by the consequence that a probe asks for.

Written answers against all that are accepted: equal words, and overlap of words. Groups: the edit itself, hops,
aliases, what must stay; by exact match, by the written line, and by preference as ES and S-ES ask.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import ClassVar

from typing_extensions import override

from evaluation.metrics.base import (
    Answers,
    Normalisation,
    item_with_value,
    item_without_value,
    preferred,
    row,
)
from evaluation.metrics.documents import (
    DocumentMetric,
    NotKnownBefore,
    any_answer_probe,
    matches_any,
    preference_probe,
    premise_probes,
    written_probe,
)
from evaluation.metrics.pooled import PooledMean
from evaluation.metrics.text_level import text_of
from schemas.answers import CaseScores, ItemScore
from schemas.cases import DocumentCase
from schemas.documents.document import DocumentProbe, contains_words, plain_words
from schemas.probes import Probe

_ARTICLES = re.compile(r"\b(a|an|the)\b")


def answer_words(text: str) -> list[str]:
    """The words of an answer; case, accents, punctuation and English articles are folded away.

    Example:
        >>> answer_words("The Orla Bridge."), answer_words("an '80s hit")
        (['orla', 'bridge'], ['80s', 'hit'])
    """
    return _ARTICLES.sub(" ", plain_words(text)).split()


def compared_words(said: str, right: str) -> tuple[list[str], list[str]]:
    """The words of two answers; articles and signs count where the right one holds nothing else, as in blood group A.

    Example:
        >>> compared_words("The bridge.", "a bridge"), compared_words(" A.", "A"), compared_words("", "+")
        ((['bridge'], ['bridge']), (['a'], ['a']), ([], ['+']))
    """
    if theirs := answer_words(right):
        return answer_words(said), theirs
    if theirs := plain_words(right).split():
        return plain_words(said).split(), theirs
    return said.casefold().split(), right.casefold().split()


def overlap(said: str, right: str) -> float:
    """F1 of the words of two answers (as SQuAD's): 1 for the same words, 0 for none in common.

    Example:
        >>> round(overlap("Ada Brun of Rovo", "Ada Brun"), 3), overlap("Rovo", "Ada Brun"), overlap("", "A")
        (0.667, 0.0, 0.0)
    """
    mine, theirs = map(Counter, compared_words(said, right))
    if not mine:
        return 0.0
    common = (mine & theirs).total()
    return 2 * common / (mine.total() + theirs.total())


def same_words(said: str, right: str) -> bool:
    """Whether two answers are the same words."""
    mine, theirs = compared_words(said, right)
    return mine == theirs


class WrittenMatch(DocumentMetric, PooledMean):
    """Is what the model writes up to the end of its line an accepted answer?

    Attributes:
        likeness: From 0 to 1, of a written answer and an accepted one.
    """

    name: ClassVar[str] = "em_text"
    title: ClassVar[str] = "Written EM"
    about: ClassVar[str] = "Share of probes whose written answer is an accepted one; case, articles, punctuation aside"
    likeness: Callable[[str, str], float] = staticmethod(same_words)

    @override
    def probe_of(self, probe: DocumentProbe) -> Probe:
        return written_probe(probe, self.choice)

    def value(self, probe: DocumentProbe, after: Answers, before: Answers) -> ItemScore | None:
        """The written answer against all accepted ones: the best counts."""
        text_probe = written_probe(probe, self.choice)
        written = text_of(after.get(text_probe.id))
        if isinstance(written, str):
            return item_without_value(text_probe, written)
        first_line = written.text.partition("\n")[0]
        return item_with_value(text_probe, float(max(self.likeness(first_line, a) for a in probe.answers)))


# How many words of the written answer and the best accepted one are the same?
WrittenOverlap = row(
    WrittenMatch,
    name="f1",
    title="F1",
    about="Overlap of words (F1) of the written answer with the best accepted one",
    likeness=staticmethod(overlap),
)


# The same of level 1, where it is literal as its definition says.
WrittenMatchLiteral = row(
    WrittenMatch,
    name="em_text_1_literal",
    title="Written EM, level 1, literal",
    about="Written EM of level-1 probes that stand in their document word for word",
    level=1,
    literal=True,
)


WrittenMatchNew = row(
    NotKnownBefore,
    WrittenMatch,
    name="em_text_new",
    title="Written EM, not known before",
    about="Written EM of probes to which the unedited model writes no accepted answer",
    unedited=0.0,
)


# The same of level 1, where it is literal as its definition says.
WrittenOverlapLiteral = row(
    WrittenOverlap,
    name="f1_1_literal",
    title="F1, level 1, literal",
    about="F1 of level-1 probes that stand in their document word for word",
    level=1,
    literal=True,
)


WrittenOverlapNew = row(
    NotKnownBefore,
    WrittenOverlap,
    name="f1_new",
    title="F1, not known before",
    about="F1 of probes to which the unedited model writes no accepted answer",
)


UNKNOWN_PREMISE = "before the edit: whether its premises are known"


class GroupMatch(DocumentMetric, PooledMean):
    """Would the model write one of the accepted answers? Pooled over the probes of a group.

    Unlike ``em`` it takes every accepted answer: these benchmarks list aliases.
    """

    reads = matches_any

    def probe_of(self, probe: DocumentProbe) -> Probe:
        """How probable every accepted answer is, and whether greedy writing would begin with it."""
        return any_answer_probe(probe, self.choice)


EfficacyMatch = row(
    GroupMatch,
    name="em_efficacy",
    role="document_efficacy",
    title="EM, edit",
    about="EM of probes that ask for the edit in its own words; any accepted answer",
    group="efficacy",
)


RephraseMatch = row(
    GroupMatch,
    name="em_rephrase",
    title="EM, rephrased",
    about="EM of probes that ask for the edit in other words",
    group="rephrase",
)


PersonaMatch = row(
    GroupMatch,
    name="em_persona",
    title="EM, personas",
    about="EM of probes that ask for the edit in a persona's manner (WikiBigEdit)",
    group="persona",
)


HopMatch = row(
    GroupMatch,
    name="em_hop",
    title="EM, hops",
    about="Hop accuracy: EM of probes that join the edit with other facts, any accepted answer",
    group="hop",
)


class RestKnown(DocumentMetric):
    """Only probes whose other steps the unedited model answers: a failure is then one of the edit."""

    def probes(self, case: DocumentCase) -> list[Probe]:
        """The probes and their premises; these are asked for probabilities."""
        premises = [p for probe in self.asked(case) for p in premise_probes(probe, self.choice)]
        return [*super().probes(case), *premises]

    def value(self, probe: DocumentProbe, after: Answers, before: Answers) -> ItemScore | None:
        """As for all; None where a premise is not known before, unscored where that was not asked."""
        known = [matches_any(p, probe.key, before).value for p in premise_probes(probe, self.choice)]
        if None in known:
            return ItemScore(probe=self.probe_of(probe).id, item=probe.key, value=None, reason=UNKNOWN_PREMISE)
        return super().value(probe, after, before) if all(known) else None


KnownHopMatch = row(
    RestKnown,
    GroupMatch,
    name="em_hop_known",
    title="EM, hops, rest known",
    about="Hop accuracy where the unedited model answers all other steps, any accepted answer",
    group="hop",
)


ScriptHopMatch = row(
    GroupMatch,
    name="em_script_hop",
    title="EM, script hops",
    about="EM at the cut of a script whose last step joins the edit with another fact",
    group="script_hop",
)


LogicalMatch = row(
    GroupMatch,
    name="em_logical",
    title="EM, logical",
    about="Logical generalisation: EM of what follows from the edit alone, such as its other direction",
    group="logical",
)


AliasMatch = row(
    GroupMatch,
    name="em_alias",
    title="EM, aliases",
    about="EM of probes that call the edit's subject or object by another name",
    group="alias",
)


ForgetfulnessMatch = row(
    GroupMatch,
    name="em_forgetfulness",
    title="EM, other objects kept",
    about="Forgetfulness: EM of the other objects that the edited subject and relation keep",
    group="forgetfulness",
)


LocalityMatch = row(
    GroupMatch,
    name="em_locality",
    role="document_locality",
    title="EM, locality",
    about="EM of what the edit should leave alone, by the source's answers",
    group="locality",
)


class NamedAnswer(WrittenMatch):
    """Does the written line hold an accepted answer as whole words? Case, accents and punctuation aside."""

    likeness = staticmethod(contains_words)


NamedEfficacy = row(
    NamedAnswer,
    name="named_efficacy",
    title="Named, edit",
    about="Share of probes of the edit itself whose written line names an accepted answer",
    group="efficacy",
)


NamedRephrase = row(
    NamedAnswer,
    name="named_rephrase",
    title="Named, rephrased",
    about="The same of probes that ask for the edit in other words",
    group="rephrase",
)


NamedHop = row(
    NamedAnswer,
    name="named_hop",
    title="Named, hops",
    about="Hop accuracy, written: the line names an accepted answer where several facts are joined",
    group="hop",
)


NamedKnownHop = row(
    RestKnown,
    NamedAnswer,
    name="named_hop_known",
    title="Named, hops, rest known",
    about="The same where the unedited model answers all other steps",
    group="hop",
)


NamedLogical = row(
    NamedAnswer,
    name="named_logical",
    title="Named, logical",
    about="Logical generalisation, written: the line names what follows from the edit alone",
    group="logical",
)


NamedAlias = row(
    NamedAnswer,
    name="named_alias",
    title="Named, aliases",
    about="The same of probes that call the edit's subject or object by another name",
    group="alias",
)


NamedForgetfulness = row(
    NamedAnswer,
    name="named_forgetfulness",
    title="Named, other objects kept",
    about="Forgetfulness, written: the line names another object that the subject keeps",
    group="forgetfulness",
)


NamedLocality = row(
    NamedAnswer,
    name="named_locality",
    title="Named, locality",
    about="The same of what the edit should leave alone, by the source's answers",
    group="locality",
)


class PreferredAnswer(DocumentMetric, PooledMean):
    """Is the answer after the edit strictly more probable than the one before it? Pooled over probes that say both."""

    @override
    def asked(self, case: DocumentCase) -> Sequence[DocumentProbe]:
        return [probe for probe in super().asked(case) if probe.old_answer is not None]

    @override
    def probe_of(self, probe: DocumentProbe) -> Probe:
        return preference_probe(probe, self.choice)

    def score(self, case: DocumentCase, after: Answers, before: Answers, normalisation: Normalisation) -> CaseScores:
        """1 where the new answer is strictly more probable, else 0; ties are 0 and counted."""
        probes = [preference_probe(probe, self.choice) for probe in self.asked(case) if probe.blanks < 2]
        items = tuple(preferred(p, after.get(p.id), normalisation) for p in probes)
        return CaseScores(case=case.key, metric=self.name, items=items)


PreferredHop = row(
    PreferredAnswer,
    name="es_hop",
    title="ES-hop",
    about="Share of hops whose answer after the edit is more probable than the one before it",
    group="hop",
)


PreferredScriptHop = row(
    PreferredAnswer,
    name="s_es_hop",
    title="S-ES-hop",
    about="The same at the cut of a script whose last step needs a hop from the edited fact",
    group="script_hop",
)
