"""The version of the rules that say what a mention is, where a script is cut and what is cleaned off a step.

What was made under an earlier version is never judged or cut again behind a user's back: a journal belongs to the
version under which it was begun, and a verdict says which version of its check it is by.
"""

from __future__ import annotations

import logging
from typing import Literal, get_args

from construction.llm.reply_cache import ReplyCache

Rules = Literal[1, 2, 3, 4, 5, 6]
"""``1``: names in any case, as versions 0.1.0 and 0.2.0 of this toolkit had it. ``2``: names that are common words keep
their capital, longer names are ``unsure``, derived names are found, list labels and markdown marks are taken off.
``3``: places where the object plays another part, or only describes another thing, are ``unsure`` to cut at;
all else as in ``2``. ``4``: so are places without a word before them that leads to an object of their kind; an article
that fits one object only gives it away; hidden characters and rarer labels are taken off; dates and more spellings are
found. ``5``: a step without a word that goes with the kind of object is ``unsure`` to cut at; look-alike letters, cases
of Cyrillic names and namesake towns are found; labels of other languages are taken off. ``6``: words made from a
person's surname, signs of currencies, irregular cases and longer names without capitals are found; more common words
are no names, and a word whose neighbours say what it is is none; "3/4 cups" keeps its fraction; more places that lead
nowhere are ``unsure`` to cut at."""

RULES: Rules = 6
EARLIEST: Rules = 1

_NOTE = "rules/mentions"

logger = logging.getLogger(__name__)


def rules_of(cache: ReplyCache) -> Rules:
    """The version that the journal was begun under, so that a resumed run comes to the records that it promised.

    A journal with replies but no note was begun when there was one version only.
    """
    return cache.begun_with(_NOTE, get_args(Rules), earlier=EARLIEST, present=RULES)


def settle_rules(cache: ReplyCache) -> Rules:
    """The same; a new journal gets a note of it, and of an old one it is said that its cuts stay as they are."""
    rules = rules_of(cache)
    if rules != RULES:
        logger.warning(
            "the journal was begun under version %d of the rules of mentions and cuts: it goes on with them (a new "
            "journal follows version %d; scedit store check judges what stands here by it)",
            rules,
            RULES,
        )
    elif cache.noted(_NOTE) is None:
        cache.note(_NOTE, rules)
    return rules
