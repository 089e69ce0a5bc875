"""Verdicts that need not be read: those of which the rule would keep no trace, and no others."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from curation.rules.plain_verdicts import DecidedItems, plain_verdicts
from curation.rules.rule import SplitRule, Verdicts
from curation.store.store import Store
from schemas.verdicts import Verdict
from tests.support.curation.rule_records import ann, said

NEAR = {"check": "near", "below": 0.8, "clusters": True}
HOSTILE = 'quoted "by":"leak@1" and "label":"keep" and "value":1 in a reason'


@pytest.mark.parametrize(
    ("thresholds", "several", "checks", "measurement"),
    [
        ([], (), ("leak@1", "near@1"), ()),
        ([], ("leak",), ("near@1",), ()),
        ([NEAR], (), ("leak@1", "near@1"), ("near@1",)),
        ([NEAR], ("near",), ("leak@1",), ("near@1",)),
        ([{**NEAR, "missing": "hold", "kind": "prompt"}], (), ("leak@1",), ()),
        ([{**NEAR, "model": "m"}], (), ("leak@1",), ()),
        ([{"check": "near", "max": 1}, NEAR], (), ("leak@1",), ()),
        ([{"check": "leak@1", "max": 1}], (), ("near@1",), ()),
    ],
)
def test_which_judges(thresholds, several, checks, measurement):
    rule = SplitRule.model_validate({"thresholds": thresholds})
    verdicts = plain_verdicts(rule, ["leak@1", "near@1", "person:ann/filter@1"], several=several)
    assert verdicts == (checks, measurement)


def drawn(rng: random.Random, item: str) -> Verdict:
    by, label = (
        rng.choice(["leak@1", "leak@2", "near@1", "size@1"]),
        rng.choice(["keep", "keep", "drop", "unsure", None]),
    )
    value = rng.random() if label is None or rng.random() < 0.3 else None
    record = said(item, by, label, value=value, model=rng.choice([None, "m"]))
    return record.model_copy(update={"reason": rng.choice(["because", HOSTILE])})


@pytest.mark.parametrize("seed", range(6))
def test_what_is_left_out_leaves_no_trace(tmp_path: Path, seed: int) -> None:
    """The judgement of every item is the same with all verdicts and with those of the decided items only."""
    rng = random.Random(seed)
    items = [f"{rng.randrange(16**20):020x}" for _ in range(60)]
    verdicts = [drawn(rng, item) for item in items for _ in range(rng.randrange(3))]
    verdicts += [ann(item, "keep") for item in items[:4]]
    bound = rng.choice([{"check": "size", "max": 0.5}, {"check": "near", "max": 0.5, "model": "m"}])
    rule = SplitRule.model_validate({"thresholds": [NEAR, bound][: seed % 3]})
    several = ("leak",) if seed % 2 else ()
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put(verdicts)
        current = list(store.verdicts())
        decisions = DecidedItems(store, plain_verdicts(rule, store.judges(), several=several))
        some = set(decisions.among(items))
    full_rule = Verdicts(current, rule, several=several)
    part = Verdicts((v for v in current if v.item_id in some), rule, several=several)
    assert [full_rule.judge("prompt", item) for item in items] == [part.judge("prompt", item) for item in items]
    assert set(items[:4]) <= some and (len(some) < len(items))


def test_a_store_without_verdicts_and_ids_that_are_none(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        assert DecidedItems(store, plain_verdicts(SplitRule(), [], several=())).among(["0" * 20]) == []
        store.put([said("no-number", "leak@1", "drop"), said("0" * 20, "leak@1", "keep")])
        items = DecidedItems(store, plain_verdicts(SplitRule(), ["leak@1"], several=()))
    assert items.among(["0" * 20, "no-number", "f" * 20]) == ["no-number"] and items.among([]) == []
