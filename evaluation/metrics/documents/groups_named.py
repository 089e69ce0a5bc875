"""Written answers by group: does the line that the model writes name an accepted answer?"""

from __future__ import annotations

from evaluation.metrics.base import row
from evaluation.metrics.documents.groups import RestKnown
from evaluation.metrics.documents.written import WrittenMatch
from schemas.documents.document import contains_words


class NamedAnswer(WrittenMatch):
    """Does the written line hold an accepted answer as whole words? Case, accents and punctuation aside."""

    def likeness(self, said: str, right: str) -> float:
        """1 where the answer's words stand in the line one after the other, else 0."""
        return float(contains_words(said, right))


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
