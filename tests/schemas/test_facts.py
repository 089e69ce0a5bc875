from __future__ import annotations

import pytest
from pydantic import ValidationError

from schemas.core.errors import UserError
from schemas.facts import Entity, Neighbour, Object
from tests.support.facts import make_fact


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prompt": "The capital is"}, "exactly one"),
        ({"prompt": "{} and {}"}, "it holds 2"),
        ({"new": {"text": "lima"}}, "equal"),
        ({"new": None, "change": "counterfactual"}, "new object exactly when"),
        ({"subject": " Peru"}, "white space"),
        ({"subject": ""}, "empty"),
        ({"key": "a b"}, "pattern"),
    ],
    ids=["no gap", "two gaps", "equal objects", "no new object", "space", "empty", "key with space"],
)
def test_bad_facts_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        make_fact(**change)


def test_names_are_the_text_then_the_aliases() -> None:
    assert Entity(text="Rome").names == ("Rome",)
    assert Object(text="Rome", aliases=("Roma", "Rome")).names == ("Rome", "Roma", "Rome")


def test_the_prompt_takes_any_subject_as_it_is() -> None:
    assert make_fact("{}", prompt="In {}").fact_prompt == "In {}"
    assert make_fact(r"C:\x {0}", prompt="On {} lies").fact_prompt == r"On C:\x {0} lies"


@pytest.mark.parametrize("change", ["counterfactual", "temporal"])
def test_an_edit_has_a_new_object(change: str) -> None:
    assert make_fact(change=change).change == change
    with pytest.raises(ValidationError, match="new object exactly when"):
        make_fact(change="none")


def test_objects_are_told_apart_by_text_and_not_by_alias() -> None:
    assert make_fact(new=Object(text="Lima City", aliases=("Lima",))).new is not None
    with pytest.raises(ValidationError, match="nothing would be edited"):
        make_fact(old="Straße", new="STRASSE")


@pytest.mark.parametrize("kind", ["same_object", "near_subject", "random"])
def test_a_neighbour_is_of_one_of_two_kinds(kind: str) -> None:
    link = {"key": "n/1", "edit": "f/1", "fact": "f/2", "how": kind}
    if kind == "random":
        with pytest.raises(ValidationError, match="'same_object' or 'near_subject'"):
            Neighbour.model_validate(link)
    else:
        assert Neighbour.model_validate(link).distance is None


def test_the_new_object_of_a_fact_that_has_none() -> None:
    assert make_fact().new_object == make_fact().new
    bare = make_fact(new=None)
    with pytest.raises(UserError, match=f"{bare.key}: the fact has no new object: there is nothing to edit"):
        _ = bare.new_object
