"""Cases with scripts come first; a sample holds them and a draw of the others that shorter lengths share."""

from __future__ import annotations

import pytest

from curation import mini_split
from curation.case_sources.choosing import choose, has_scripts, scripts_first
from curation.splits.split_file import make_split
from evaluation.regimes.config import RegimeChoice
from evaluation.regimes.sampling import sampled_positions
from evaluation.regimes.sequential import SequentialRegime
from schemas.cases import AnyCase, Case
from tests.support.facts import peru_fact

SCRIPTS = list(mini_split().cases[:3])
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
