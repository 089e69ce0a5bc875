from __future__ import annotations

import pytest
from pydantic import ValidationError

from schemas.verdicts import Verdict, verdict_key


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": "drop"}, "carries a reason"),
        ({"label": None}, "a label or a value"),
        ({"value": 1.0}, "has a unit"),
        ({"by": "Leak"}, "pattern"),
    ],
)
def test_verdicts_are_whole(change: dict[str, object], message: str) -> None:
    fields: dict[str, object] = {"key": "v", "item_id": "x", "by": "leak@1", "label": "keep"}
    with pytest.raises(ValidationError, match=message):
        Verdict.model_validate({**fields, **change})


def test_verdict_names() -> None:
    person = Verdict(key="v", item_id="x", by="person:ann3/filter_question@2", label="keep")
    assert person.check == "filter_question"
    assert verdict_key(item_id="x", by="leak@1") != verdict_key(item_id="x", by="leak@1", related=("y",))


def test_a_measurement_needs_no_label() -> None:
    assert Verdict(key="v", item_id="x", by="length@1", label=None, value=0.0, unit="words").value == 0.0


@pytest.mark.parametrize("label", ["drop", "unsure", "unscored"])
def test_blanks_are_no_reason(label: str) -> None:
    with pytest.raises(ValidationError, match="carries a reason"):
        Verdict.model_validate({"key": "v", "item_id": "x", "by": "leak@1", "label": label, "reason": " \n"})


def test_every_part_of_the_name_tells_verdicts_apart() -> None:
    ways = [
        {"item_id": "x", "by": "leak@1"},
        {"item_id": "y", "by": "leak@1"},
        {"item_id": "x", "by": "leak@2"},
        {"item_id": "x", "by": "leak@1", "model": "GPT 4"},
        {"item_id": "x", "by": "leak@1", "related": ("y",)},
        {"item_id": "x", "by": "leak@1", "related": ("y", "z")},
    ]
    assert len({verdict_key(**way) for way in ways}) == len(ways)
    assert verdict_key(item_id="x", by="leak@1", related=("y",), model="GPT 4") == "verdict/leak@1/x~y~gpt-4"
