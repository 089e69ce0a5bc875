"""Thresholds, models, versions, people, clusters, errata: each named case has one verdict or setting that decides."""

from __future__ import annotations

import itertools
import random
import tomllib

import pytest

from curation.overlap.near_duplicates import near_duplicates, store_items
from curation.rules.clusters import _components
from curation.rules.explain import explain
from curation.rules.rule import SplitRule
from curation.rules.selection import choose
from curation.splits.errata import Errata, Erratum
from curation.store.store import Store
from schemas.core.config import validate
from schemas.core.errors import DataError
from schemas.core.records import Record
from schemas.facts import Entity
from schemas.scripts import ScriptQuestion
from schemas.verdicts import Verdict
from tests.support import ROOT
from tests.support.curation.rule_records import (
    BESIDE,
    CHAINS,
    EDIT,
    LINK,
    OTHER,
    P0,
    P1,
    P2,
    Q0,
    Q1,
    Q2,
    ann,
    chain,
    said,
)
from tests.support.facts import peru_fact


def kept(store: Store, rule: SplitRule, errata: Errata | None = None) -> str:
    """Which of the edit's prompts stay, as digits; "-" where the edit has no case."""
    cases = [c for c in choose(store, rule, errata=errata).cases if c.fact.key == EDIT.key]
    return "".join((p.question or "?")[-1] for p in cases[0].prompts) if cases else "-"


def bound(**fields: object) -> dict[str, object]:
    return {"thresholds": [{"check": "near", **fields}]}


UP = {"people": "majority"}
CASES = [
    ("value above max", [said(P0.id, "near@1", value=0.5)], bound(max=0.4), "12"),
    ("value at max stays", [said(P0.id, "near@1", value=0.4)], bound(max=0.4), "012"),
    ("value at below is out", [said(P0.id, "near@1", value=0.4)], bound(below=0.4), "12"),
    ("value under min", [said(P0.id, "near@1", value=0.1)], bound(min=0.2), "12"),
    ("hold", [said(P0.id, "near@1", value=0.5)], bound(max=0.4, then="hold"), "12"),
    ("value without a threshold says nothing", [said(P0.id, "near@1", value=0.5)], {}, "012"),
    ("the threshold replaces the label", [said(P0.id, "near@1", "drop", value=0.3)], bound(max=0.4), "012"),
    ("a label without a value stands", [said(P0.id, "near@1", "drop")], bound(max=0.4), "12"),
    ("other model", [said(P0.id, "near@1", value=0.5, model="a")], bound(max=0.4, model="b"), "012"),
    ("that model", [said(P0.id, "near@1", value=0.5, model="b")], bound(max=0.4, model="b"), "12"),
    ("labels of other models", [said(P0.id, "known@1", "drop", model="a")], {"models": {"known": "b"}}, "012"),
    ("labels of that model", [said(P0.id, "known@1", "drop", model="b")], {"models": {"known": "b"}}, "12"),
    ("not measured", [said(P0.id, "near@1", value=0.1), said(P1.id, "near@1", value=0.1)],
     bound(max=0.4, kind="prompt", missing="hold"), "01"),
    ("not measured, but a person keeps", [ann(P0.id, "keep")], bound(max=0.4, kind="prompt", missing="drop"), "0"),
    ("only these checks", [said(P0.id, "a@1", "drop"), said(P1.id, "b@1", "drop")], {"checks": ["b"]}, "02"),
    ("only this version", [said(P0.id, "a@1", "drop"), said(P1.id, "a@2", "drop")], {"checks": ["a@1"]}, "12"),
    ("ignored version", [said(P0.id, "a@1", "drop"), said(P1.id, "a@2", "drop")], {"ignore": ["a@1"]}, "02"),
    ("a newer keep replaces a drop", [said(P0.id, "a@9", "drop"), said(P0.id, "a@10", "keep")], {}, "012"),
    ("a newer drop replaces a keep", [said(P0.id, "a@2", "keep"), said(P0.id, "a@10", "drop")], {}, "12"),
    ("unscored held", [said(P0.id, "a@1", "unscored")], {"unscored": "hold"}, "12"),
    ("unscored dropped", [said(P0.id, "a@1", "unscored")], {"unscored": "drop"}, "12"),
    ("any: one drop", [ann(P0.id, "keep"), ann(P0.id, "keep", "bob"), ann(P0.id, "drop", "eve")], {}, "12"),
    ("majority keeps", [ann(P0.id, "keep"), ann(P0.id, "keep", "bob"), ann(P0.id, "drop", "eve")], UP, "012"),
    ("majority drops", [ann(P0.id, "drop"), ann(P0.id, "keep", "bob"), ann(P0.id, "drop", "eve")], UP, "12"),
    ("a tie is held", [ann(P0.id, "keep"), ann(P0.id, "drop", "bob")], {**UP, "unsure": "keep"}, "12"),
    ("one vote a person", [ann(P0.id, "drop"), ann(P0.id, "drop", task="other@1"), ann(P0.id, "keep", "bob"),
                           ann(P0.id, "keep", "eve")], UP, "012"),
    ("people outrank a threshold", [said(P0.id, "near@1", value=0.5), ann(P0.id, "keep")], bound(max=0.4), "012"),
    ("a person's newer task", [ann(P0.id, "drop"), ann(P0.id, "keep", task="filter@2")], {}, "012"),
    ("person unsure", [ann(P0.id, "unsure")], {}, "12"),
]  # fmt: skip


@pytest.mark.parametrize(("verdicts", "rule", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_thresholds_and_people(store: Store, verdicts: list[Verdict], rule: dict[str, object], expected: str) -> None:
    store.put(verdicts)
    made = SplitRule.model_validate(rule)
    assert kept(store, made) == expected
    agrees(store, made, records=(P0,))


ALL = (EDIT, P0, Q1, BESIDE[2])


def agrees(store: Store, rule: SplitRule, errata: Errata | None = None, *, records: tuple[Record, ...] = ALL) -> None:
    """What ``explain`` says of every record is what ``choose`` did with it."""
    cases = choose(store, rule, errata=errata).cases
    inside = {p.key for c in cases for p in c.prompts} | {p.key for c in cases for n in c.neighbours for p in n.prompts}
    inside |= {c.fact.key for c in cases} | {n.link.key for c in cases for n in c.neighbours}
    inside |= {q.key for c in cases for q in c.questions}
    inside |= {q.key for c in cases for n in c.neighbours for q in n.questions}
    for record in records:
        explained = explain(store, rule, record.key, errata=errata)
        assert (explained.status == "in") == (record.key in inside), explained.text()


MEASURED = {"thresholds": [{"check": "dup", "max": 0.4, "clusters": True, "unit": "f"}]}


def like(left: ScriptQuestion, right: ScriptQuestion, value: float = 0.9) -> Verdict:
    return said(left.id, "dup@1", None, right.id, value=value)


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
    found = {}
    for below in (0.5, 0.8, 0.9):
        rule = {"thresholds": [{"check": "near_duplicate", "below": below, "clusters": True, "unit": "rouge1_f"}]}
        found[below] = kept(alone, SplitRule.model_validate(rule))
    assert found == {0.5: "0", 0.8: "0", 0.9: "012"}


def test_components_do_not_depend_on_order() -> None:
    edges = {"c": ("b",), "b": ("a",), "x": ("y",), "q": ("q",)}
    expected = [["a", "b", "c"], ["q"], ["x", "y"]]
    for order in itertools.permutations(edges):
        assert _components({k: edges[k] for k in order}) == expected


def test_a_unit_that_is_not_the_thresholds(store: Store) -> None:
    store.put([said(P0.id, "near@1", value=0.5, unit="cosine")])
    with pytest.raises(DataError, match="threshold on 'near' is in rouge1_f, this verdict's value is in cosine"):
        choose(store, SplitRule.model_validate(bound(max=0.4, unit="rouge1_f")))
    store.put([said(P1.id, "near@1", value=0.5)])
    with pytest.raises(DataError, match="near"):
        choose(store, SplitRule.model_validate(bound(max=0.4)))


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (bound(), "no bound"),
        (bound(max=1, missing="hold"), "needs a kind"),
        (bound(max=1, colour=3), "unknown field"),
        ({"people": "most"}, "people"),
    ],
)
def test_rules_that_cannot_be(rule: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        validate(SplitRule, rule, where="rule.toml")


def test_a_name_without_verdicts_is_said(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    store.put([said(P0.id, "near_duplicate@1", value=0.5)])
    choose(store, SplitRule(ignore=("near_duplicat",)))
    assert "did you mean 'near_duplicate'" in caplog.text


ERRATA = [
    ("prompt", P0.key, None, "drop", "12"),
    ("held", P0.key, None, "hold", "12"),
    ("note", P0.key, None, "note", "012"),
    ("this content", P0.key, P0.id, "drop", "12"),
    ("corrected since", P0.key, "0" * 20, "drop", "012"),
    ("question", Q1.key, None, "drop", "02"),
    ("fact", EDIT.key, None, "drop", "-"),
    ("case", f"case/{EDIT.key}", EDIT.id, "drop", "-"),
]


@pytest.mark.parametrize(("item", "content", "action", "expected"), [e[1:] for e in ERRATA], ids=[e[0] for e in ERRATA])
def test_errata_outrank_everybody(store: Store, item: str, content: str, action: str, expected: str) -> None:
    store.put([ann(P0.id, "keep")])
    entry = {"item": item, "id": content, "what": "a fault", "action": action, "date": "2026-11-21"}
    errata = Errata([Erratum.model_validate(entry)])
    assert kept(store, SplitRule(), errata) == expected
    agrees(store, SplitRule(), errata, records=(P0,))


def test_the_documented_rule_is_valid_and_decides(alone: Store) -> None:
    path = ROOT / "configs" / "rules" / "scedit.toml"
    rule = SplitRule.model_validate(tomllib.loads(path.read_text(encoding="utf-8"))["rule"])
    alone.put(near_duplicates(store_items(alone), threshold=0.4).verdicts())
    assert kept(alone, rule) == "0"


def test_a_threshold_needs_no_new_measurement(store: Store) -> None:
    store.put([said(P0.id, "near@1", value=0.5), said(P1.id, "near@1", value=0.7)])
    before = store.stats()["records"]
    found = [kept(store, SplitRule.model_validate(bound(max=m))) for m in (0.4, 0.6, 0.8)]
    assert found == ["2", "02", "012"] and store.stats()["records"] == before


def made_verdict(rng: random.Random) -> Verdict:
    item = rng.choice([EDIT, OTHER, LINK, *itertools.chain(*CHAINS), *BESIDE]).id
    sort = rng.random()
    if sort < 0.3:
        label = rng.choice(["drop", "keep", "unsure", "unscored"])
        return said(item, rng.choice(["a@1", "a@2", "b@1"]), label)
    if sort < 0.5:
        return ann(item, rng.choice(["drop", "keep", "unsure"]), rng.choice(["ann", "bob", "eve"]))
    if sort < 0.8:
        left, right = rng.sample([Q0, Q1, Q2, BESIDE[0]], 2)
        return like(left, right, rng.choice([0.3, 0.6, 0.9]))
    left_id, right_id = rng.sample([LINK.id, BESIDE[2].id], 2)
    return said(left_id, "pair@1", "drop", right_id)


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 150))])
def test_explain_agrees_with_choose_on_made_verdicts(store: Store, seed: int) -> None:
    rng = random.Random(seed)
    store.put({v.key: v for v in (made_verdict(rng) for _ in range(rng.randint(1, 9)))}.values())
    rule = {
        **MEASURED,
        "unsure": rng.choice(["hold", "keep"]),
        "unscored": rng.choice(["hold", "keep", "drop"]),
        "people": rng.choice(["any", "majority"]),
        "min_neighbours": rng.choice([0, 0, 1]),
        "min_prompts": rng.choice([1, 1, 2]),
        "prefix": rng.choice(["", "f/peru"]),
    }
    records = (EDIT, OTHER, LINK, P0, P1, P2, Q0, Q1, Q2, BESIDE[0], BESIDE[2])
    agrees(store, SplitRule.model_validate(rule), records=records)
