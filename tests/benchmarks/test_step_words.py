"""Cross-validation of the words of steps: what is left out is left out, and what is counted is what the rule says."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from benchmarks.checks.script_benchmark import tuning_scripts
from construction.cuts.cut_place import CutPlace
from construction.cuts.step_words import foreign_step, step_tables
from schemas.facts import Relation

benchmark = pytest.importorskip("benchmarks.step_words", reason="benchmarks are not shipped")
TABLES: Mapping[str, frozenset[str]] = {
    "place": frozenset(["fly", "sail"]),
    "place about": frozenset(["read"]),
    "sport": frozenset(["train"]),
    "small": frozenset(["to", "the", "in", "about"]),
}


def place(before: str, relation: str = "P36") -> CutPlace:
    return CutPlace(before, relation)


PROMPTS = [
    benchmark.Source(place("Fly to "), 0),
    benchmark.Source(place("Sail to "), 1),
    benchmark.Source(place("Read about "), 1),
    benchmark.Source(place("Train in ", "P641"), 0),
]


def test_a_place_is_read_from_the_end_of_a_prompt() -> None:
    found = benchmark.place_before("How?\nStep 1: Pack\nStep 2: Ask", Relation(id="P50", label="author"))
    assert found == CutPlace("Ask ", "P50", "", True)


def test_every_variant_leaves_out_what_it_says() -> None:
    variants = {v.name: v for v in benchmark.variants(TABLES, PROMPTS, draws=2)}
    assert set(variants["without those for a place"].tables) == {"sport", "small"}
    without_a = variants["without what only half A of the prompts holds"]
    assert without_a.tables["place"] == {"sail"} and without_a.tables["sport"] == frozenset()
    assert {s.half for s in without_a.held_out} == {0}
    only_b = variants["only the words of half B of the prompts"]
    assert (only_b.tables["place"], only_b.tables["place about"]) == ({"sail", "read"}, {"read"})
    assert {s.half for s in only_b.held_out} == {0} and only_b.tables["small"] == TABLES["small"]
    assert [len(variants[f"half of the words, draw {n}"].tables["place"]) for n in (1, 2)] == [1, 1]


def test_held_is_what_the_rule_says_of_these_words() -> None:
    assert not benchmark.held(place("Fly to "), TABLES) and benchmark.held(place("Hop to "), TABLES)
    assert not benchmark.held(place("Hop to "), {k: v for k, v in TABLES.items() if k != "place"})
    assert benchmark.held(place("Fly about "), TABLES) and not benchmark.held(place("Read about "), TABLES)


def test_no_script_counts_that_another_rule_holds_and_none_is_forgotten() -> None:
    """The tuning scripts were made for other rules: what those leave is found by the words alone."""
    scripts = tuning_scripts()
    kept = benchmark.kept_otherwise(scripts)
    good = {s.key for s in scripts if s.kind == "good"}
    assert {s.key for s, _, is_good in kept if is_good} == good
    assert all(foreign_step(p) for _, p, is_good in kept if not is_good)


def test_the_table_counts_and_shows_the_draws_in_one_line() -> None:
    scripts = tuning_scripts()
    kept = benchmark.kept_otherwise(scripts)
    lines = benchmark.rows(kept, step_tables(), PROMPTS)
    wrong = sum(not good for _, _, good in kept)
    assert lines[0][0] == "all words" and lines[0][2].startswith("0 of ")
    assert lines[-1][0] == "half of the words, 10 draws" and lines[-1][1].endswith(f"of {wrong}")
    assert [line[0] for line in lines[1:7]] == [
        f"without those for a {kind}" for kind in ("place", "firm", "person", "language", "sport", "currency")
    ]
