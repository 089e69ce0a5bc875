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
    """A script that rules are applied to: both texts that raters may have read, its fact, whether it was edited."""

    raw: str
    steps: str
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
        skipped: Scored ratings that were given on other terms (see ``check_against_rubric``), by (rater, aspect).
    """

    ruled: Mapping[tuple[str, str], int]
    agreed: Mapping[tuple[str, str], int]
    disagreements: Sequence[RubricDisagreement]
    free: int
    skipped: Mapping[tuple[str, str], int]


def rated_under_old_form(rating: Rating, *, edited: bool) -> bool:
    """Whether a rating of Coherence measures against the old object: a person's, on a script of the unedited model.

    Version 1 of our form for people took the object that counts for the script, which is the old one where nothing was
    edited. The paper's Coherence (Figure 9), the form since then and our judges measure against the new object.
    """
    return rating.aspect == "coherence" and not edited and rating.form == "rate_script@1"


def check_against_rubric(ratings: Iterable[Rating], scripts: Mapping[str, RuledScript]) -> RubricReport:
    """Compare ratings with the rules.

    Args:
        ratings: Of people and judges; unscored ones and aspects without a rule are passed over.
        scripts: By content id. A rating is held against the text that its rater read.
    """
    ruled: dict[tuple[str, str], int] = {}
    agreed: dict[tuple[str, str], int] = {}
    skipped: dict[tuple[str, str], int] = {}
    disagreements, free, names = [], 0, dict[str, NamedObjects]()
    for rating in ratings:
        if rating.value is None or rating.item_id not in scripts:
            continue
        script = scripts[rating.item_id]
        text = script.steps if rating.shown == "steps" else script.raw
        place = (rating.rater, rating.aspect)
        if rated_under_old_form(rating, edited=script.edited):
            skipped[place] = skipped.get(place, 0) + 1
            continue
        kind = f"{rating.item_id}/{rating.shown}"
        if kind not in names:
            names[kind] = named_objects(text, script.fact)
        rule = expected_ratings(names[kind]).get(rating.aspect)
        if rule is None:
            free += 1
            continue
        ruled[place] = ruled.get(place, 0) + 1
        agreed[place] = agreed.get(place, 0) + (rating.value == rule)
        if rating.value != rule:
            why = f"the script {_WORDS[names[kind]]}"
            disagreements.append(
                RubricDisagreement(rating.item_id, rating.rater, rating.aspect, rating.value, rule, why)
            )
    return RubricReport(ruled, agreed, disagreements, free, skipped)
