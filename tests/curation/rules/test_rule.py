"""Thresholds, models, versions, people, clusters, errata: each named case has one verdict or setting that decides."""

from __future__ import annotations

import tomllib

import pytest

from curation.overlap.near_duplicates import near_duplicates, store_items
from curation.rules.rule import SplitRule
from curation.splits.versions import Errata, Erratum
from curation.store.store import Store
from schemas.core.config import validate
from schemas.core.errors import DataError
from schemas.verdicts import Verdict
from tests.support import ROOT
from tests.support.curation.rule_outcomes import agrees, choose, kept
from tests.support.curation.rule_records import (
    EDIT,
    P0,
    P1,
    Q1,
    ann,
    said,
)


def lea(item: str, label: str) -> Verdict:
    return ann(item, label, "lea", task="filter_adjudicated@1")


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
    ("a lead keeps what people drop", [ann(P0.id, "keep"), ann(P0.id, "drop", "bob"), lea(P0.id, "keep")], {}, "012"),
    ("a lead drops what people keep", [ann(P0.id, "keep"), ann(P0.id, "keep", "bob"), lea(P0.id, "drop")], UP, "12"),
    ("a lead decides a tie", [ann(P0.id, "keep"), ann(P0.id, "drop", "bob"), lea(P0.id, "keep")], UP, "012"),
    ("a lead decides where the rule names the task", [ann(P0.id, "drop"), lea(P0.id, "keep")],
     {"checks": ["filter"]}, "012"),
    ("a lead keeps, a check that counts drops", [said(P0.id, "a@1", "drop"), lea(P0.id, "keep")],
     {"people_outrank": False}, "12"),
    ("a lead overrules people where checks count", [said(P0.id, "a@1", "keep"), ann(P0.id, "drop"),
     lea(P0.id, "keep")], {"people_outrank": False}, "012"),
    ("of leads who decide under two tasks the more severe counts", [lea(P0.id, "keep"),
     ann(P0.id, "drop", "max", task="screen_adjudicated@1")], {}, "12"),
    ("person unsure", [ann(P0.id, "unsure")], {}, "12"),
]  # fmt: skip


@pytest.mark.parametrize(("verdicts", "rule", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_thresholds_and_people(store: Store, verdicts: list[Verdict], rule: dict[str, object], expected: str) -> None:
    store.put(verdicts)
    parsed_rule = SplitRule.model_validate(rule)
    assert kept(store, parsed_rule) == expected
    agrees(store, parsed_rule, records=(P0,))


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
