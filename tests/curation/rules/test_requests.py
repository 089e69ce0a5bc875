"""Rules about events and documents: what is selected, what is frozen, and that explanations say the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from curation.rules.explain import explain
from curation.rules.release import freeze, freeze_with_report
from curation.rules.rule import DocumentRule, EventRule, SplitRule, read_rule
from curation.rules.selection import Ruling, SelectionStream
from curation.splits.versions import Errata, Erratum
from curation.splits.visible_texts import record_keys
from curation.store.store import Store
from schemas.core.errors import UserError
from schemas.verdicts import Verdict
from tests.support.curation.verdicts import make_verdict
from tests.support.documents.records import BRIDGE, TRAM, document_case, document_records, make_document
from tests.support.events import MERGER, MOVE, event_case, event_records, make_event, make_tendency

RECORDS = {r.key: r for r in (*event_records(), *document_records())}
WHO = f"{MERGER}/fact/Who-leads-Brenta-Rail?"
PRICES = f"{MERGER}/tendency/How-may-ticket-prices-change?"
WHERE = f"{MOVE}/fact/Where-is-Corvo-Foods?"
REVERSE = f"{BRIDGE}/What-did-Ada-Brun-design?"
LINE = f"{TRAM}/Line-9-runs-to-___."
WRONG = {"what": "wrong", "date": "2026-11-22"}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "s.duckdb", create=True) as db:
        db.put(RECORDS.values())
        yield db


def said(key: str, label: str, by: str = "person:ann/judge_tendency@1") -> Verdict:
    return make_verdict(RECORDS[key].id, label, by)


BO, LEA = "person:bo/judge_tendency@1", "person:lea/judge_tendency_adjudicated@1"
EVENTS: dict[str, tuple[list[Verdict], dict[str, Any], list[str], dict[str, int]]] = {
    "all": ([], {}, [], {MERGER: 5, MOVE: 1}),
    "a question dropped": ([said(WHO, "drop", "stands_alone@1")], {}, [], {MERGER: 4, MOVE: 1}),
    "an event dropped": ([said(MOVE, "drop", "kept@1")], {}, [], {MERGER: 5}),
    "unsure is held": ([said(PRICES, "unsure")], {}, [], {MERGER: 4, MOVE: 1}),
    "types": ([], {"types": ["headquarters"]}, [], {MOVE: 1}),
    "prefix": ([], {"prefix": "e/mer"}, [], {MERGER: 5}),
    "too few questions": ([], {"min_questions": 2}, [], {MERGER: 5}),
    "one person is not two": ([said(PRICES, "keep")], {"min_people": 2}, [], {}),
    "one person twice is not two": (
        [said(PRICES, "keep"), said(PRICES, "keep", "person:ann/review_scope@1")],
        {"min_people": 2},
        [],
        {},
    ),
    "two people keep": ([said(PRICES, "keep"), said(PRICES, "keep", BO)], {"min_people": 2}, [], {MERGER: 1}),
    "a lead decides alone": ([said(PRICES, "drop"), said(PRICES, "keep", LEA)], {"min_people": 2}, [], {MERGER: 1}),
    "one of two drops": ([said(PRICES, "keep"), said(PRICES, "drop", BO)], {"min_people": 2}, [], {}),
    "a check is no person": ([said(PRICES, "keep", "options@1")], {"min_people": 1}, [], {}),
    "an erratum on a question": ([], {}, [WHO], {MERGER: 4, MOVE: 1}),
    "an erratum on a case": ([], {}, [f"case/{MOVE}"], {MERGER: 5}),
}
DOCUMENTS: dict[str, tuple[list[Verdict], dict[str, Any], list[str], dict[str, int]]] = {
    "all": ([], {}, [], {BRIDGE: 4, TRAM: 1}),
    "a probe dropped": ([said(REVERSE, "drop", "one_blank@1")], {}, [], {BRIDGE: 3, TRAM: 1}),
    "a document dropped": ([said(TRAM, "drop", "one_blank@1")], {}, [], {BRIDGE: 4}),
    "too few probes": ([], {"min_probes": 2}, [], {BRIDGE: 4}),
    "prefix": ([], {"prefix": "d/tr"}, [], {TRAM: 1}),
    "nobody judged": ([], {"min_people": 1}, [], {}),
    "an erratum on a case": ([], {}, [f"case/{TRAM}"], {BRIDGE: 4}),
    "an erratum on a probe": ([], {}, [REVERSE], {BRIDGE: 3, TRAM: 1}),
}
SELECTED = [("event", *case) for case in EVENTS.items()] + [("document", *case) for case in DOCUMENTS.items()]


@pytest.mark.parametrize(("edits", "case"), [(e, c) for e, _, c in SELECTED], ids=[f"{e}: {n}" for e, n, _ in SELECTED])
def test_what_is_selected_is_what_is_explained(store: Store, edits: str, case: Any) -> None:
    verdicts, table, items, expected = case
    store.put(verdicts)
    rule = read_rule({"edits": edits, **table}, "r")
    errata = Errata([Erratum(item=item, **WRONG) for item in items])
    cases = list(SelectionStream(store, rule, errata=errata, block=1))
    keys = {key for chosen in cases for key in record_keys(chosen)}
    assert {c.request.key: len(list(record_keys(c))) - 1 for c in cases} == expected
    for key in (r.key for r in (event_records() if edits == "event" else document_records())):
        assert (explain(store, rule, key, errata=errata).status == "in") == (key in keys), key


def test_an_erratum_holds_or_is_about_another_version(store: Store) -> None:
    ruling = Ruling(store, EventRule(), errata=Errata([Erratum(item=MOVE, action="hold", **WRONG)]))
    assert ruling.decide(RECORDS[MOVE]).outcome == "hold"
    other = Errata([Erratum(item=WHO, id="other", **WRONG)])
    assert len(list(record_keys(next(iter(SelectionStream(store, EventRule(), errata=other)))))) == 6


@pytest.mark.parametrize("rule", [EventRule(prefix=MERGER), DocumentRule(prefix=BRIDGE)], ids=["event", "document"])
def test_people_judge_a_whole_case_of_exactly_this_content(store: Store, rule: SplitRule) -> None:
    (case,) = SelectionStream(store, rule)
    assert set(record_keys(case)) == set(record_keys(event_case() if rule.edited == "event" else document_case()))
    store.put([make_verdict(case.id[::-1], "drop", "person:ann/quality@1")])
    assert list(SelectionStream(store, rule)) == [case]
    store.put([make_verdict(case.id, "drop", "person:ann/quality@1")])
    assert not list(SelectionStream(store, rule))


@pytest.mark.parametrize(
    ("rule", "dropped", "counts", "key", "sizes"),
    [
        (
            EventRule(min_questions=2),
            said(WHO, "drop", "stands_alone@1"),
            {"event: too few questions": 1, "events": 2, "fact question: dropped by stands_alone": 1},
            MERGER,
            (2, 2),
        ),
        (
            DocumentRule(min_probes=2),
            said(REVERSE, "drop", "one_blank@1"),
            {"document probe: dropped by one_blank": 1, "document: too few probes": 1, "documents": 2},
            BRIDGE,
            (3, 0),
        ),
    ],
    ids=["event", "document"],
)
def test_a_frozen_split_comes_back_and_says_what_was_lost(
    store: Store, rule: SplitRule, dropped: Verdict, counts: dict[str, int], key: str, sizes: tuple[int, int]
) -> None:
    store.put([dropped])
    split = freeze(store, "mine", rule)
    assert split.type == rule.edited and split.header["format"] == 3
    assert split.header["counts"] == {"cases": 1, **counts}
    assert [c.key for c in store.split("mine").all_cases] == [f"case/{key}"]
    assert store.split_sizes("mine@1.0.0") == sizes
    assert explain(store, read_rule(split.header["rule"], "h"), f"case/{key}").status == "in"
    with pytest.raises(UserError, match="mine@1.0.0: this works on edits of facts"):
        _ = split.cases


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (EventRule(min_questions=9), "would have no case .*event: too few questions: 2"),
        (EventRule(types=("nope",), min_people=1), r"no case \(0 events in the rule's scope; fact question"),
    ],
)
def test_a_split_without_a_case_says_why(store: Store, rule: SplitRule, message: str) -> None:
    with pytest.raises(UserError, match=message):
        freeze_with_report(store, "mine", rule)


def test_a_question_in_both_scopes_is_named_until_one_of_the_two_is_taken_out(store: Store) -> None:
    """Two records that are sound by themselves: a factual question, and a tendency that asks the same elsewhere."""
    again = make_tendency("WHO leads Brenta Rail?", "C", event=MERGER, scope="out", key=f"{MERGER}/t-again")
    store.put([again])
    with pytest.raises(UserError, match=rf"in and out of scope: 'WHO leads Brenta Rail\?' \('{re.escape(WHO)}' and"):
        list(SelectionStream(store, EventRule()))
    errata = Errata([Erratum(item=again.key, **WRONG)])
    assert len(list(SelectionStream(store, EventRule(), errata=errata))) == 2


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
def test_the_reason_is_named(store: Store, key: str, table: dict[str, object], status: str, reason: str) -> None:
    store.put([said(WHO, "drop", "stands_alone@1")])
    edits = "event" if key.removeprefix("case/").startswith("e/") else "document"
    explanation = explain(store, read_rule({"edits": edits, **table}, "r"), key)
    assert explanation.status == status and reason in explanation.why
    assert f"{explanation.kind} {explanation.key}: {status.upper()}, " in explanation.text()


def test_a_former_version_and_an_edit_that_is_gone(store: Store) -> None:
    lost = [RECORDS[WHO].model_copy(update={"key": "e/lost/q", "event": "e/lost"})]
    lost += [RECORDS[LINE].model_copy(update={"key": "d/lost/q", "document": "d/lost"})]
    store.put([make_event(text="They merged."), make_document(text="It opened."), *lost])
    for rule, old, key in ((EventRule(), MERGER, "e/lost"), (DocumentRule(), BRIDGE, "d/lost")):
        assert "replaced by another" in explain(store, rule, RECORDS[old].id).why
        assert explain(store, rule, f"{key}/q").why == f"its {rule.edited} '{key}' is not in the store"


@pytest.mark.parametrize(("key", "edits"), [(MERGER, "event"), (BRIDGE, "document")])
def test_a_rule_about_facts_explains_no_other_edit(store: Store, key: str, edits: str) -> None:
    with pytest.raises(UserError, match=f"belongs to a kind of edit .{edits}. .*; --set edits={edits}"):
        explain(store, SplitRule(), key)


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
