"""Parsed sentences for tests, as spaCy would give them."""

from __future__ import annotations

from evaluation.simplify.parsing import Phrase, Sentence, Word


def sentence(*words: tuple[str, int, str, str], entities: tuple = (), noun_phrases: tuple = ()) -> Sentence:
    """Words as (text, place of the head, relation, kind); a full stop stands close to the word before it."""
    made = tuple(
        Word(text, n + 1 < len(words) and words[n + 1][2] != "punct" and words[n + 1][0] != "'s", head, relation, kind)
        for n, (text, head, relation, kind) in enumerate(words)
    )
    return Sentence(made, tuple(Phrase(*e) for e in entities), tuple(Phrase(*p) for p in noun_phrases))


OPENED = sentence(
    ("The", 2, "det", "DET"),
    ("Orla", 2, "compound", "PROPN"),
    ("Bridge", 3, "nsubj", "PROPN"),
    ("opened", 3, "ROOT", "VERB"),
    ("in", 3, "prep", "ADP"),
    ("1931", 4, "pobj", "NUM"),
    (".", 3, "punct", "PUNCT"),
    entities=((0, 3, "FAC"), (5, 6, "DATE")),
    noun_phrases=((0, 3),),
)
"""The Orla Bridge opened in 1931."""

DESIGNED = sentence(
    ("Ada", 1, "compound", "PROPN"),
    ("Brun", 2, "nsubj", "PROPN"),
    ("designed", 2, "ROOT", "VERB"),
    ("it", 2, "dobj", "PRON"),
    ("with", 2, "prep", "ADP"),
    ("great", 6, "amod", "ADJ"),
    ("care", 4, "pobj", "NOUN"),
    (".", 2, "punct", "PUNCT"),
    entities=((0, 2, "PERSON"),),
    noun_phrases=((0, 2), (3, 4), (5, 7)),
)
"""Ada Brun designed it with great care."""
