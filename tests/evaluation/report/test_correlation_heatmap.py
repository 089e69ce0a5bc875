from __future__ import annotations

from evaluation.analysis.correlations import correlate
from evaluation.report.correlation_heatmap import heat_map
from tests.support.report.correlated_metrics import HOW, values


def test_heat_map_has_every_pair_and_says_it_in_words():
    picture = heat_map(correlate(values(within=0.9), "pooled", resampling=HOW))
    assert len(picture.squares) == 9 and len(picture.tree) == 2
    assert sum(s.text == "1" for s in picture.squares) == 3
    strong = [s for s in picture.squares if "A and B" in s.description or "B and A" in s.description]
    assert all(s.shade >= 2 and s.decided and "rho 0." in s.description for s in strong)
    assert heat_map(correlate({"A": values()["A"]}, "pooled", resampling=HOW)) is None


def test_what_has_no_value_is_said_once_and_a_picture_of_nothing_is_none():
    """Eighty tooltips said "undefined"."""
    few = {"A": values()["A"], "B": values()["B"], "C": {"ft": {"c0": 1.0}}}
    picture = heat_map(correlate(few, "pooled", resampling=HOW))
    if picture is not None:
        empty = [s for s in picture.squares if s.text == "–"]
        assert all(s.description == "" for s in empty) and ("pair" in picture.absent) == bool(empty)
        assert not any("undefined" in s.description for s in picture.squares)
    two = {m: {k: v for k, v in by.items() if k != "ft"} for m, by in values().items()}
    assert heat_map(correlate(two, "between", resampling=HOW)) is None


def test_long_names_lean_and_have_room_and_short_ones_stand_as_before():
    short = heat_map(correlate(values(within=0.9), "pooled", resampling=HOW))
    assert (short.slant, short.left, short.top, short.width) == (0, 96, 82, 96 + 3 * short.cell + 8)
    long = {f"Tendencies, locality {name}": by for name, by in values(within=0.9).items()}
    picture = heat_map(correlate(long, "pooled", resampling=HOW))
    letters = max(len(name) for name in long)
    assert picture.slant and picture.left > 7 * letters, "a name beside its row is not cut off"
    last = max(x for _, x, _ in picture.names)
    assert picture.width >= last + 7 * letters * 0.7, "nor is the last name above its column"
    assert picture.top >= 56 + 7 * letters * 0.6, "names reach no higher than the tree"
    assert min(s.x for s in picture.squares) == picture.left and min(s.y for s in picture.squares) == picture.top
