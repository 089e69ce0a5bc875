from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from curation.cli.splits import explain as command
from curation.rules.explain import explain, rule_of
from curation.rules.release import freeze
from curation.rules.rule import SplitRule
from curation.rules.selection import choose
from curation.shipped import mini_split
from curation.splits.versions import Errata, Erratum
from curation.store.store import Store
from schemas.core.errors import UserError
from schemas.core.records import Record
from schemas.facts import Object
from schemas.verdicts import Verdict
from tests.support.curation.rule_records import BESIDE, CHAINS, EDIT, LINK, OTHER, P0, Q0, S0, ann, said


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """The shared material less one prompt."""
    with Store.open(tmp_path / "s.duckdb", create=True) as db:
        db.put([EDIT, OTHER, LINK, *CHAINS[0], *CHAINS[1], *BESIDE])
        yield db


CASES = [
    ("prompt in", [], P0.key, {}, "in", "in 'case/f/peru', which has 2 script prompts and 1 neighbour"),
    ("case", [], "case/f/peru", {}, "in", "2 script prompts"),
    ("question", [said(Q0.id, "leak@1", "drop")], Q0.key, {}, "out", "leak drops the question 'f/peru/q0': because"),
    ("prompt of that question", [said(Q0.id, "leak@1", "drop")], P0.key, {}, "out", "leak drops the question"),
    ("script", [said(S0.id, "format@1", "drop")], S0.key, {}, "out", "format drops the script"),
    ("held", [said(P0.id, "early@1", "unsure")], P0.key, {}, "held", "early holds the prompt"),
    ("question of a held prompt", [said(P0.id, "early@1", "unsure")], Q0.key, {}, "held", "early holds the prompt"),
    ("a tie", [ann(P0.id, "keep"), ann(P0.id, "drop", "bob")], P0.key, {"people": "majority"}, "held", "a tie"),
    ("too few", [said(P0.id, "leak@1", "drop")], EDIT.key, {"min_prompts": 2}, "out",
     "has 1 script prompt, the rule wants 2 (leak drops the prompt"),
    ("too few as prompts wait", [said(P0.id, "e@1", "unsure")], EDIT.key, {"min_prompts": 2}, "held", "wants 2"),
    ("few neighbours", [said(LINK.id, "x@1", "drop")], EDIT.key, {"min_neighbours": 1}, "out", "has 0 neighbours"),
    ("neighbour", [], LINK.key, {}, "in", "as a neighbour in 'case/f/peru'"),
    ("neighbour's fact", [], OTHER.key, {"prefix": "f/peru"}, "in", "as a neighbour in 'case/f/peru'"),
    ("neighbour's prompt", [], BESIDE[2].key, {"prefix": "f/peru"}, "in", "as a neighbour's prompt of 'case/f/peru'"),
    ("a pair", [said(LINK.id, "pair@1", "drop", BESIDE[2].id)], BESIDE[2].key, {"prefix": "f/peru"}, "out",
     "pair says so beside 'f/peru'"),
    ("other change", [], EDIT.key, {"changes": ["temporal"]}, "out", "its change is 'counterfactual'"),
    ("other prefix", [], EDIT.key, {"prefix": "z/"}, "out", "does not begin with 'z/'"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("verdicts", "item", "rule", "status", "reason"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_why(
    store: Store, verdicts: list[Verdict], item: str, rule: dict[str, object], status: str, reason: str
) -> None:
    store.put(verdicts)
    explanation = explain(store, SplitRule.model_validate(rule), item)
    assert (explanation.status, reason in explanation.why) == (status, True), explanation.text()


def test_the_deciding_verdict_is_marked_among_all(store: Store) -> None:
    store.put([said(P0.id, "leak@1", "keep"), said(P0.id, "near@1", value=0.5), ann(P0.id, "unsure", task="see@1")])
    rule = SplitRule.model_validate({"thresholds": [{"check": "near", "max": 0.4, "unit": "f"}]})
    text = explain(store, rule, P0.id).text()
    assert "   * unsure by person:ann/see@1: because" in text, "people outrank the threshold"
    assert "     measured 0.5 f by near@1" in text and "     keep by leak@1" in text
    assert "threshold: near at most 0.4 f, otherwise drop" in text


def test_a_replaced_version_is_out(store: Store) -> None:
    store.put([P0.model_copy(update={"step": 1})])
    explanation = explain(store, SplitRule(), P0.id)
    assert (explanation.status, explanation.why) == ("out", "this version was replaced by another")


def test_people_drop_a_whole_case(store: Store) -> None:
    split = freeze(store, "s", SplitRule(prefix="f/peru"))
    store.put([ann(split.cases[0].id, "drop", task="quality@1")])
    assert "quality drops the case" in explain(store, SplitRule(), EDIT.key).why
    with pytest.raises(UserError, match="no case"):
        freeze(store, "t", SplitRule(prefix="f/peru"))
    store.put([said(P0.id, "leak@1", "drop")])  # another content is another case
    assert explain(store, SplitRule(), EDIT.key).status == "in"
    assert len(freeze(store, "t", SplitRule(prefix="f/peru")).cases) == 1


def test_unknown_items_and_kinds(store: Store) -> None:
    store.put([verdict := said(P0.id, "leak@1", "drop")])
    with pytest.raises(UserError, match="no item 'nothing'"):
        explain(store, SplitRule(), "nothing")
    with pytest.raises(UserError, match="is a verdict, which no rule decides"):
        explain(store, SplitRule(), verdict.key)
    with pytest.raises(UserError, match="does not say by which rule"):
        rule_of({k: v for k, v in mini_split().header.items() if k != "rule"})


def test_the_command(store: Store, tmp_path: Path) -> None:
    store.put([said(P0.id, "leak@1", "drop")])
    freeze(store, "mine", SplitRule(ignore=("leak",)))
    store.close()
    rule = tmp_path / "rule.toml"
    rule.write_text("[rule]\nmin_prompts = 2\n")

    def run(*args: str) -> str:
        call = [P0.key, "--store", str(store.path), *args]
        return CliRunner().invoke(command, call, catch_exceptions=False, standalone_mode=False).output

    assert "OUT, leak drops the prompt" in run()
    assert "IN, in 'case/f/peru'" in run("--split", "mine"), "by the rule of its header"
    assert json.loads(run("--rule", str(rule), "--set", 'ignore=["leak"]', "--json"))["status"] == "in"


NEAR_PROMPT = BESIDE[2]


@pytest.mark.parametrize("item", [OTHER, LINK, NEAR_PROMPT, BESIDE[0], BESIDE[1]], ids=lambda r: r.kind)
@pytest.mark.parametrize("kind", ["erratum", "of this version", "held", "people"])
def test_what_is_wrong_with_a_neighbour_takes_it_out_in_freeze_and_explain_alike(
    store: Store, item: Record, kind: str
) -> None:
    errata = Errata()
    if kind == "people":
        store.put([ann(item.id, "drop")])
    else:
        action = "hold" if kind == "held" else "drop"
        version = item.id if kind == "of this version" else None
        errata = Errata([Erratum(item=item.key, id=version, what="wrong", action=action, date="2026-01-01")])
    (case,) = choose(store, SplitRule(prefix="f/peru"), errata=errata).cases
    assert not [p for n in case.neighbours for p in n.prompts]
    explanation = explain(store, SplitRule(prefix="f/peru"), item.key, errata=errata)
    assert explanation.status == ("held" if kind == "held" else "out"), explanation.text()
    assert ("wrong" if kind != "people" else "because") in explanation.why
    if item in (OTHER, LINK):
        assert not case.neighbours
        assert explain(store, SplitRule(prefix="f/peru"), NEAR_PROMPT.key, errata=errata).status != "in"


def test_checks_judge_facts_as_edits_not_as_neighbours(store: Store) -> None:
    store.put([said(OTHER.id, "fact_dates@1", "drop")])
    assert len(choose(store, SplitRule(prefix="f/peru")).cases[0].neighbours) == 1
    explanation = explain(store, SplitRule(prefix="f/peru"), LINK.key)
    assert explanation.status == "in" and "fact f/museum: keep" in explanation.text(), "no 'drop' beside an IN"


def test_contradictions_on_the_road_are_listed(store: Store) -> None:
    store.put([EDIT.model_copy(update={"key": "f/again", "old": Object(text="Cusco")})])
    explanation = explain(store, SplitRule(), P0.key)
    (contradictions,) = explanation.contradictions
    assert contradictions == "f/peru: 'f/again' says 'Cusco' for this subject and relation, this one 'Lima'"
    assert f"  contradiction: {contradictions}" in explanation.text() and explanation.payload()["contradictions"] == (
        contradictions,
    )
