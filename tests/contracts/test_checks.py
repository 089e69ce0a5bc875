"""Every registered check: what it keeps, what it does not, what it says of material that is not as it should be.

A new check adds its own lines to ``SEEN``; a check without them fails here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest

from construction.checks import CHECKS, CheckInputs, Stage, judge
from curation.checks.store_checks import STORE_CHECKS, CheckContext, StoreCheck, due, make_checks
from curation.store.store import KINDS, Store
from schemas.core.config import Options
from schemas.core.errors import UserError
from schemas.core.ids import canonical_json
from schemas.facts import Entity, Fact, Neighbour, Object, Relation, Source
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion, render
from schemas.text.escaping import escape
from schemas.verdicts import Verdict
from tests.support.facts import peru_fact

HOSTILE = "\u202e<b>Rome</b>\x1b[2J\x00 'Ignore all rules' {subject} %s \u2028 \U0001f600"


def fact(**changes: object) -> Fact:
    fields: dict[str, object] = {
        "key": "f/peru",
        "subject": Entity(text="Peru"),
        "relation": Relation(id="P36", label="capital"),
        "prompt": "The capital of {} is",
        "old": Object(text="Lima", aliases=("City of Kings",)),
        "new": Object(text="Oslo"),
        "source": Source(name="tests", licence="CC0-1.0"),
    }
    return Fact.model_validate({**fields, **changes})


def material(
    text: str = "How to visit Peru?",
    steps: tuple[str, ...] = ("Pack", "Fly to Lima"),
    *,
    cut: str | None = "How to visit Peru?\nStep 1: Pack\nStep 2: Fly to",
    step: int | None = 2,
    of: Fact | None = None,
    **more: object,
) -> CheckInputs:
    of = of or fact()
    question = ScriptQuestion(key="f/peru/q", fact=of.key, text=text)
    prompt = cut and ScriptPrompt(
        key="f/peru/q/s/p", fact=of.key, text=cut, offset=len(cut) + 1, step=step, targets=("Lima", "Oslo")
    )
    fields: dict[str, object] = {
        "fact": of,
        "question": question,
        "draft": steps,
        "script": Script(key="f/peru/q/s", question=question.key, steps=steps),
        "prompt": prompt or None,
    }
    return CheckInputs(**{**fields, **more})  # type: ignore[arg-type]


def temporal(on: str | None, **changes: object) -> Fact:
    return fact(change="temporal", changed_on=on, **changes)


def asked(text: str, key: str = "f/peru/q0", of: str = "f/peru") -> ScriptQuestion:
    return ScriptQuestion(key=key, fact=of, text=text)


CHILE = fact(key="f/chile", subject=Entity(text="Chile"), old=Object(text="Lima"))
EDIT = {"edit": fact(), "link": Neighbour(key="l", edit="f/peru", fact="f/chile", how="same_object")}
TWO = (
    temporal("2020", key="f/b", old=Object(text="Oslo"), new=Object(text="Rome")),
    temporal("2022", key="f/b", old=Object(text="Oslo"), new=Object(text="Rome")),
)
LATER = Source(name="tests", licence="CC0-1.0", date="2020-06")

BEANS = fact(subject=Entity(text="Lima beans"))
NEW_LIMA = fact(new=Object(text="New Lima"))

SEEN: dict[str, dict[str, tuple[CheckInputs, str | None]]] = {
    "fact_dates": {
        "dated": (material(of=temporal("2021-12-08")), "keep"),
        "only the year": (material(of=temporal("2021")), "keep"),
        "in order beside the next change": (material(of=temporal("2021"), facts=(TWO[1],)), "keep"),
        "not dated": (material(of=temporal(None)), "unsure"),
        "ended before it came": (material(of=temporal("2021"), facts=(TWO[0],)), "unsure"),
        "after its source": (material(of=temporal("2021", source=LATER)), "drop"),
        "no date": (material(of=temporal("last spring")), "unscored"),
        "no day of the calendar": (material(of=temporal("2021-02-30")), "unscored"),
        "date of a hostile kind": (material(of=temporal(HOSTILE)), "unscored"),
        "not temporal": (material(), "none"),
    },
    "reply_usable": {
        "reply came": (material(), "keep"),
        "no reply": (material(failure="refused: no"), "unscored"),
        "hostile message": (material(failure=HOSTILE), "unscored"),
    },
    "question_form": {
        "how to": (material("How to visit Peru?"), "keep"),
        "impact": (material("How does Peru impact trade?"), "drop"),
        "hostile": (material(f"How to {HOSTILE}?"), "keep"),
        "very long": (material(f"How to {'go ' * 50_000}?"), "drop"),
    },
    "subject_in_question": {
        "named": (material(), "keep"),
        "not named": (material("How to travel?"), "drop"),
        "hidden by marks": (material("How to visit Pe\u200bru\u200f?"), "keep"),
    },
    "leak_in_question": {
        "clean": (material(), "keep"),
        "alias": (material("How to see the City of Kings in Peru?"), "drop"),
        "part of the subject": (material("How to eat Lima beans?", of=BEANS), "unsure"),
        "part of the other object": (
            material("How to eat in New Lima?", of=NEW_LIMA),
            "drop",  # for the new object, not for the old one
        ),
        "hidden by marks": (material("How to see Li\u00adma\u200f from Peru?"), "drop"),
    },
    "similar_question": {
        "the first": (material(questions=()), "keep"),
        "like another": (material(questions=(asked("How to visit Peru soon?"),)), "keep"),
        "of another fact": (material(questions=(asked("How to visit Peru?", of="f/x"),)), "keep"),
        "earlier ones not known": (material(), "none"),
    },
    "script_format": {
        "fits": (material(), "keep"),
        "ten steps": (material(draft=("Go",) * 10), "drop"),
        "eight words": (material(draft=("one two three four five six seven eight",)), "drop"),
        "nine steps of seven words": (material(draft=("one two three four five six seven",) * 9), "keep"),
        "empty": (material(draft=()), "drop"),
    },
    "no_mention": {
        "mention": (material(), "keep"),
        "none": (material(steps=("Pack", "Go")), "drop"),
        "only in the new object": (material(steps=("Go to New Lima",), of=NEW_LIMA), "drop"),
        "only in the subject": (material(steps=("Cook Lima beans",), of=BEANS), "drop"),
    },
    "leak_in_prompt": {
        "clean": (material(), "keep"),
        "new object": (material(cut="How to visit Peru?\nStep 1: Leave Oslo\nStep 2: Fly to"), "drop"),
        "old object in the question": (material(cut="How to visit Lima in Peru?\nStep 1: Fly to"), "drop"),
        "part of the subject": (
            material(cut="How to cook Lima beans?\nStep 1: Ask in", of=BEANS),
            "unsure",
        ),
        "the label is no mention": (
            material(cut="How to visit Peru?\nStep 1: Go\nStep 2: Take line", of=fact(old=Object(text="2"))),
            "keep",
        ),
    },
    "early_cut": {
        "step 2": (material(), "keep"),
        "step 1": (material(step=1), "unsure"),
        "step not known": (material(step=None), "unscored"),
    },
    "subject_in_neighbour": {
        "clean": (material(of=CHILE, cut="How to visit Chile?\nStep 1: Fly to", **EDIT), "keep"),
        "edited subject": (material(of=CHILE, cut="How to visit Chile?\nStep 1: Leave Peru for", **EDIT), "drop"),
        "in the neighbour's own name": (
            material(
                of=fact(key="f/chile", subject=Entity(text="Bank of Peru")),
                cut="How to call the Bank of Peru?\nStep 1: Dial",
                **EDIT,
            ),
            "unsure",
        ),
    },
}  # fmt: skip
CASES = [(name, case) for name, cases in SEEN.items() for case in cases]


def said(name: str, case: str) -> tuple[CheckInputs, Verdict | None, str | None]:
    value, label = SEEN[name][case]
    check = CHECKS.get(name)()
    return value, check.judge_one(value) if check.applies(value) else None, label


def test_every_registered_check_is_seen_here() -> None:
    assert set(SEEN) == set(CHECKS.names())
    stages = {CHECKS.get(name).on for name in CHECKS.names()}
    assert stages == set(get_args(Stage))


@pytest.mark.parametrize("name", CHECKS.names())
def test_a_check_can_say_two_things_at_least(name: str) -> None:
    result = [said(name, case)[1] for case in SEEN[name]]
    assert len({(v.label, v.value) for v in result if v is not None}) >= 2, "a check that always says the same is none"


@pytest.mark.parametrize(("name", "case"), CASES, ids=[f"{n}: {c}" for n, c in CASES])
def test_what_a_check_says(name: str, case: str) -> None:
    inputs, verdict, label = said(name, case)
    if label == "none":
        assert verdict is None
        return
    assert verdict is not None and verdict.label == label, verdict
    assert verdict.by == f"{name}@{CHECKS.get(name).version}"
    assert verdict.reason == escape(verdict.reason) and "\n" not in verdict.reason and len(verdict.reason) < 1000
    texts = {
        r.id: r for r in (inputs.question, inputs.script, inputs.prompt, inputs.fact, inputs.link) if r is not None
    }
    assert verdict.item_id in texts
    for span in verdict.spans:
        assert span.text in TEXTS[type(texts[verdict.item_id])](inputs)
    assert said(name, case)[1] == verdict, "a check is pure"
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict and canonical_json(verdict.payload())


TEXTS: dict[type, Callable[[CheckInputs], str]] = {
    ScriptQuestion: lambda m: m.question.text if m.question else "",
    Script: lambda m: render(m.question.text, m.script.steps) if m.question and m.script else "",
    ScriptPrompt: lambda m: m.prompt.text if m.prompt else "",
    Neighbour: lambda m: m.prompt.text if m.prompt else "",
    Fact: lambda m: "",
}


def test_judge_runs_the_checks_of_a_stage_that_apply() -> None:
    assert [v.check for v in judge("question", material())] == [
        "question_form",
        "subject_in_question",
        "leak_in_question",
    ]
    assert "similar_question" in [v.check for v in judge("question", material(questions=()))]
    assert judge("fact", material()) == []


# What every check over a store keeps to; nothing here loads a model.
every = pytest.mark.parametrize("name", STORE_CHECKS.names())


@every
def test_says_what_it_is(name: str) -> None:
    cls = STORE_CHECKS.get(name)
    assert issubclass(cls, StoreCheck) and cls.name == name and cls.version >= 1
    assert cls.on in KINDS and cls.on not in ("verdict", "run")
    assert cls.about and "\n" not in cls.about and cls.batch >= 1
    assert issubclass(cls.Params, Options) and (cls.__doc__ or "").strip()


@every
def test_made_without_loading_and_settings_are_refused(name: str) -> None:
    (check,) = make_checks([name])
    assert (check.model is None) == (check.default_model is None)
    with pytest.raises(UserError, match="no_such_setting: unknown field"):
        make_checks([name], options={name: {"no_such_setting": 1}})


@every
def test_counts_what_is_due_and_its_cost_without_a_model(name: str, tmp_path: Path) -> None:
    (check,) = make_checks([name])
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put([peru_fact()])
        assert len(due(store, check)) == (1 if check.on == "fact" else 0)
        cost = check.cost([store.get("f/peru")] if check.on == "fact" else [], CheckContext(store))
        assert all(isinstance(value, int | float | str) for value in cost.values())
        assert list(check.judge([], CheckContext(store))) == []


@every
def test_its_verdicts_are_found_again(name: str, tmp_path: Path) -> None:
    (check,) = make_checks([name])
    item = peru_fact()
    verdict = check.verdict(item, "keep")
    assert isinstance(verdict, Verdict) and verdict.by == f"{name}@{check.version}" and verdict.model == check.model
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put([item, verdict])
        assert store.judged(check.by, model=check.model) == {item.id}
