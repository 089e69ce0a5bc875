"""The rubric's deterministic rules, computed literally (ScEdit Figures 9 and 10), and who rates against them.

Some ratings follow from which of the two objects a script names: both objects bring Coherence 2, only the old one 1,
neither 3; a script that names fewer than two objects has Consistency 7. Where only the new object is named Coherence is
free, where both are Consistency is free. Disagreements of people and judges are reported and never corrected: in the
paper's own Table 7 two of its ratings deviate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from schemas.facts import Fact
from schemas.ratings import Aspect, Rating
from schemas.text.mentions import find

NamedObjects = Literal["both", "old", "new", "neither"]

_COHERENCE: Mapping[NamedObjects, int | None] = {"both": 2, "old": 1, "neither": 3, "new": None}
_WORDS: Mapping[NamedObjects, str] = {
    "both": "names both objects",
    "old": "names the old object only",
    "new": "names the new object only",
    "neither": "names neither object",
}


def named_objects(text: str, fact: Fact) -> NamedObjects:
    """Which objects of an edit a text names, literally: their own text as whole words, case aside, no other names.

    What is only part of a longer mention of the other object does not count ("York" where the other is New York).

    Raises:
        UserError: the fact has no new object.

    Example:
        >>> from schemas.facts import Entity, Object, Relation, Source
        >>> fact = Fact(key="f/1", subject=Entity(text="Peru"), relation=Relation(id="P36"), old=Object(text="Lima"),
        ...             prompt="The capital of {} is", new=Object(text="Oslo"), source=Source(name="me", licence="CC0"))
        >>> named_objects("Step 1: Fly to oslo", fact), named_objects("Step 1: See the Limas of Osloville", fact)
        ('new', 'neither')
    """
    old = bool(find(text, fact.old, literal=True, beside=[fact.new_object]))
    new = bool(find(text, fact.new_object, literal=True, beside=[fact.old]))
    return "both" if old and new else "old" if old else "new" if new else "neither"


def expected_ratings(names: NamedObjects) -> dict[Aspect, int]:
    """The ratings that follow from what is named; an aspect that is left out is free.

    Example:
        >>> expected_ratings("both"), expected_ratings("old"), expected_ratings("new")
        ({'coherence': 2}, {'coherence': 1, 'consistency': 7}, {'consistency': 7})
    """
    expected: dict[Aspect, int] = {}
    if (coherence := _COHERENCE[names]) is not None:
        expected["coherence"] = coherence
    if names != "both":
        expected["consistency"] = 7
    return expected


class RuledScript(NamedTuple):
    """A script that rules are applied to: its text, its fact, whether it was edited."""

    text: str
    fact: Fact
    edited: bool


class RubricDisagreement(NamedTuple):
    """A rating that is not what the rule says.

    Attributes:
        item: Content id of the script.
        rater: Who rated it.
        given: The rating.
        rule: What the rule says.
        why: What the script names.
    """

    item: str
    rater: str
    aspect: Aspect
    given: int
    rule: int
    why: str


class RubricReport(NamedTuple):
    """What the rules say of many ratings.

    Attributes:
        ruled: Scored ratings that a rule decides, by (rater, aspect).
        agreed: Those of them that are what the rule says.
        disagreements: The others, in the order of the ratings.
        free: Scored ratings that no rule decides.
    """

    ruled: Mapping[tuple[str, str], int]
    agreed: Mapping[tuple[str, str], int]
    disagreements: Sequence[RubricDisagreement]
    free: int


def check_against_rubric(ratings: Iterable[Rating], scripts: Mapping[str, RuledScript]) -> RubricReport:
    """Compare ratings with the rules.

    Args:
        ratings: Of people and judges; unscored ones and aspects without a rule are passed over.
        scripts: By content id.
    """
    ruled: dict[tuple[str, str], int] = {}
    agreed: dict[tuple[str, str], int] = {}
    disagreements, free, names = [], 0, dict[str, NamedObjects]()
    for rating in ratings:
        if rating.value is None or rating.item_id not in scripts:
            continue
        script = scripts[rating.item_id]
        place = (rating.rater, rating.aspect)
        if rating.item_id not in names:
            names[rating.item_id] = named_objects(script.text, script.fact)
        named = names[rating.item_id]
        rule = expected_ratings(named).get(rating.aspect)
        if rule is None:
            free += 1
            continue
        ruled[place] = ruled.get(place, 0) + 1
        agreed[place] = agreed.get(place, 0) + (rating.value == rule)
        if rating.value != rule:
            why = f"the script {_WORDS[named]}"
            disagreements.append(
                RubricDisagreement(rating.item_id, rating.rater, rating.aspect, rating.value, rule, why)
            )
    return RubricReport(ruled, agreed, disagreements, free)
