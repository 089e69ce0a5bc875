from __future__ import annotations

import pytest

from curation.splits.split_file import NONE, Extras
from schemas.extras import Extra

ONE, TWO = (Extra.holding(f"{key}/extra/x", [key], subject_key=key, name="x") for key in ("f/1", "f/2"))


def test_extras_come_in_order_of_their_keys() -> None:
    extras = Extras([TWO, ONE])
    assert list(extras) == [ONE, TWO] and extras == Extras([ONE, TWO]) and extras != NONE
    assert extras.of(["f/2", "f/3"]) == [TWO] and not NONE and NONE.of(["f/1"]) == []


def test_extras_are_no_keys_of_a_dictionary() -> None:
    with pytest.raises(TypeError):
        hash(NONE)
