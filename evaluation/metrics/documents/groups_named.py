"""Written answers by group: does the line that the model writes name an accepted answer?"""

from __future__ import annotations

from typing import ClassVar

from evaluation.metrics.base import Answers
from evaluation.metrics.documents.groups import UNKNOWN_PREMISE, matches_any
from evaluation.metrics.documents.probes import premise_probes, written_probe
from evaluation.metrics.documents.written import WrittenMatch
from schemas.answers import ItemScore
from schemas.cases import DocumentCase
from schemas.documents.document import DocumentProbe, contains_words
from schemas.documents.statement import Group
from schemas.probes import Probe


class NamedAnswer(WrittenMatch):
    """Does the written line hold an accepted answer as whole words? Case, accents and punctuation aside."""

    def likeness(self, said: str, right: str) -> float:
        """1 where the answer's words stand in the line one after the other, else 0."""
        return float(contains_words(said, right))


class NamedEfficacy(NamedAnswer):
    """The edit itself."""

    name: ClassVar[str] = "named_efficacy"
    title: ClassVar[str] = "Named, edit"
    about: ClassVar[str] = "Share of probes of the edit itself whose written line names an accepted answer"
    group: ClassVar[Group | None] = "efficacy"


class NamedRephrase(NamedAnswer):
    """The edit in other words."""

    name: ClassVar[str] = "named_rephrase"
    title: ClassVar[str] = "Named, rephrased"
    about: ClassVar[str] = "The same of probes that ask for the edit in other words"
    group: ClassVar[Group | None] = "rephrase"


class NamedHop(NamedAnswer):
    """What follows from the edit and other facts."""

    name: ClassVar[str] = "named_hop"
    title: ClassVar[str] = "Named, hops"
    about: ClassVar[str] = "Hop accuracy, written: the line names an accepted answer where several facts are joined"
    group: ClassVar[Group | None] = "hop"


class NamedKnownHop(NamedHop):
    """The same where the unedited model knows the other facts."""

    name: ClassVar[str] = "named_hop_known"
    title: ClassVar[str] = "Named, hops, rest known"
    about: ClassVar[str] = "The same where the unedited model answers all other steps"

    def probes(self, case: DocumentCase) -> list[Probe]:
        """The hops and their premises; these are asked for probabilities."""
        premises = [p for probe in self.asked(case) for p in premise_probes(probe, self.choice)]
        return [*super().probes(case), *premises]

    def value(self, probe: DocumentProbe, after: Answers, before: Answers) -> ItemScore | None:
        """As for all hops; None where a premise is not known before, unscored where that was not asked."""
        known = [matches_any(p, probe.key, before).value for p in premise_probes(probe, self.choice)]
        if None in known:
            asked = written_probe(probe, self.choice)
            return ItemScore(probe=asked.id, item=probe.key, value=None, reason=UNKNOWN_PREMISE)
        return super().value(probe, after, before) if all(known) else None


class NamedLogical(NamedAnswer):
    """What follows from the edit alone."""

    name: ClassVar[str] = "named_logical"
    title: ClassVar[str] = "Named, logical"
    about: ClassVar[str] = "Logical generalisation, written: the line names what follows from the edit alone"
    group: ClassVar[Group | None] = "logical"


class NamedAlias(NamedAnswer):
    """The edit under other names."""

    name: ClassVar[str] = "named_alias"
    title: ClassVar[str] = "Named, aliases"
    about: ClassVar[str] = "The same of probes that call the edit's subject or object by another name"
    group: ClassVar[Group | None] = "alias"


class NamedForgetfulness(NamedAnswer):
    """Other objects that the subject keeps."""

    name: ClassVar[str] = "named_forgetfulness"
    title: ClassVar[str] = "Named, other objects kept"
    about: ClassVar[str] = "Forgetfulness, written: the line names another object that the subject keeps"
    group: ClassVar[Group | None] = "forgetfulness"


class NamedLocality(NamedAnswer):
    """What the edit should leave alone."""

    name: ClassVar[str] = "named_locality"
    title: ClassVar[str] = "Named, locality"
    about: ClassVar[str] = "The same of what the edit should leave alone, by the source's answers"
    group: ClassVar[Group | None] = "locality"
