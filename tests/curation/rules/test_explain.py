from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from curation.rules.explain import explain, rule_of
from curation.rules.release import freeze
from curation.rules.rule import DocumentRule, EventRule, SplitRule, read_rule
from curation.rules.selection import SelectionStream
from curation.splits.versions import Errata, Erratum
from curation.splits.visible_texts import record_keys
from curation.store.store import Store
from schemas.core.errors import UserError
from schemas.core.records import Record
from schemas.facts import Object
from schemas.verdicts import Verdict
from tests.support.commands import invoke
from tests.support.curation.rule_outcomes import agrees, choose
from tests.support.curation.rule_records import BESIDE, CHAINS, EDIT, LINK, OTHER, P0, Q0, S0, ann, said
from tests.support.curation.verdicts import make_verdict
from tests.support.documents.records import BRIDGE, TRAM, document_case, document_records, make_document
from tests.support.events import MERGER, MOVE, event_case, event_records, make_event, make_tendency
from tests.support.small import small_split


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
    ("neighbour's case", [], f"case/{OTHER.key}", {"prefix": "f/peru"}, "out", "does not begin with 'f/peru'"),
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
    agrees(store, SplitRule.model_validate(rule))


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
        rule_of({k: v for k, v in small_split().header.items() if k != "rule"})


def test_the_command(store: Store, tmp_path: Path) -> None:
    store.put([said(P0.id, "leak@1", "drop")])
    freeze(store, "mine", SplitRule(ignore=("leak",)))
    store.close()
    rule = tmp_path / "rule.toml"
    rule.write_text("[rule]\nmin_prompts = 2\n")

    line = ("split", "explain", P0.key, "--store", store.path)
    assert "OUT, leak drops the prompt" in invoke(*line)
    assert "IN, in 'case/f/peru'" in invoke(*line, "--split", "mine"), "by the rule of its header"
    assert json.loads(invoke(*line, "--rule", rule, "--set", 'ignore=["leak"]', "--json"))["status"] == "in"


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


RECORDS = {r.key: r for r in (*event_records(), *document_records())}
WHO = f"{MERGER}/fact/Who-leads-Brenta-Rail?"
PRICES = f"{MERGER}/tendency/How-may-ticket-prices-change?"
WHERE = f"{MOVE}/fact/Where-is-Corvo-Foods?"
REVERSE = f"{BRIDGE}/What-did-Ada-Brun-design?"
LINE = f"{TRAM}/Line-9-runs-to-___."
WRONG = {"what": "wrong", "date": "2026-11-22"}


@pytest.fixture
def requests(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "s.duckdb", create=True) as db:
        db.put(RECORDS.values())
        yield db


def said_of(key: str, label: str, by: str = "person:ann/judge_tendency@1") -> Verdict:
    return make_verdict(RECORDS[key].id, label, by)


BO, LEA = "person:bo/judge_tendency@1", "person:lea/judge_tendency_adjudicated@1"
EVENTS: dict[str, tuple[list[Verdict], dict[str, Any], list[str], dict[str, int]]] = {
    "all": ([], {}, [], {MERGER: 5, MOVE: 1}),
    "a question dropped": ([said_of(WHO, "drop", "stands_alone@1")], {}, [], {MERGER: 4, MOVE: 1}),
    "an event dropped": ([said_of(MOVE, "drop", "kept@1")], {}, [], {MERGER: 5}),
    "unsure is held": ([said_of(PRICES, "unsure")], {}, [], {MERGER: 4, MOVE: 1}),
    "types": ([], {"types": ["headquarters"]}, [], {MOVE: 1}),
    "prefix": ([], {"prefix": "e/mer"}, [], {MERGER: 5}),
    "too few questions": ([], {"min_questions": 2}, [], {MERGER: 5}),
    "one person is not two": ([said_of(PRICES, "keep")], {"min_people": 2}, [], {}),
    "one person twice is not two": (
        [said_of(PRICES, "keep"), said_of(PRICES, "keep", "person:ann/review_scope@1")],
        {"min_people": 2},
        [],
        {},
    ),
    "two people keep": (
        [said_of(PRICES, "keep"), said_of(PRICES, "keep", BO)],
        {"min_people": 2},
        [],
        {MERGER: 1},
    ),
    "a lead decides alone": (
        [said_of(PRICES, "drop"), said_of(PRICES, "keep", LEA)],
        {"min_people": 2},
        [],
        {MERGER: 1},
    ),
    "one of two drops": (
        [said_of(PRICES, "keep"), said_of(PRICES, "drop", BO)],
        {"min_people": 2},
        [],
        {},
    ),
    "a check is no person": ([said_of(PRICES, "keep", "options@1")], {"min_people": 1}, [], {}),
    "an erratum on a question": ([], {}, [WHO], {MERGER: 4, MOVE: 1}),
    "an erratum on a case": ([], {}, [f"case/{MOVE}"], {MERGER: 5}),
}
DOCUMENTS: dict[str, tuple[list[Verdict], dict[str, Any], list[str], dict[str, int]]] = {
    "all": ([], {}, [], {BRIDGE: 4, TRAM: 1}),
    "a probe dropped": ([said_of(REVERSE, "drop", "one_blank@1")], {}, [], {BRIDGE: 3, TRAM: 1}),
    "a document dropped": ([said_of(TRAM, "drop", "one_blank@1")], {}, [], {BRIDGE: 4}),
    "too few probes": ([], {"min_probes": 2}, [], {BRIDGE: 4}),
    "prefix": ([], {"prefix": "d/tr"}, [], {TRAM: 1}),
    "nobody judged": ([], {"min_people": 1}, [], {}),
    "an erratum on a case": ([], {}, [f"case/{TRAM}"], {BRIDGE: 4}),
    "an erratum on a probe": ([], {}, [REVERSE], {BRIDGE: 3, TRAM: 1}),
}
SELECTED = [("event", *case) for case in EVENTS.items()] + [("document", *case) for case in DOCUMENTS.items()]


@pytest.mark.parametrize(("edits", "case"), [(e, c) for e, _, c in SELECTED], ids=[f"{e}: {n}" for e, n, _ in SELECTED])
def test_what_is_selected_is_what_is_explained(requests: Store, edits: str, case: Any) -> None:
    verdicts, table, items, expected = case
    requests.put(verdicts)
    rule = read_rule({"edits": edits, **table}, "r")
    errata = Errata([Erratum(item=item, **WRONG) for item in items])
    cases = list(SelectionStream(requests, rule, errata=errata, block=1))
    keys = {key for chosen in cases for key in record_keys(chosen)}
    assert {c.request.key: len(list(record_keys(c))) - 1 for c in cases} == expected
    for key in (r.key for r in (event_records() if edits == "event" else document_records())):
        assert (explain(requests, rule, key, errata=errata).status == "in") == (key in keys), key


@pytest.mark.parametrize("rule", [EventRule(prefix=MERGER), DocumentRule(prefix=BRIDGE)], ids=["event", "document"])
def test_people_judge_a_whole_case_of_exactly_this_content(requests: Store, rule: SplitRule) -> None:
    (case,) = SelectionStream(requests, rule)
    assert set(record_keys(case)) == set(record_keys(event_case() if rule.edited == "event" else document_case()))
    requests.put([make_verdict(case.id[::-1], "drop", "person:ann/quality@1")])
    assert list(SelectionStream(requests, rule)) == [case]
    requests.put([make_verdict(case.id, "drop", "person:ann/quality@1")])
    assert not list(SelectionStream(requests, rule))


@pytest.mark.parametrize(
    ("rule", "dropped", "counts", "key", "sizes"),
    [
        (
            EventRule(min_questions=2),
            said_of(WHO, "drop", "stands_alone@1"),
            {"event: too few questions": 1, "events": 2, "fact question: dropped by stands_alone": 1},
            MERGER,
            (2, 2),
        ),
        (
            DocumentRule(min_probes=2),
            said_of(REVERSE, "drop", "one_blank@1"),
            {"document probe: dropped by one_blank": 1, "document: too few probes": 1, "documents": 2},
            BRIDGE,
            (3, 0),
        ),
    ],
    ids=["event", "document"],
)
def test_a_frozen_split_comes_back_and_says_what_was_lost(
    requests: Store,
    rule: SplitRule,
    dropped: Verdict,
    counts: dict[str, int],
    key: str,
    sizes: tuple[int, int],
) -> None:
    requests.put([dropped])
    split = freeze(requests, "mine", rule)
    assert split.type == rule.edited and split.header["format"] == 3
    assert split.header["counts"] == {"cases": 1, **counts}
    assert [c.key for c in requests.split("mine").all_cases] == [f"case/{key}"]
    assert requests.split_sizes("mine@1.0.0") == sizes
    assert explain(requests, read_rule(split.header["rule"], "h"), f"case/{key}").status == "in"
    with pytest.raises(UserError, match="mine@1.0.0: this works on edits of facts"):
        _ = split.cases


def test_a_question_in_both_scopes_is_named_until_one_of_the_two_is_taken_out(requests: Store) -> None:
    """Two records that are sound by themselves: a factual question, and a tendency that asks the same elsewhere."""
    again = make_tendency("WHO leads Brenta Rail?", "C", event=MERGER, scope="out", key=f"{MERGER}/t-again")
    requests.put([again])
    with pytest.raises(UserError, match=rf"in and out of scope: 'WHO leads Brenta Rail\?' \('{re.escape(WHO)}' and"):
        list(SelectionStream(requests, EventRule()))
    errata = Errata([Erratum(item=again.key, **WRONG)])
    assert len(list(SelectionStream(requests, EventRule(), errata=errata))) == 2


@pytest.mark.parametrize(
    ("key", "table", "status", "reason"),
    [
        (MERGER, {}, "in", "in 'case/e/merger', which has 4 questions"),
        (f"case/{MERGER}", {}, "in", "in 'case/e/merger', which has 4 questions"),
        (WHO, {}, "out", "stands_alone drops the fact_question"),
        (MOVE, {"types": ["merger"]}, "out", "its type is 'headquarters', the rule takes merger"),
        (MOVE, {"prefix": "x"}, "out", "does not begin with 'x'"),
        (MOVE, {"min_questions": 2}, "out", "has 1 kept question, the rule wants 2"),
        (WHERE, {"min_people": 2}, "held", "fewer than 2 people judged it"),
        (BRIDGE, {}, "in", "in 'case/d/bridge', which has 4 probes"),
        (TRAM, {"min_probes": 2}, "out", "has 1 kept probe, the rule wants 2"),
        (TRAM, {"prefix": "x"}, "out", "does not begin with 'x'"),
        (LINE, {"min_people": 2}, "held", "fewer than 2 people judged it"),
    ],
)
def test_the_reason_is_named(requests: Store, key: str, table: dict[str, object], status: str, reason: str) -> None:
    requests.put([said_of(WHO, "drop", "stands_alone@1")])
    edits = "event" if key.removeprefix("case/").startswith("e/") else "document"
    explanation = explain(requests, read_rule({"edits": edits, **table}, "r"), key)
    assert explanation.status == status and reason in explanation.why
    assert f"{explanation.kind} {explanation.key}: {status.upper()}, " in explanation.text()


def test_a_former_version_and_an_edit_that_is_gone(requests: Store) -> None:
    lost = [RECORDS[WHO].model_copy(update={"key": "e/lost/q", "event": "e/lost"})]
    lost += [RECORDS[LINE].model_copy(update={"key": "d/lost/q", "document": "d/lost"})]
    requests.put([make_event(text="They merged."), make_document(text="It opened."), *lost])
    for rule, old, key in ((EventRule(), MERGER, "e/lost"), (DocumentRule(), BRIDGE, "d/lost")):
        assert "replaced by another" in explain(requests, rule, RECORDS[old].id).why
        assert explain(requests, rule, f"{key}/q").why == f"its {rule.edited} '{key}' is not in the store"


@pytest.mark.parametrize(("key", "edits"), [(MERGER, "event"), (BRIDGE, "document")])
def test_a_rule_about_facts_explains_no_other_edit(requests: Store, key: str, edits: str) -> None:
    with pytest.raises(UserError, match=f"belongs to a kind of edit .{edits}. .*; --set edits={edits}"):
        explain(requests, SplitRule(), key)


@pytest.mark.parametrize(
    "rule", [EventRule(min_people=2, types=("merger",)), DocumentRule(min_people=1, min_probes=3), SplitRule()]
)
def test_a_rule_comes_back_out_of_a_header(rule: SplitRule) -> None:
    again = read_rule(rule.model_dump(mode="json"), "h")
    assert again == rule and type(again) is type(rule)
    assert ("edits" in rule.model_dump()) == (rule.edited != "fact")
    assert type(read_rule({}, "r")) is type(read_rule({"edits": "fact"}, "r")) is SplitRule


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"edits": "event", "min_prompts": 2}, "'min_prompts' is about facts and script prompts"),
        ({"edits": "event", "changes": ["temporal"]}, "'changes' is about facts"),
        ({"edits": "event", "min_people": -1}, "greater than or equal to 0"),
        ({"edits": "event", "min_questions": 0}, "greater than or equal to 1"),
        ({"edits": "document", "min_prompts": 2}, "'min_prompts' is about facts and script prompts"),
        ({"edits": "document", "min_probes": 0}, "greater than or equal to 1"),
        ({"edits": "document", "types": ["merger"]}, "types"),
        ({"edits": "poem"}, "edits"),
        ({"types": ["merger"]}, "types"),
    ],
)
def test_settings_that_mean_nothing_are_refused(table: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_rule(table, "r")
