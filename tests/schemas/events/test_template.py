from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from schemas.events.template import EntityPath, EventTemplate, FeasibilityRule, ImpactedTriplet
from tests.support.construction.event_templates import TRANSFER


def made(**changes: Any) -> EventTemplate:
    return EventTemplate.model_validate({**TRANSFER, **changes})


def test_roles_paths_and_what_roles_are_called() -> None:
    template = made()
    assert template.roles == ("A", "B", "C")
    assert [template.role_name(role) for role in template.roles] == ["Player", "B", "C"]
    assert template.paths == (EntityPath.parse("A.P54"), EntityPath.parse("B.P118"))  # what may change is not followed


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"text": "{A} met {Z} at {B}"}, r"the place \{Z\} of the template 'transfer' has no type"),
        ({"text": "Somebody moved."}, "has no place such as"),
        ({"text": " "}, "must not"),
        ({"derived": {"A": "B.P54", "C": "A.P54"}}, "the role 'A' is drawn and derived"),
        ({"derived": {"C": "A"}}, "has to lead from a drawn one"),
        ({"derived": {"C": "A.P54", "D": "C.P118"}}, "has to lead from a drawn one"),
        ({"impacted": []}, "changes nothing"),
        ({"impacted": [{"role": "X", "relation": "P54", "object": "B"}]}, r"no role 'X' \(there are A, B, C\)"),
        ({"impacted": [{"role": "A", "relation": "P54", "object": "X.P118"}]}, "no role 'X'"),
        ({"untouched": [{"role": "A", "relation": "P54"}]}, "would be in and out of scope"),
        (
            {"impacted": [{"role": "A", "relation": "P54", "object": o} for o in ("B", "unknown")]},
            "the relation 'P54' of 'A' is impacted twice",
        ),
        ({"feasible": [{"rule": "differ", "role": "A", "relation": "P54", "other": "Y"}]}, "no role 'Y'"),
        ({"feasible": [{"rule": "differ", "role": "A", "relation": "P54"}]}, "needs a second role"),
        ({"feasible": [{"rule": "absent", "role": "A", "relation": "P54", "other": "B"}]}, "takes no second role"),
        ({"places": {"A": {"kind": "player"}, "B": "club"}}, "places.A"),
    ],
)
def test_a_faulty_template_is_refused_in_one_sentence(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        made(**changes)


def test_an_object_is_a_role_a_path_or_unknown() -> None:
    def object(text: str) -> ImpactedTriplet:
        return ImpactedTriplet(role="A", relation="P54", object=text)

    assert object("B").path == EntityPath(role="B") and not object("B").unknown
    assert object("B.P118.P17").path.relations == ("P118", "P17")
    assert object("Unknown").unknown
    assert FeasibilityRule(rule="absent", role="A", relation="P570").other is None
