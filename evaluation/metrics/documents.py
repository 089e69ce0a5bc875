"""Metrics over the probes of documents: exact match, perplexity, written answers, specificity, groups (MULFE).

Exact match (MULFE §5.1): every token of the answer is the most probable one after those before it. So the text that the
model writes greedily *begins* with the answer, in one tokenisation of one spelling; that is how the published figures
were computed. Specificity questions (§4.3) belong to a state of the model, not to a case: a metric names what it asks
when a case's edit is the first of those in the model, and the runner asks that once a state.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from typing_extensions import override

from evaluation.metrics.base import (
    TRUNCATED,
    Answers,
    Metric,
    Normalisation,
    row,
    target_values,
)
from evaluation.metrics.generation import ClozeHint, DocumentChoice, Generation, cloze_probe, prompt_of
from evaluation.metrics.pooled import PooledMean, PooledPerplexity
from schemas.answers import CaseScores, ItemScore, TargetScore
from schemas.cases import AnyCase, DocumentCase
from schemas.documents.document import Document, DocumentProbe, Level, is_literal
from schemas.documents.statement import KEPT, Group
from schemas.probes import GenerateProbe, Probe, ScoreProbe

ANSWER = "document_answer"
WRITTEN = "document_written"
TEXT = "document_text"
PREMISE = "document_premise"
CHOICE = "document_choice"
"""Purposes of the probes."""

_FIRST_WORD = re.compile(r"(\S+)(\s+)(\S.*)", re.DOTALL)


_SCRIPT_CUT = re.compile(r"(.*?)( ?)_{3,}.*", re.DOTALL)


def answer_probe(probe: DocumentProbe, choice: DocumentChoice) -> ScoreProbe:
    """Ask how probable the answer is, and whether greedy writing would begin with it."""
    return _asked(ANSWER, probe, (probe.answer,), choice)


def any_answer_probe(probe: DocumentProbe, choice: DocumentChoice) -> ScoreProbe:
    """The same of every accepted answer."""
    return _asked(ANSWER, probe, probe.answers, choice)


def preference_probe(probe: DocumentProbe, choice: DocumentChoice) -> ScoreProbe:
    """Ask how probable the answer is and the one before the edit, in this order."""
    asked = _asked(CHOICE, probe, (probe.answer, str(probe.old_answer)), choice)
    return asked.model_copy(update={"greedy": False})


def premise_probes(probe: DocumentProbe, choice: DocumentChoice) -> list[ScoreProbe]:
    """Ask for all that a probe takes for granted: every right answer of each premise."""
    return [
        cloze_probe(PREMISE, f"{probe.key}/premise/{number}", premise.query, premise.answers, choice)
        for number, premise in enumerate(probe.premises, 1)
    ]


def _asked(purpose: str, probe: DocumentProbe, targets: Sequence[str], choice: DocumentChoice) -> ScoreProbe:
    """A query's probe. A script is continued as it is, as S-ES does: no instruction, no labels."""
    cut = script_cut(probe)
    if cut is None:
        return cloze_probe(purpose, probe.key, probe.query, tuple(targets), choice)
    return ScoreProbe(
        purpose=purpose, item=probe.key, prompt=cut.text, separator=cut.separator, targets=tuple(targets), greedy=True
    )


def script_cut(probe: DocumentProbe) -> ClozeHint | None:
    """A script up to its blank, and what stands between the two; None of a probe that is no script."""
    cut = _SCRIPT_CUT.fullmatch(probe.query) if probe.group == "script_hop" else None
    return None if cut is None else ClozeHint(cut[1], cut[2])


def written_probe(probe: DocumentProbe, choice: DocumentChoice) -> GenerateProbe:
    """Ask for a written answer, which ends with its line. Nothing is drawn; a script is continued as it is."""
    cut = script_cut(probe)
    return GenerateProbe(
        purpose=WRITTEN,
        item=probe.key,
        prompt=prompt_of(probe.query, choice).text if cut is None else cut.text,
        most=choice.answer_tokens,
        stop=("\n",),
        instruction=choice.instruction if cut is None else "",
    )


def text_probe(document: Document) -> ScoreProbe | None:
    """Ask how probable the document is after its first word; None where it has only one.

    The published measure leaves the first token out; a probe knows no tokens, so here it is the first word.
    """
    found = _FIRST_WORD.fullmatch(document.text)
    if found is None:
        return None
    first, space, rest = found.groups()
    return ScoreProbe(purpose=TEXT, item=document.key, prompt=first, separator=space, targets=(rest,))


Reader = Callable[[Any, str, Answers], ItemScore]
"""Makes a score of a probe, the item that it is of, and the answers."""

SEVERAL_BLANKS = "the query has several blanks and one answer"


class DocumentMetric(Metric):
    """A metric over probes of a document; the normalisation changes nothing.

    Attributes:
        level: Only probes of this level; None for all, those without a level among them.
        literal: Only probes that stand in their document word for word (the definition of level 1).
        reads: What makes a score of an answer.
        group: Only probes of this group; None for all but those whose answers an edit should leave alone.

    Args:
        generation: How probes are asked: its ``documents``.
    """

    takes: ClassVar[tuple[str, ...]] = ("document",)
    asks_for_texts: ClassVar[bool] = True
    level: ClassVar[Level | None] = None
    literal: ClassVar[bool] = False
    group: ClassVar[Group | None] = None
    reads: ClassVar[Reader]

    def __init__(self, generation: Generation = Generation()) -> None:  # noqa: B008 - a value
        self.choice = generation.documents

    def asked(self, case: DocumentCase) -> Sequence[DocumentProbe]:
        """The case's probes that count, those with several blanks among them: they are unscored."""
        return [
            probe
            for probe in case.probes
            if self.level in (None, probe.level)
            and (probe.group == self.group if self.group is not None else probe.group not in KEPT)
            and (not self.literal or is_literal(probe, case.document))
        ]

    def probe_of(self, probe: DocumentProbe) -> Probe:
        """What one probe asks a model."""
        return answer_probe(probe, self.choice)

    def probes(self, case: DocumentCase) -> list[Probe]:
        """What all probes that count ask, but those with several blanks."""
        return [self.probe_of(probe) for probe in self.asked(case) if probe.blanks < 2]

    @override
    def score(self, case: DocumentCase, after: Answers, before: Answers, normalisation: Normalisation) -> CaseScores:
        items = tuple(self._item(probe, after, before) for probe in self.asked(case))
        return CaseScores(case=case.key, metric=self.name, items=tuple(item for item in items if item is not None))

    def _item(self, probe: DocumentProbe, after: Answers, before: Answers) -> ItemScore | None:
        if probe.blanks > 1:
            return ItemScore(probe=probe.key, item=probe.key, value=None, reason=SEVERAL_BLANKS)
        return self.value(probe, after, before)

    def value(self, probe: DocumentProbe, after: Answers, before: Answers) -> ItemScore | None:
        """The score of one probe, or None where it does not count; here: what its answer after the edit gives."""
        return type(self).reads(self.probe_of(probe), probe.key, after)


class NotKnownBefore(DocumentMetric):
    """Only probes that the unedited model does not answer."""

    def value(self, probe: DocumentProbe, after: Answers, before: Answers) -> ItemScore | None:
        """As for all; None where the unedited model answers it, unscored where that is not known."""
        then = self.known(probe, before)
        if then is None or then.value == 1.0:
            return None
        if then.value is None:
            return then.model_copy(update={"reason": f"before the edit: {then.reason}"})
        return super().value(probe, after, before)

    def known(self, probe: DocumentProbe, before: Answers) -> ItemScore | None:
        """1 where the unedited model answers the probe."""
        return super().value(probe, before, before)


def read_answers(asked: ScoreProbe, answers: Answers) -> tuple[tuple[TargetScore, ...], str]:
    """The scores of all targets of a probe; or none, and why. The reason is also that of a truncated prompt."""
    answer = answers.get(asked.id)
    values = target_values(asked, answer, "sum")
    if isinstance(values, str):
        return (), values
    assert answer is not None
    return answer.targets, TRUNCATED if answer.truncated else ""


def matches_any(asked: ScoreProbe, item: str, answers: Answers) -> ItemScore:
    """1 where all tokens of one of the accepted answers are the most probable ones, else 0."""
    read, why = read_answers(asked, answers)
    hits = [target.greedy for target in read]
    if read and None in hits:
        read, why = (), "the answer does not say which tokens are the most probable ones"
    value = float(any(hits)) if read else None
    return ItemScore(probe=asked.id, item=item, value=value, reason=why)


# Is the answer what the model would write (Table 2, EM)? Pooled over probes.
ExactMatch = row(
    DocumentMetric,
    PooledMean,
    name="em",
    role="document_efficacy",
    title="EM",
    about="Share of probes whose answer's tokens are all the most probable ones (MULFE Table 2, EM)",
    reads=matches_any,
)


ExactMatchLevel1 = row(
    ExactMatch,
    name="em_1",
    role="other",
    title="EM, level 1",
    about="EM of level-1 probes, which ask for the document's own words (MULFE Table 2)",
    level=1,
)


ExactMatchLevel2 = row(
    ExactMatch,
    name="em_2",
    role="other",
    title="EM, level 2",
    about="EM of level-2 probes, which ask in other words (MULFE Table 2)",
    level=2,
)


ExactMatchLevel3 = row(
    ExactMatch,
    name="em_3",
    role="other",
    title="EM, level 3",
    about="EM of level-3 probes, which ask for reasoning or a summary (MULFE Table 2)",
    level=3,
)


# The same of level 1, where it is literal as its definition says.
ExactMatchLiteral = row(
    ExactMatchLevel1,
    name="em_1_literal",
    title="EM, level 1, literal",
    about="EM of level-1 probes that stand in their document word for word",
    literal=True,
)


ExactMatchNew = row(
    NotKnownBefore,
    ExactMatch,
    name="em_new",
    role="other",
    title="EM, not known before",
    about="EM of probes that the unedited model does not answer",
    unedited=0.0,
)


def _perplexity_item(asked: ScoreProbe, item: str, answers: Answers) -> ItemScore:
    """Negative log-probability per token of a probe's target, weighted with its tokens."""
    read, why = read_answers(asked, answers)
    if not read:
        return ItemScore(probe=asked.id, item=item, value=None, reason=why)
    (target,) = read
    return ItemScore(probe=asked.id, item=item, value=-target.value("mean"), weight=target.tokens, reason=why)


# How surprising the answers are (Table 2, PPL).
AnswerPerplexity = row(
    DocumentMetric,
    PooledPerplexity,
    name="ppl",
    title="PPL",
    about="Perplexity of the answers, per token over all probes (MULFE Table 2, PPL)",
    reads=_perplexity_item,
)


AnswerPerplexityLevel1 = row(
    AnswerPerplexity,
    name="ppl_1",
    title="PPL, level 1",
    about="Perplexity of the answers of level-1 probes (MULFE Table 2)",
    level=1,
)


AnswerPerplexityLevel2 = row(
    AnswerPerplexity,
    name="ppl_2",
    title="PPL, level 2",
    about="Perplexity of the answers of level-2 probes (MULFE Table 2)",
    level=2,
)


AnswerPerplexityLevel3 = row(
    AnswerPerplexity,
    name="ppl_3",
    title="PPL, level 3",
    about="Perplexity of the answers of level-3 probes (MULFE Table 2)",
    level=3,
)


# The same of level 1, where it is literal as its definition says.
AnswerPerplexityLiteral = row(
    AnswerPerplexityLevel1,
    name="ppl_1_literal",
    title="PPL, level 1, literal",
    about="Perplexity of the answers of level-1 probes that stand in their document word for word",
    literal=True,
)


# The same of what the unedited model does not answer (as ``em_new``).
AnswerPerplexityNew = row(
    NotKnownBefore,
    AnswerPerplexity,
    name="ppl_new",
    title="PPL, not known before",
    about="Perplexity of the answers of probes that the unedited model does not answer",
    known=lambda self, probe, before: matches_any(answer_probe(probe, self.choice), probe.key, before),
)


class DocumentPerplexity(DocumentMetric, PooledPerplexity):
    """How surprising the documents themselves are (Table 2, Edit PPL), their first words left out."""

    name: ClassVar[str] = "ppl_edit"
    title: ClassVar[str] = "PPL, document"
    about: ClassVar[str] = "Perplexity of the document itself, its first word left out (MULFE Table 2, Edit)"

    def probes(self, case: DocumentCase) -> list[Any]:
        """The document; nothing where it has one word."""
        text = text_probe(case.document)
        return [] if text is None else [text]

    def score(self, case: DocumentCase, after: Answers, before: Answers, normalisation: Normalisation) -> CaseScores:
        """One item: negative log-probability per token, weighted with the document's tokens."""
        items = tuple(_perplexity_item(text, case.document.key, after) for text in self.probes(case))
        return CaseScores(case=case.key, metric=self.name, items=items)


class SharedMetric(Metric):
    """A metric on questions that all cases share.

    Args:
        generation: Its ``shared`` questions; without any nothing is asked.
    """

    takes: ClassVar[tuple[str, ...]] = ("document",)
    asks_for_texts: ClassVar[bool] = True
    shared: ClassVar[bool] = True
    reads: ClassVar[Reader]

    def __init__(self, generation: Generation = Generation()) -> None:  # noqa: B008 - a value
        self.questions = generation.shared

    def probes(self, case: AnyCase) -> list[ScoreProbe]:
        """What is asked where this case's edit is the first of those in the model."""
        return [] if self.questions is None else list(self.questions.drawn(case.key))

    def score(self, case: AnyCase, after: Answers, before: Answers, normalisation: Normalisation) -> CaseScores:
        """The value of every question; no item where the state of the model was asked with another case."""
        probes = self.probes(case)
        reads, asked = type(self).reads, any(p.id in after for p in probes)
        items = [reads(probe, probe.item, after) for probe in probes if asked]
        return CaseScores(case=case.key, metric=self.name, items=tuple(items))


# Does the model still answer what it answered before (Table 2, specificity EM)?
SpecificityMatch = row(
    SharedMetric,
    PooledMean,
    name="em_spec",
    role="document_locality",
    title="EM, specificity",
    about="EM of questions that the unedited model answers, after every edit (MULFE Table 2)",
    reads=matches_any,
)


# How surprising these answers have become (Table 2, specificity PPL).
SpecificityPerplexity = row(
    SharedMetric,
    PooledPerplexity,
    name="ppl_spec",
    title="PPL, specificity",
    about="Perplexity of answers that the unedited model gives, after every edit (MULFE Table 2)",
    reads=_perplexity_item,
)
