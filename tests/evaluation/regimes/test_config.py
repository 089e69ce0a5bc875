"""A regime as a configuration says it: bare names, sizes, what is refused, what goes into a run's identity."""

from __future__ import annotations

from typing import Any

import pytest

from curation.case_sources.opening import choose, has_scripts, scripts_first
from curation.splits.split_file import make_split
from evaluation.regimes.config import LENGTHS, RegimeChoice, sampled_positions
from evaluation.regimes.sequential import SequentialRegime
from schemas.cases import AnyCase, Case
from schemas.core.config import validate
from schemas.core.errors import DataError
from tests.support.facts import peru_fact
from tests.support.small import small_split


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


SCRIPTS = list(small_split().cases[:3])
PLAIN: list[AnyCase] = [Case(key=f"case/{n}", fact=peru_fact(f"f/{n}")) for n in range(17)]


def test_scripts_first_in_their_order_and_others_in_theirs() -> None:
    mixed = [PLAIN[4], SCRIPTS[1], PLAIN[0], SCRIPTS[0]]
    assert scripts_first(mixed) == [SCRIPTS[1], SCRIPTS[0], PLAIN[4], PLAIN[0]]
    split = make_split("s", [*PLAIN, *SCRIPTS])
    drawn, ordered = choose(split), choose(split, order="scripts_first")
    assert list(ordered) == scripts_first(drawn) != list(drawn)
    limited = choose(split, order="scripts_first", limit=3)
    assert all(map(has_scripts, limited)) and limited == ordered[:3], "the order comes before the limit"


def test_all_where_there_is_room() -> None:
    cases = [*SCRIPTS, *PLAIN]
    assert sampled_positions(cases, 4, None) == sampled_positions(cases, 4, 4) == [1, 2, 3, 4]


def test_scripts_stay_and_others_are_drawn_by_their_keys() -> None:
    cases = [*SCRIPTS, *PLAIN]
    long, longer = sampled_positions(cases, 12, 7), sampled_positions(cases, 20, 7)
    assert long[:3] == longer[:3] == [1, 2, 3] and len(long) == len(longer) == 7
    assert {p for p in longer if p <= 12} <= set(long), "what is asked later was asked before"
    other = [*SCRIPTS, *reversed(PLAIN)]
    assert {other[p - 1].key for p in sampled_positions(other, 20, 7)} == {cases[p - 1].key for p in longer}
    assert sampled_positions(cases, 20, 2)[-1] <= 3


@pytest.mark.parametrize("score", ["immediate", "end", "both"])
def test_a_sequence_asks_the_sample_only(score: str) -> None:
    cases = [*SCRIPTS, *PLAIN]
    choice = RegimeChoice.model_validate({"name": "sequential", "size": [2, 20], "sample": 5, "score": score})
    units = [(u.position, u.after) for u in SequentialRegime(choice).units(cases)]
    at_end, at_two = sampled_positions(cases, 20, 5), [1, 2]
    now = [(p, p) for p in sorted({*at_end, *at_two})] if score != "end" else []
    later = [(p, n) for n, some in ((2, at_two), (20, at_end)) for p in some] if score != "immediate" else []
    assert sorted(units) == sorted({*now, *later})
