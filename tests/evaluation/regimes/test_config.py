"""A regime as a configuration says it: bare names, sizes, what is refused, what goes into a run's identity."""

from __future__ import annotations

from typing import Any

import pytest

from evaluation.regimes.config import LENGTHS, RegimeChoice
from schemas.core.config import validate
from schemas.core.errors import DataError


@pytest.mark.parametrize(
    ("choice", "name", "sizes", "identity"),
    [
        pytest.param({}, "single", (), "single", id="nothing said"),
        pytest.param("single", "single", (), "single", id="a bare name"),
        pytest.param("sequential", "sequential", LENGTHS, "sequential", id="the lengths of a sequence"),
        pytest.param({"name": "batch", "size": 1}, "batch", (1,), "batch:1", id="a batch of one"),
        pytest.param({"name": "batch", "size": [4]}, "batch", (4,), "batch:4", id="a list of one size"),
        pytest.param({"name": "batch", "size": [4, 2, 4]}, "batch", (2, 4), "batch:2, batch:4", id="two sizes"),
        pytest.param({"name": "sequential", "size": 7}, "sequential", (7,), "sequential", id="one length"),
        pytest.param({"name": "sequential", "size": [9, 3, 9, 1]}, "sequential", (1, 3, 9), "sequential", id="mixed"),
    ],
)
def test_what_a_choice_means(choice: Any, name: str, sizes: tuple[int, ...], identity: str) -> None:
    result = RegimeChoice.model_validate(choice)
    assert (result.name, result.sizes, result.text) == (name, sizes, identity)


def test_where_a_sequence_is_scored_is_no_part_of_its_identity() -> None:
    """The edits are the same ones, so finished cases stay good when other lengths are asked for."""
    one = RegimeChoice(name="sequential", size=(1, 5), score="end")
    two = RegimeChoice(name="sequential", size=(100,), score="immediate")
    assert one.text == two.text
    assert RegimeChoice(name="batch", size=2).text != RegimeChoice(name="batch", size=3).text


@pytest.mark.parametrize(
    ("choice", "reason"),
    [
        pytest.param("batch", "'batch' takes one size or more", id="a batch without a size"),
        pytest.param({"name": "batch", "size": []}, "'batch' takes one size or more", id="a batch of no size"),
        pytest.param({"name": "batch", "size": [2, 0]}, "sizes are 1 or more", id="one of two sizes is none"),
        pytest.param({"name": "single", "size": 1}, "'single' takes no size", id="a size of single edits"),
        pytest.param({"name": "revert", "size": 2}, "'revert' takes no size", id="a size of a revert"),
        pytest.param({"name": "reedit", "score": "end"}, "score is for 'sequential'", id="moments of a chain"),
        pytest.param({"name": "batch", "size": 0}, "sizes are 1 or more", id="a batch of none"),
        pytest.param({"name": "sequential", "size": [4, -1]}, "sizes are 1 or more", id="a negative length"),
        pytest.param({"name": "sequential", "size": []}, "takes one length or more", id="no length"),
        pytest.param({"name": "sequential", "size": [], "score": "immediate"}, "one length or more", id="no end"),
        pytest.param({"name": "sequential", "size": "many"}, "size", id="a word for a size"),
        pytest.param({"name": "sequential", "score": "later"}, "score", id="an unknown moment"),
        pytest.param("sequencial", "name", id="an unknown name"),
        pytest.param({"name": "single", "sise": 3}, "did you mean 'size'", id="an unknown key"),
        pytest.param(["single"], "give a name, such as .*or a table", id="a list"),
        pytest.param({"name": "batch", "size": True}, "size: Input should be a number", id="true for a size"),
        pytest.param({"name": "sequential", "size": [True, 5]}, "size: Input should be a number", id="true in a list"),
        pytest.param({"name": "batch", "size": float("inf")}, "size", id="an infinite size"),
    ],
)
def test_what_is_refused(choice: Any, reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        validate(RegimeChoice, choice, where="regime")


def test_what_a_run_folder_keeps_is_read_back() -> None:
    for choice in (RegimeChoice(), RegimeChoice(name="batch", size=3), RegimeChoice(name="sequential", size=(1, 2))):
        assert RegimeChoice.model_validate(choice.model_dump(mode="json")) == choice


def test_every_size_of_a_batch_is_a_regime_and_a_row_of_its_own() -> None:
    several = RegimeChoice(name="batch", size=(10, 2))
    assert [part.text for part in several.parts] == ["batch:2", "batch:10"]
    assert several.parts[0] == RegimeChoice(name="batch", size=2)
    assert several.labels("ft") == ("ft (batch of 2)", "ft (batch of 10)")
    for one in (RegimeChoice(), RegimeChoice(name="batch", size=(3,)), RegimeChoice(name="sequential", size=(1, 2))):
        assert one.parts == (one,) and one.labels("ft") == ("ft",)
