"""Yields of a store that was counted by hand, and a sheet that does not say who wrote what."""

from __future__ import annotations

import pytest

from curation.store.store import Store
from tests.support.construction.funnels import by_hand

benchmark = pytest.importorskip("benchmarks.authoring.small_models", reason="benchmarks are not shipped")
__all__ = ["by_hand"]


def test_the_yield_of_a_store_counted_by_hand(by_hand):
    with Store.open(by_hand) as store:
        prompts = benchmark.kept_prompts(store)
        funnel = benchmark.yields(store)
    assert {k.prompt.question for k in prompts} == {"f/Peru/q1", "f/Chile/q1", "f/Japan/q1"}
    assert (funnel.facts, funnel.kept, funnel.enough, funnel.some, funnel.scripts) == (3, 3, 0, 3, 7)
    assert "3 of 12: 0.25" in funnel.row("x") and "| 1.00 |" in funnel.row("x")


def test_a_sheet_is_drawn_by_its_seed_and_names_no_profile(by_hand):
    with Store.open(by_hand) as store:
        prompts = benchmark.kept_prompts(store)
    sides = {"first": prompts, "second": prompts[:2]}
    items = benchmark.sheet(sides, 2, 5)
    assert items == benchmark.sheet(sides, 2, 5) and sorted(n for n, _ in items) == ["first"] * 2 + ["second"] * 2
    assert not any("first" in text or "second" in text for _, text in items) and "^ " in items[0][1]


def test_facts_are_printed_with_what_each_profile_brought(by_hand):
    with Store.open(by_hand) as store:
        prompts = benchmark.kept_prompts(store)
    lines = benchmark.printed({"a": prompts, "b": prompts[:1]}, 2)
    assert len(lines) == 6 and lines[0].startswith("1. ") and sum("nothing kept" in line for line in lines) == 1


def test_fresh_facts_are_others_and_their_order_is_drawn():
    tuned, facts = benchmark.forty_facts(), benchmark.forty_facts(fresh=True)
    assert len(tuned) == len(facts) == 40 and not {f.key for f in tuned} & {f.key for f in facts}
    assert facts == benchmark.forty_facts(fresh=True) and len({f.relation.id for f in facts[:20]}) >= 8
    assert {f.key for f in facts[:20]} != {f.key for f in benchmark.forty_facts(fresh=True, seed=1)[:20]}


def test_an_empty_store_divides_by_nothing(tmp_path):
    with Store.open(tmp_path / "e.duckdb", create=True) as store:
        row = benchmark.yields(store).row("x")
    assert "| 0 |" in row and "undefined" in row and "| - |" in row
