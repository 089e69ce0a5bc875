from __future__ import annotations

import pytest

from curation.rules.selection import SplitRule, choose
from curation.store.store import Store
from schemas.scripts import ScriptQuestion
from schemas.verdicts import Verdict, verdict_key
from tests.support.curation.rule_records import BESIDE, CHAINS, EDIT, LINK


def verdict(item: str, label: str, check: str, *related: str) -> Verdict:
    by = check if "@" in check else f"{check}@1"
    return Verdict(
        key=verdict_key(item_id=item, by=by, related=related),
        item_id=item,
        by=by,
        label=label,
        reason="r",
        related=related,
    )  # type: ignore[arg-type]


def case(store: Store, **rule: object) -> tuple[int, int, dict[str, int]]:
    choice = choose(store, SplitRule.model_validate(rule))
    cases = [c for c in choice.cases if c.fact.key == EDIT.key]
    prompts = len(cases[0].prompts) if cases else -1
    total = sum(len(n.prompts) for n in cases[0].neighbours) if cases else -1
    return prompts, total, choice.counts


Q1, S1, P1 = CHAINS[0]
CASES = [
    ("all kept", [], {}, (3, 1)),
    ("question dropped", [verdict(Q1.id, "drop", "leak")], {}, (2, 1)),
    ("script dropped", [verdict(S1.id, "drop", "leak")], {}, (2, 1)),
    ("prompt held", [verdict(P1.id, "unsure", "early_cut")], {}, (2, 1)),
    ("prompt unsure but kept", [verdict(P1.id, "unsure", "early_cut")], {"unsure": "keep"}, (3, 1)),
    ("check ignored", [verdict(P1.id, "drop", "leak")], {"ignore": ["leak"]}, (3, 1)),
    ("unscored says nothing", [verdict(P1.id, "unscored", "leak")], {}, (3, 1)),
    ("fact dropped", [verdict(EDIT.id, "drop", "known")], {}, (-1, -1)),
    ("person saves", [verdict(P1.id, "drop", "leak"), verdict(P1.id, "keep", "person:a/filter@1")], {}, (3, 1)),
    ("person drops", [verdict(P1.id, "keep", "leak"), verdict(P1.id, "drop", "person:a/filter@1")], {}, (2, 1)),
    ("people are not asked",
     [verdict(P1.id, "drop", "leak"), verdict(P1.id, "keep", "person:a/filter@1")], {"people_outrank": False}, (2, 1)),
    ("pair dropped", [verdict(LINK.id, "drop", "subject_in_neighbour", BESIDE[2].id)], {}, (3, 0)),
    ("link dropped", [verdict(LINK.id, "drop", "subject_in_neighbour")], {}, (3, 0)),
    ("too few prompts", [verdict(P1.id, "drop", "leak")], {"min_prompts": 3}, (-1, -1)),
    ("too few neighbours", [verdict(LINK.id, "drop", "x")], {"min_neighbours": 1}, (-1, -1)),
    ("other kind of edit", [], {"changes": ["temporal"]}, (-1, -1)),
    ("other prefix", [], {"prefix": "facts/"}, (-1, -1)),
    ("own prefix", [], {"prefix": "f/pe"}, (3, 1)),
    ("verdict on an old version", [verdict("0" * 20, "drop", "leak")], {}, (3, 1)),
]  # fmt: skip


@pytest.mark.parametrize(("verdicts", "rule", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_rule(store: Store, verdicts: list[Verdict], rule: dict[str, object], expected: tuple[int, int]) -> None:
    store.put(verdicts)
    assert case(store, **rule)[:2] == expected


def test_losses_are_counted_by_reason(store: Store) -> None:
    store.put([verdict(Q1.id, "drop", "leak"), verdict(CHAINS[1][2].id, "unsure", "early_cut")])
    store.put([verdict(CHAINS[2][1].id, "drop", "format")])
    counts = case(store)[2]
    assert counts["prompt: dropped by leak"] == 1
    assert counts["prompt: held by early_cut"] == 1
    assert counts["fact: too few prompts"] == 1
    assert counts["cases"] == 1, "the neighbour fact is a case of its own"


def test_questions_without_a_prompt_are_counted(store: Store) -> None:
    lone = ScriptQuestion(key="f/peru/q9", fact=EDIT.key, text="How to leave Lima?")
    store.put([lone, verdict(lone.id, "drop", "leak_in_question")])
    assert case(store)[2]["question: dropped by leak_in_question"] == 1
    assert "question: dropped by leak_in_question" not in case(store, prefix="f/museum")[2]
