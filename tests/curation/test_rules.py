from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from curation.rules import SplitRule, choose
from curation.store import Store
from schemas.facts import Entity, Fact, Neighbour
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from schemas.verdicts import Verdict, verdict_key
from tests.conftest import fact


def chain(of: Fact, n: int) -> tuple[ScriptQuestion, Script, ScriptPrompt]:
    question = ScriptQuestion(key=f"{of.key}/q{n}", fact=of.key, text=f"How to visit {of.subject.text} {n}?")
    script = Script(key=f"{question.key}/s", question=question.key, steps=("Pack", "Fly to Lima"))
    text = f"{question.text}\nStep 1: Pack\nStep 2: Fly to"
    prompt = ScriptPrompt(
        key=f"{script.key}/p", fact=of.key, question=question.key, script=script.key, text=text, offset=len(text) + 1,
        step=2, targets=("Lima",),
    )  # fmt: skip
    return question, script, prompt


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


EDIT = fact()
OTHER = fact("f/museum", subject=Entity(text="Larco Museum"))
LINK = Neighbour(key="n/1", edit=EDIT.key, fact=OTHER.key, how="same_object")
CHAINS = [chain(EDIT, 1), chain(EDIT, 2)]
BESIDE = chain(OTHER, 1)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "s.duckdb", create=True) as made:
        made.put([EDIT, OTHER, LINK, *CHAINS[0], *CHAINS[1], *BESIDE])
        yield made


def case(store: Store, **rule: object) -> tuple[int, int, dict[str, int]]:
    chosen = choose(store, SplitRule.model_validate(rule))
    found = [c for c in chosen.cases if c.fact.key == EDIT.key]
    prompts = len(found[0].prompts) if found else -1
    beside = sum(len(n.prompts) for n in found[0].neighbours) if found else -1
    return prompts, beside, chosen.counts


Q1, S1, P1 = CHAINS[0]
CASES = [
    ("all kept", [], {}, (2, 1)),
    ("question dropped", [verdict(Q1.id, "drop", "leak")], {}, (1, 1)),
    ("script dropped", [verdict(S1.id, "drop", "leak")], {}, (1, 1)),
    ("prompt held", [verdict(P1.id, "unsure", "early_cut")], {}, (1, 1)),
    ("prompt unsure but kept", [verdict(P1.id, "unsure", "early_cut")], {"unsure": "keep"}, (2, 1)),
    ("check ignored", [verdict(P1.id, "drop", "leak")], {"ignore": ["leak"]}, (2, 1)),
    ("unscored says nothing", [verdict(P1.id, "unscored", "leak")], {}, (2, 1)),
    ("fact dropped", [verdict(EDIT.id, "drop", "known")], {}, (-1, -1)),
    ("person saves", [verdict(P1.id, "drop", "leak"), verdict(P1.id, "keep", "person:a/filter@1")], {}, (2, 1)),
    ("person drops", [verdict(P1.id, "keep", "leak"), verdict(P1.id, "drop", "person:a/filter@1")], {}, (1, 1)),
    ("people are not asked",
     [verdict(P1.id, "drop", "leak"), verdict(P1.id, "keep", "person:a/filter@1")], {"people_outrank": False}, (1, 1)),
    ("pair dropped", [verdict(LINK.id, "drop", "subject_in_neighbour", BESIDE[2].id)], {}, (2, 0)),
    ("link dropped", [verdict(LINK.id, "drop", "subject_in_neighbour")], {}, (2, 0)),
    ("too few prompts", [verdict(P1.id, "drop", "leak")], {"min_prompts": 2}, (-1, -1)),
    ("too few neighbours", [verdict(LINK.id, "drop", "x")], {"min_neighbours": 1}, (-1, -1)),
    ("other kind of edit", [], {"changes": ["temporal"]}, (-1, -1)),
    ("other prefix", [], {"prefix": "facts/"}, (-1, -1)),
    ("own prefix", [], {"prefix": "f/pe"}, (2, 1)),
    ("verdict on an old version", [verdict("0" * 20, "drop", "leak")], {}, (2, 1)),
]  # fmt: skip


@pytest.mark.parametrize(("verdicts", "rule", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_rule(store: Store, verdicts: list[Verdict], rule: dict[str, object], expected: tuple[int, int]) -> None:
    store.put(verdicts)
    assert case(store, **rule)[:2] == expected


def test_losses_are_counted_by_reason(store: Store) -> None:
    store.put([verdict(Q1.id, "drop", "leak"), verdict(CHAINS[1][2].id, "unsure", "early_cut")])
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
