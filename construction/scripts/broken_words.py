"""Words that run together or cannot follow each other: small models under a fixed form write such steps."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

from construction.mentions.name_forms import word_set
from construction.mentions.spelling import common_words

_ARTICLES = word_set("the a an your my our their its")
_FRONT = ("from", "their", "with", "your", "this", "the", "and", "by", "to", "of")
_BACK = ("with", "from", "the", "to", "of", "by")
_SHORT = word_set("to in on at of for from with by into the your and")  # two of these run together are no word, either
_WHOLE = word_set(  # words that only look like two
    "bystander bystanders bypass bypassed bygone hereby layby nearby offal offence offences offend "
    "offender offset offsets offshore offspring onto into passerby proto rugby standby thereby thereof theremin "
    "toadstool toaster tonight torrent totally toward towards towing township townships townhouse therein "
    "thesis tomcat tonic tonics topics tour tours whereby whereof withdraw withdrawal withdrawals withdrawing "
    "withdrawn withdrew withheld withhold withholding within without withstand yourself yourselves tooth "
    "toothed today together tomorrow andes photo presto potato grotto motto auto pinto pesto"
)
_BEFORE = word_set("by at into of to from the a an your my our their its his")  # no preposition right after these
_PREPOSITIONS = word_set("to in of by with from for at into")
_DANGLING = word_set("the a an your my our their its of and or into")
_WORD = re.compile(r"(?<![^\W_])[a-z]+(?![^\W_])")
_NEXT = re.compile(r"\A[ \u00a0]+\Z")


def broken_words(step: str, names: Iterable[str] = ()) -> str | None:
    """What is wrong with the words of a step, or None.

    Args:
        step: The step.
        names: Names that may stand in it and are left as they are.

    Example:
        >>> broken_words("Send the letter bymail to Oslo")
        "'bymail' is two words run together"
        >>> broken_words("Send the letter by to Oslo")
        "'to' cannot follow 'by'"
        >>> broken_words("Put the coat on") is None
        True
    """
    for name in sorted(names, key=len, reverse=True):
        step = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "X", step, flags=re.IGNORECASE)
    matches = list(_WORD.finditer(step[:1].lower() + step[1:]))
    for match in matches:
        if _run_together(match.group()):
            return f"'{match.group()}' is two words run together"
    for one, two in pairwise(matches):
        before = {match.group() for match in matches if match.start() < one.start()}
        if _NEXT.match(step[one.end() : two.start()]) and _cannot_follow(one.group(), two.group(), before):
            return f"'{two.group()}' cannot follow '{one.group()}'"
    if matches and matches[-1].group() in _DANGLING and not re.search(r"\w", step[matches[-1].end() :]):
        return f"the step ends with '{matches[-1].group()}'"
    return None


def _cannot_follow(one: str, two: str, before: set[str]) -> bool:
    """Whether one word cannot stand after another; "and in" can where an "in" stood before."""
    if two == "about" and one in _ARTICLES | {"with", "as"}:
        return True
    if one == "and" and two in _PREPOSITIONS - before:
        return True
    if one in _BEFORE and two in _PREPOSITIONS:
        return True
    return (one in _ARTICLES and two in _ARTICLES) or (one == two and one in _SHORT)


def _run_together(word: str) -> bool:
    """Whether a word that is on no list of ours is a short word and another one."""
    if word in _WHOLE or _is_listed(word):
        return False
    parts = [(f, word.removeprefix(f)) for f in _FRONT if word.startswith(f)]
    parts += [(b, word.removesuffix(b)) for b in _BACK if word.endswith(b)]
    return any(len(rest) > 2 and _is_listed(rest) for _, rest in parts) or any(
        short in _SHORT and rest in _SHORT for short, rest in parts
    )


def _is_listed(word: str) -> bool:
    known = common_words()
    return word in known or (len(word) > 4 and word.endswith("s") and word[:-1] in known)
