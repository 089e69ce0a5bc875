"""One record for all rules about a place."""

from __future__ import annotations

import pytest

from construction.cuts.attributive_uses import attributive_use
from construction.cuts.cut_place import CutPlace
from construction.cuts.leading_words import lead_fault
from construction.cuts.open_places import open_place
from construction.cuts.other_roles import other_role
from construction.cuts.passing_mentions import passing_mention
from construction.cuts.step_words import foreign_step

RULES = (open_place, passing_mention, other_role, attributive_use, lead_fault, foreign_step)


@pytest.mark.parametrize("rule", RULES)
def test_nothing_speaks_against_a_plain_place(rule) -> None:
    assert not rule(CutPlace("Take the train to ", "P36", after=" in the morning"))
    assert not rule(CutPlace("Read the memoirs of ", "P50", person=True))


@pytest.mark.parametrize(
    ("place", "rule"),
    [
        (CutPlace("Think of ", "P36"), open_place),
        (CutPlace("Change trains in ", "P36"), passing_mention),
        (CutPlace("Travel if in ", "P36"), other_role),
        (CutPlace("Take the ", "P36", after=" hoodie"), attributive_use),
        (CutPlace("Travel to ", "P36", after=""), None),
        (CutPlace("Fly to Quito/", "P36"), lead_fault),
        (CutPlace("Juggle plums in ", "P36"), foreign_step),
    ],
)
def test_each_rule_sees_a_fault_of_its_own_and_no_other_does(place: CutPlace, rule) -> None:
    assert [one for one in RULES if one(place) and one is not lead_fault] == [rule] * (rule not in (None, lead_fault))
    assert bool(lead_fault(place)) == (rule is lead_fault)
