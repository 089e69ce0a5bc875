"""The closed list of tags of document probes (MULFE §4.2): what is asked for, by which inference, which hard case.

The published tags are free text; every spelling of them maps to names of this list
(``curation.loaders.formats.mulfe``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

Tag = Literal[
    "element",
    "time",
    "place",
    "country",
    "number",
    "participant",
    "name",
    "type",
    "status",
    "cause",
    "purpose",
    "result",
    "event",
    "opinion",
    "degree",
    "inference",
    "arithmetic",
    "comparison",
    "summary",
    "recall",
    "reverse",
    "multi_hop",
    "coreference",
    "partial",
]
"""A tag of a document probe."""

TAGS: Mapping[Tag, str] = {
    "element": "something that the document names and that no other tag says",
    "time": "when, or how long",
    "place": "where",
    "country": "a country or nationality",
    "number": "how many, or a number",
    "participant": "who takes part, made it, or belongs to it: a person, a group or an organisation",
    "name": "what it is called: a name, an alias, a title",
    "type": "what kind of thing it is, or what a word means",
    "status": "in which state, role or position",
    "cause": "why: a cause or a reason",
    "purpose": "what for, or by which means",
    "result": "what came of it, or why it matters",
    "event": "what happened",
    "opinion": "what somebody thinks or feels",
    "degree": "how much, how large, how strong",
    "inference": "the answer has to be inferred, with common sense or background knowledge",
    "arithmetic": "counting or calculating",
    "comparison": "comparing, choosing or excluding",
    "summary": "summing up",
    "recall": "the document's own words, or a paraphrase of them",
    "reverse": "asked from the answer's side",
    "multi_hop": "more than one step",
    "coreference": "the document speaks of it in other words",
    "partial": "a part of what the document says (the year of a date)",
}
"""Every tag, and what it says."""

assert tuple(TAGS) == get_args(Tag)
