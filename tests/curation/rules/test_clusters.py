"""Of every cluster of near-duplicates one item stays; which one, and when none has to go."""

from __future__ import annotations

import itertools

import pytest

from curation.overlap.near_duplicates import near_duplicates, store_items
from curation.rules.rule import SplitRule
from curation.rules.selection import Ruling, components, resolve_clusters
from curation.store.store import Store
from schemas.facts import Entity
from schemas.verdicts import Verdict
from tests.support.curation.rule_outcomes import MEASURED, agrees, kept, like
from tests.support.curation.rule_records import BESIDE, EDIT, LINK, OTHER, P0, P1, Q0, Q1, Q2, S0, ann, chain, said
from tests.support.facts import peru_fact

CLUSTERS = [
    ("the preferred stays", [like(Q1, Q0), like(Q2, Q0)], "0"),
    ("a chain is one cluster", [like(Q2, Q1), like(Q1, Q0)], "0"),
    ("preference need not be the key", [like(Q0, Q2), like(Q1, Q2)], "2"),
    ("both ways: the smaller key", [like(Q1, Q2), like(Q2, Q1)], "01"),
    ("under the threshold", [like(Q1, Q0, 0.3), like(Q2, Q1)], "01"),
    ("the preferred is out itself", [like(Q1, Q0), like(Q2, Q0), said(Q0.id, "a@1", "drop")], "1"),
    ("its prompt is out, the question stands", [like(Q1, Q0), like(Q2, Q0), said(P0.id, "a@1", "drop")], "-"),
    ("a person keeps one of the others", [like(Q1, Q0), like(Q2, Q0), ann(Q2.id, "keep")], "2"),
    ("like something that is gone", [like(Q1, Q1.model_copy(update={"text": "How?"}))], "012"),
    ("a person drops what would stay", [like(Q1, Q0), like(Q2, Q0), ann(Q0.id, "drop")], "1"),
    ("people keep two of one", [like(Q1, Q0), like(Q2, Q0), ann(Q1.id, "keep"), ann(Q2.id, "keep")], "12"),
    ("beside another fact's", [like(Q1, BESIDE[0])], "02"),
]  # fmt: skip


@pytest.mark.parametrize(("verdicts", "expected"), [c[1:] for c in CLUSTERS], ids=[c[0] for c in CLUSTERS])
def test_clusters_keep_a_representative(store: Store, verdicts: list[Verdict], expected: str) -> None:
    store.put(verdicts)
    rule = SplitRule.model_validate(MEASURED)
    assert kept(store, rule) == expected
    agrees(store, rule)


def test_representative_outside_the_split_does_not_count(store: Store) -> None:
    """A near-duplicate of an item that this split does not hold is no loss; as a neighbour's it would be held."""
    far = peru_fact("g/chile", subject=Entity(text="Chile"))
    question, script, prompt = chain(far, 0)
    store.put([far, question, script, prompt, like(Q1, question)])
    rule = SplitRule.model_validate(MEASURED)
    assert kept(store, rule) == "02"
    assert kept(store, rule.model_copy(update={"prefix": "f/"})) == "012"


def test_thresholds_over_measured_near_duplicates(alone: Store) -> None:
    """The verdicts of the near-duplicate search, measured once, serve every threshold above the measured one."""
    alone.put(near_duplicates(store_items(alone), threshold=0.3).verdicts())
    results = {}
    for below in (0.5, 0.8, 0.9):
        rule = {"thresholds": [{"check": "near_duplicate", "below": below, "clusters": True, "unit": "rouge1_f"}]}
        results[below] = kept(alone, SplitRule.model_validate(rule))
    assert results == {0.5: "0", 0.8: "0", 0.9: "012"}


def test_components_do_not_depend_on_order() -> None:
    edges = {"c": ("b",), "b": ("a",), "x": ("y",), "q": ("q",)}
    expected = [["a", "b", "c"], ["q"], ["x", "y"]]
    for order in itertools.permutations(edges):
        assert components({k: edges[k] for k in order}) == expected


def test_nothing_is_settled_without_clusters_or_verdicts(store: Store) -> None:
    assert resolve_clusters(store, Ruling(store, SplitRule.model_validate(MEASURED))) == {}
    store.put([like(Q1, Q0)])
    rule = SplitRule.model_validate({"thresholds": [{"check": "dup", "max": 0.4, "unit": "f"}]})
    assert resolve_clusters(store, Ruling(store, rule)) == {}
    assert kept(store, rule) == "02", "without clusters a value out of bounds is one item's own"


@pytest.mark.parametrize("then", ["drop", "hold"])
def test_what_becomes_of_the_others_and_why(store: Store, then: str) -> None:
    store.put([like(Q1, Q0)])
    rule = {"thresholds": [{**MEASURED["thresholds"][0], "then": then}]}
    settlement = Ruling(store, SplitRule.model_validate(rule)).settled
    assert {i: (d.outcome, d.by, d.reason) for i, d in settlement.items()} == {
        Q1.id: (then, "dup", f"in a cluster with '{Q0.key}', which stays")
    }


def test_what_one_threshold_takes_out_is_out_for_the_next(store: Store) -> None:
    """Q1 goes for Q0; then it cannot stay for Q2, which would go for it alone."""
    store.put([like(Q1, Q0), said(Q2.id, "other@1", None, Q1.id, value=0.9)])
    second = {"check": "other", "max": 0.4, "clusters": True, "unit": "f"}
    both = [*MEASURED["thresholds"], second]
    assert kept(store, SplitRule.model_validate({"thresholds": both})) == "02"
    assert kept(store, SplitRule.model_validate({"thresholds": both[::-1]})) == "0"
    assert kept(store, SplitRule.model_validate({"thresholds": [second]})) == "01"


def test_values_of_other_models_link_nothing(store: Store) -> None:
    store.put([said(Q1.id, "dup@1", None, Q0.id, value=0.9, model="m")])
    rule = {"thresholds": [{**MEASURED["thresholds"][0], "model": "n"}]}
    assert kept(store, SplitRule.model_validate(rule)) == "012"
    assert kept(store, SplitRule.model_validate({"thresholds": [{**rule["thresholds"][0], "model": "m"}]})) == "02"


@pytest.mark.parametrize("out", [S0, Q0, EDIT], ids=["script", "question", "fact"])
def test_a_prompt_stays_only_where_all_it_hangs_on_stays(store: Store, out: object) -> None:
    """P0 is preferred, but what it was cut from is out: its like takes its place (unless the fact itself is out)."""
    store.put([said(P1.id, "dup@1", None, P0.id, value=0.9), said(out.id, "a@1", "drop")])  # type: ignore[attr-defined]
    assert kept(store, SplitRule.model_validate(MEASURED)) == ("-" if out is EDIT else "12")


def test_facts_are_clustered_in_scope_or_as_neighbours(store: Store) -> None:
    far = peru_fact("z/far", subject=Entity(text="Larco Museum of Lima"))
    store.put([far, said(far.id, "dup@1", None, OTHER.id, value=0.9)])
    rule = SplitRule.model_validate({**MEASURED, "prefix": "z/"})
    assert far.id in Ruling(store, rule).settled, "the neighbour of another edit is seen too"
    store.put([said(LINK.id, "unrelated@1", "keep")])
    only_temporal = SplitRule.model_validate({**MEASURED, "changes": ["temporal"]})
    assert far.id not in Ruling(store, only_temporal).settled, "nobody looks at it, so nothing is taken out"


@pytest.mark.parametrize("items", [[Q0], [Q1], [Q2], [BESIDE[0]]], ids=["Q0", "Q1", "Q2", "beside"])
def test_asking_for_some_items_settles_their_whole_cluster_alike(store: Store, items: list[Verdict]) -> None:
    store.put([like(Q2, Q1), like(Q1, Q0), like(BESIDE[0], P0)])  # type: ignore[arg-type]
    rule = SplitRule.model_validate(MEASURED)
    full_rule = Ruling(store, rule).settled
    some = Ruling(store, rule, local=True).over([i.id for i in items]).settled
    assert some.items() <= full_rule.items() and {i.id for i in items} & full_rule.keys() <= some.keys()
