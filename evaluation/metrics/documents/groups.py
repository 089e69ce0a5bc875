"""Exact match by the consequence that a probe asks for: the edit itself, hops, aliases, what must stay."""

from __future__ import annotations

from typing import ClassVar

from evaluation.metrics.base import Answers, Role
from evaluation.metrics.documents.base import Better, DocumentMetric, read_answers
from evaluation.metrics.documents.probes import any_answer_probe, premise_probes
from evaluation.metrics.pooled import PooledMean
from schemas.answers import ItemScore
from schemas.cases import DocumentCase
from schemas.documents.document import DocumentProbe
from schemas.documents.statement import Group
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


class EfficacyMatch(GroupMatch):
    """The edit itself."""

    name: ClassVar[str] = "em_efficacy"
    role: ClassVar[Role] = "document_efficacy"
    title: ClassVar[str] = "EM, edit"
    about: ClassVar[str] = "EM of probes that ask for the edit in its own words; any accepted answer"
    group: ClassVar[Group | None] = "efficacy"


class RephraseMatch(GroupMatch):
    """The edit in other words."""

    name: ClassVar[str] = "em_rephrase"
    title: ClassVar[str] = "EM, rephrased"
    about: ClassVar[str] = "EM of probes that ask for the edit in other words"
    group: ClassVar[Group | None] = "rephrase"


class PersonaMatch(GroupMatch):
    """The edit as somebody of a certain manner asks for it."""

    name: ClassVar[str] = "em_persona"
    title: ClassVar[str] = "EM, personas"
    about: ClassVar[str] = "EM of probes that ask for the edit in a persona's manner (WikiBigEdit)"
    group: ClassVar[Group | None] = "persona"


class HopMatch(GroupMatch):
    """What follows from the edit and other facts."""

    name: ClassVar[str] = "em_hop"
    title: ClassVar[str] = "EM, hops"
    about: ClassVar[str] = "Hop accuracy: EM of probes that join the edit with other facts, any accepted answer"
    group: ClassVar[Group | None] = "hop"


class KnownHopMatch(HopMatch):
    """The same where the unedited model knows the other facts: a failure is then one of the edit."""

    name: ClassVar[str] = "em_hop_known"
    title: ClassVar[str] = "EM, hops, rest known"
    about: ClassVar[str] = "Hop accuracy where the unedited model answers all other steps, any accepted answer"

    def probes(self, case: DocumentCase) -> list[Probe]:
        """The hops and their premises."""
        premises = [p for probe in self.asked(case) for p in premise_probes(probe, self.choice)]
        return [*super().probes(case), *premises]

    def value(self, probe: DocumentProbe, after: Answers, before: Answers) -> ItemScore | None:
        """As for all hops; None where a premise is not known before, unscored where that was not asked."""
        known = [matches_any(p, probe.key, before).value for p in premise_probes(probe, self.choice)]
        if None in known:
            asked = any_answer_probe(probe, self.choice)
            return ItemScore(probe=asked.id, item=probe.key, value=None, reason=UNKNOWN_PREMISE)
        return super().value(probe, after, before) if all(known) else None


class ScriptHopMatch(GroupMatch):
    """What follows from the edit at the last step of a script."""

    name: ClassVar[str] = "em_script_hop"
    title: ClassVar[str] = "EM, script hops"
    about: ClassVar[str] = "EM at the cut of a script whose last step joins the edit with another fact"
    group: ClassVar[Group | None] = "script_hop"


class LogicalMatch(GroupMatch):
    """What follows from the edit alone."""

    name: ClassVar[str] = "em_logical"
    title: ClassVar[str] = "EM, logical"
    about: ClassVar[str] = "Logical generalisation: EM of what follows from the edit alone, such as its other direction"
    group: ClassVar[Group | None] = "logical"


class AliasMatch(GroupMatch):
    """The edit under other names."""

    name: ClassVar[str] = "em_alias"
    title: ClassVar[str] = "EM, aliases"
    about: ClassVar[str] = "EM of probes that call the edit's subject or object by another name"
    group: ClassVar[Group | None] = "alias"


class ForgetfulnessMatch(GroupMatch):
    """Other objects that the subject keeps."""

    name: ClassVar[str] = "em_forgetfulness"
    title: ClassVar[str] = "EM, other objects kept"
    about: ClassVar[str] = "Forgetfulness: EM of the other objects that the edited subject and relation keep"
    group: ClassVar[Group | None] = "forgetfulness"


class LocalityMatch(GroupMatch):
    """What the edit should leave alone."""

    name: ClassVar[str] = "em_locality"
    role: ClassVar[Role] = "document_locality"
    title: ClassVar[str] = "EM, locality"
    about: ClassVar[str] = "EM of what the edit should leave alone, by the source's answers"
    group: ClassVar[Group | None] = "locality"
