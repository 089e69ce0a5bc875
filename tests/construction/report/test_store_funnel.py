"""The yield of a store: counted by hand, beside what a frozen split holds, and as text, JSON and page."""

from __future__ import annotations

from collections import Counter

import pytest

from construction.report.store_funnel import store_yield
from curation.rules.release import freeze
from curation.rules.rule import SplitRule
from curation.store.store import Store
from tests.support.construction import funnels

by_hand = funnels.by_hand
constructed = funnels.constructed


def test_counted_by_hand(by_hand):
    funnel = store_yield(by_hand)
    stages = {s.name.split(" (")[0]: (s.total, s.kept, s.unsure, s.surplus, s.dropped) for s in funnel.funnel}
    assert stages["edited facts"] == (2, 1, 1, 0, 0)  # the undated one waits although its prompt is kept
    assert stages["neighbour facts"] == (1, 1, 0, 0, 0)
    assert stages["questions"] == (6, 3, 1, 0, 2)
    assert stages["scripts"] == (7, 6, 0, 0, 1)
    assert stages["prompts"] == (6, 4, 1, 0, 1)
    assert stages["neighbour links"] == (1, 1, 0, 0, 0)
    assert {(w.check, w.label): w.count for w in funnel.reasons} == {
        ("early_cut", "unsure"): 1,
        ("leak_in_prompt", "drop"): 1,
        ("no_mention", "drop"): 1,
        ("fact_dates", "unsure"): 1,
    }
    counterfactual, temporal = funnel.table
    assert (counterfactual.cases, counterfactual.efficacy, counterfactual.specificity) == (1, 2, 1)
    assert (temporal.cases, temporal.efficacy, temporal.specificity) == (0, 0, 0)
    assert funnel.steps == {1: 1, 2: 5} and funnel.early_percent == pytest.approx(100 / 6)
    assert funnel.filtered_percent == pytest.approx(100 * 2 / 6)
    (authors,) = funnel.authors
    assert (authors.author, authors.scripts, authors.kept, authors.unsure, authors.dropped) == ("gpt-4o", 5, 2, 1, 2)
    (spending,) = funnel.spending
    assert (spending.calls, spending.tokens_in) == (4, 4_000_000) and spending.cost is not None


def test_table_1_is_what_a_split_holds(by_hand):
    line = store_yield(by_hand).table[0]
    with Store.open(by_hand, write=True) as store:
        cases = list(freeze(store, "all", SplitRule()).cases)
    assert len(cases) == line.cases and sum(len(c.prompts) for c in cases) == line.efficacy
    assert sum(len(n.prompts) for c in cases for n in c.neighbours) == line.specificity


def test_a_split_that_was_added_is_not_counted(by_hand, tmp_path):
    from curation.loaders.importer import import_split
    from tests.support.small import small_split

    before = store_yield(by_hand).model_dump()
    import_split(small_split(), by_hand, origin="mini")
    after = store_yield(by_hand).model_dump()
    assert before.pop("elsewhere") == 0 and after.pop("elsewhere") > 100
    assert after == before


def test_the_store_says_what_the_run_said(constructed):
    path, funnel = constructed
    yield_result = store_yield(path)
    stages = {s.name.split(" (")[0]: s for s in yield_result.funnel}
    assert stages["questions"].kept + stages["questions of neighbours"].kept == funnel["kept"]
    assert yield_result.steps.get(1, 0) > 0 and yield_result.model_dump(mode="json").items() <= funnel.items()
    assert sum(s.calls for s in yield_result.spending) == funnel["calls"]
    assert Counter(s.stage for s in yield_result.spending) == {"questions": 1, "scripts": 2}
    with Store.open(path, write=True) as store:
        cases = list(freeze(store, "all", SplitRule()).cases)
    line = yield_result.table[0]
    assert (line.cases, line.efficacy) == (len(cases), sum(len(c.prompts) for c in cases)) and cases
