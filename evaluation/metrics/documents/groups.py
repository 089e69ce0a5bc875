"""Exact match by the consequence that a probe asks for: the edit itself, hops, aliases, what must stay."""

from __future__ import annotations

from typing import ClassVar

from evaluation.metrics.base import Answers, Role, row
from evaluation.metrics.documents.base import Better, DocumentMetric, read_answers
from evaluation.metrics.documents.probes import any_answer_probe, premise_probes
from evaluation.metrics.pooled import PooledMean
from schemas.answers import ItemScore
from schemas.cases import DocumentCase
from schemas.documents.document import DocumentProbe
from schemas.probes import Probe, ScoreProbe

UNKNOWN_PREMISE = "before the edit: whether its premises are known"


def matches_any(asked: ScoreProbe, item: str, answers: Answers) -> ItemScore:
    """1 where all tokens of one of the accepted answers are the most probable ones, else 0."""
    read, why = read_answers(asked, answers)
    hits = [target.greedy for target in read]
    if read and None in hits:
        read, why = (), "the answer does not say which tokens are the most probable ones"
    value = float(any(hits)) if read else None
    return ItemScore(probe=asked.id, item=item, value=value, reason=why)


class GroupMatch(DocumentMetric, PooledMean):
    """Would the model write one of the accepted answers? Pooled over the probes of a group.

    Unlike ``em`` it takes every accepted answer: these benchmarks list aliases.
    """

    better: ClassVar[Better] = "higher"
    role: ClassVar[Role] = "other"

    def probe_of(self, probe: DocumentProbe) -> Probe:
        """How probable every accepted answer is, and whether greedy writing would begin with it."""
        return any_answer_probe(probe, self.choice)

    def value(self, probe: DocumentProbe, after: Answers, before: Answers) -> ItemScore | None:
        """1 for an accepted answer."""
        return matches_any(any_answer_probe(probe, self.choice), probe.key, after)


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
