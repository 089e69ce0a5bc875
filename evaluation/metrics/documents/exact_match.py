"""Exact match (MULFE §5.1): every token of the answer is the most probable one after those before it.

So the text that the model writes greedily *begins* with the answer, in one tokenisation of one spelling; that is how
the published figures were computed. ``em_text`` reads what the model writes instead.
"""

from __future__ import annotations

from typing import ClassVar

from evaluation.metrics.base import Answers, Role, row
from evaluation.metrics.document_choice import DocumentChoice
from evaluation.metrics.documents.base import Better, DocumentMetric, NotKnownBefore, read_answer
from evaluation.metrics.documents.probes import answer_probe
from evaluation.metrics.pooled import PooledMean
from schemas.answers import ItemScore
from schemas.documents.document import DocumentProbe


def exact_match(probe: DocumentProbe, choice: DocumentChoice, answers: Answers) -> ItemScore:
    """1 where all tokens of a probe's answer are the most probable ones, else 0."""
    score_probe = answer_probe(probe, choice)
    read, why = read_answer(score_probe, answers)
    greedy = None if read is None else read.greedy
    if read is not None and greedy is None:
        why = "the answer does not say which tokens are the most probable ones"
    value = None if greedy is None else float(greedy)
    return ItemScore(probe=score_probe.id, item=probe.key, value=value, reason=why)


class ExactMatch(DocumentMetric, PooledMean):
    """Is the answer what the model would write (Table 2, EM)? Pooled over probes."""

    name: ClassVar[str] = "em"
    role: ClassVar[Role] = "document_efficacy"
    title: ClassVar[str] = "EM"
    about: ClassVar[str] = "Share of probes whose answer's tokens are all the most probable ones (MULFE Table 2, EM)"
    better: ClassVar[Better] = "higher"

    def value(self, probe: DocumentProbe, after: Answers, before: Answers) -> ItemScore | None:
        """1 where all tokens of the answer are the most probable ones, else 0."""
        return exact_match(probe, self.choice, after)


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
