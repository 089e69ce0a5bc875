from __future__ import annotations

import pytest
from pydantic import ValidationError

from schemas.lineage import Lineage


def test_an_unknown_cost_is_not_free() -> None:
    lineage = Lineage(item_id="x", stage="load", made_at="2026-01-01T00:00:00Z")
    assert lineage.cost is None and lineage.tokens_in is None
    assert Lineage.model_validate_json(lineage.model_dump_json()) == lineage


@pytest.mark.parametrize("missing", ["item_id", "stage", "made_at"])
def test_who_when_and_of_what_are_always_said(missing: str) -> None:
    fields = {"item_id": "x", "stage": "load", "made_at": "2026-01-01T00:00:00Z"}
    with pytest.raises(ValidationError, match="Field required"):
        Lineage.model_validate({name: value for name, value in fields.items() if name != missing})


def test_acts_do_not_share_their_details() -> None:
    one, other = (Lineage(item_id=i, stage="load", made_at="2026") for i in "ab")
    one.detail["seed"] = 1
    assert other.detail == {}
