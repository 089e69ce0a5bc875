"""The tags of MULFE, which are free text, mapped to the closed list of ``schemas.documents.tags``.

A spelling is folded (case, hyphens, slashes) and looked up whole; else every word of it says its part: "Part-Time
Extraction" is ``time`` and ``partial``, "Nation Inference" is ``country`` and ``inference``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from schemas.documents.tags import TAGS, Tag

_PHRASES: Mapping[str, str] = {
    "time event inverse": "time reverse",
    "time event reverse": "time reverse",
    "time location reverse": "time place reverse",
    "historical event inference": "event inference",
    "historical record": "event",
    "historical context": "event",
    "historical understanding": "event",
    "history influence": "result",
    "event name extraction": "name",
    "event element": "element",
    "event location inference": "place inference",
    "event duration": "time",
    "event description": "event",
    "related event extraction": "event",
    "cause effect": "cause result",
    "cause and effect": "cause result",
    "cause effect extraction": "cause result",
    "cause and effect inference": "cause result inference",
    "background information": "inference",
    "background knowledge": "inference",
    "general knowledge": "inference",
    "general knowledge inference": "inference",
    "general understanding": "inference",
    "knowledge": "recall",
    "factual knowledge": "recall",
    "country recalling": "country recall",
    "number recalling": "number recall",
    "recalling participants": "participant recall",
    "list recall": "recall",
    "summarized judgement": "summary opinion",
    "public opinion inference": "opinion inference",
    "numeric question": "number",
    "math calculation": "arithmetic",
    "simple math": "arithmetic",
    "simple choice": "comparison",
    "associative reasoning": "inference",
    "asking for time": "time",
    "specific year": "time",
    "locating information": "recall",
    "locating": "recall",
    "information type": "type",
    "name extraction": "name",
    "full name extraction": "name",
    "yes no question": "inference",
    "true or false": "inference",
    "identifying relationships": "element",
    "identifying involved parties": "participant",
    "entity identification": "recall",
    "specific entity inference": "element inference",
    "understanding inference": "inference",
    "fact based": "recall",
    "fact checking": "inference",
    "fact finding": "recall",
    "fact inference": "inference",
    "factual inference": "inference",
    "negative fact retrieval": "comparison",
    "situation extraction": "status",
    "result inference": "result inference",
    "theme extraction": "type",
    "sequential inference": "inference event",
    "sequential extraction": "event",
    "conduct inference": "event inference",
}
_WORDS_OF: Mapping[str, str] = {
    "": (
        "extraction extration extaction inquiry question asking simple complex specific basic "
        "information specifying specification and wh to multi"
    ),
    "element": (
        "element content detail details domain attribute relation relationship sport awards prize "
        "capability crime instrument team record culture task measure coincidence challenge advantage "
        "platform area"
    ),
    "time": "time date year duration timespan temporal birth death frequency",
    "place": "location locational",
    "country": "nation nationality country",
    "number": "number numeric numerical quantification quantitative",
    "participant": "participant organization creator author audience affiliation membership",
    "name": "name alias title language",
    "type": (
        "type topic genre category categorization classification classifying definition definitional "
        "defining concept conceptual meaning vocabulary synonyms translation"
    ),
    "status": "status role circumstance focus",
    "cause": "cause causal causality reason explanation",
    "purpose": "purpose means method",
    "result": "result effect influence impact importance significance consequence implication",
    "event": "event action",
    "opinion": "opinion stance emotion tone",
    "degree": "degree",
    "inference": (
        "inference infererence reasoning entail induction commonsense textual critical thinking "
        "understanding understand comprehension interpretation speculation prediction deduction analysis "
        "analytical analyzing assessing verification verifying confirmation binary context elaborative "
        "clarifying"
    ),
    "arithmetic": "math calculating calculation calculative counting",
    "comparison": "comparison comparative choice exclusion negation negative",
    "summary": "summary summarizing summarization",
    "recall": (
        "factual fact facts reciting recalling recall rephrasing paraphrasing retrieval identification "
        "identifying memory descriptive listing list seeking finding sequences recognition recognizing"
    ),
    "reverse": "reverse inverse property",
    "multi_hop": "hop",
    "coreference": "correference coreference",
    "partial": "part partial",
}
"""Single words by what they say; those under "" say nothing, or only with others."""
_WORDS = {word: tag for tag, words in _WORDS_OF.items() for word in words.split()}


class ReadTags(NamedTuple):
    """Tags of the closed list, in its order, and the spellings that mean none of them."""

    tags: tuple[Tag, ...]
    unknown: tuple[str, ...] = ()


def read_tags(spellings: Iterable[str]) -> ReadTags:
    """The tags that published spellings mean.

    Example:
        >>> read_tags(["Part-Time Extraction", "Multi-Hop", "Weather"])
        ReadTags(tags=('time', 'multi_hop', 'partial'), unknown=('Weather',))
    """
    meant: set[str] = set()
    unknown = []
    for spelling in spellings:
        if meaning := _meaning(spelling):
            meant |= meaning
        else:
            unknown.append(spelling)
    return ReadTags(tuple(tag for tag in TAGS if tag in meant), tuple(unknown))


def _meaning(spelling: str) -> set[str]:
    """Tags of one spelling; empty where a word of it is not known."""
    folded = " ".join(re.findall(r"\w+", spelling.casefold()))
    if folded in _PHRASES:
        return set(_PHRASES[folded].split())
    words = folded.split()
    if not all(word in _WORDS for word in words):
        return set()
    meant = {_WORDS[word] for word in words} - {""}
    if words and not meant:  # "Simple Question", "Specific Information": what the document says
        return {"recall"}
    return meant - {"recall"} if len(meant) > 1 and "inference" in meant else meant
