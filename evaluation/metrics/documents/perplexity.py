"""Perplexity of answers and of documents (MULFE §5.1): per token, over all tokens of all documents."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from evaluation.metrics.base import Answers, Normalisation, row
from evaluation.metrics.documents.base import DocumentMetric, read_answer, unless_known
from evaluation.metrics.documents.exact_match import exact_match
from evaluation.metrics.documents.probes import answer_probe, text_probe
from evaluation.metrics.pooled import PooledPerplexity
from schemas.answers import CaseScores, ItemScore
from schemas.cases import DocumentCase
from schemas.documents.document import DocumentProbe
from schemas.probes import Probe, ScoreProbe


def _item(asked: ScoreProbe, item: str, answers: Answers) -> ItemScore:
    """Negative log-probability per token of a probe's target, weighted with its tokens."""
    read, why = read_answer(asked, answers)
    if read is None:
        return ItemScore(probe=asked.id, item=item, value=None, reason=why)
    return ItemScore(probe=asked.id, item=item, value=-read.value("mean"), weight=read.tokens, reason=why)


class AnswerPerplexity(DocumentMetric, PooledPerplexity):
    """How surprising the answers are (Table 2, PPL)."""

    name: ClassVar[str] = "ppl"
    title: ClassVar[str] = "PPL"
    about: ClassVar[str] = "Perplexity of the answers, per token over all probes (MULFE Table 2, PPL)"

    def value(self, probe: DocumentProbe, after: Answers, before: Answers) -> ItemScore | None:
        """Negative log-probability per token, weighted with the answer's tokens."""
        return _item(answer_probe(probe, self.choice), probe.key, after)


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


class AnswerPerplexityNew(AnswerPerplexity):
    """The same of what the unedited model does not answer (as ``em_new``)."""

    name: ClassVar[str] = "ppl_new"
    title: ClassVar[str] = "PPL, not known before"
    about: ClassVar[str] = "Perplexity of the answers of probes that the unedited model does not answer"

    def value(self, probe: DocumentProbe, after: Answers, before: Answers) -> ItemScore | None:
        """As for all probes; None where the unedited model answers it, unscored where that is not known."""
        then = exact_match(probe, self.choice, before)
        return unless_known(then, partial(super().value, probe, after, before))


class DocumentPerplexity(DocumentMetric, PooledPerplexity):
    """How surprising the documents themselves are (Table 2, Edit PPL), their first words left out."""

    name: ClassVar[str] = "ppl_edit"
    title: ClassVar[str] = "PPL, document"
    about: ClassVar[str] = "Perplexity of the document itself, its first word left out (MULFE Table 2, Edit)"

    def probes(self, case: DocumentCase) -> list[Probe]:
        """The document; nothing where it has one word."""
        text = text_probe(case.document)
        return [] if text is None else [text]

    def score(self, case: DocumentCase, after: Answers, before: Answers, normalisation: Normalisation) -> CaseScores:
        """One item: negative log-probability per token, weighted with the document's tokens."""
        text = text_probe(case.document)
        items = () if text is None else (_item(text, case.document.key, after),)
        return CaseScores(case=case.key, metric=self.name, items=items)
