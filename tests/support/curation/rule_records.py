"""What the tests of rules share: an edit with three prompts, a neighbour with one, verdicts in one line."""

from __future__ import annotations

from schemas.facts import Entity, Fact, Neighbour
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from schemas.verdicts import Verdict, verdict_key
from tests.support.facts import peru_fact

EDIT = peru_fact()
OTHER = peru_fact("f/museum", subject=Entity(text="Larco Museum"))
LINK = Neighbour(key="n/1", edit=EDIT.key, fact=OTHER.key, how="same_object")


def chain(of: Fact, n: int) -> tuple[ScriptQuestion, Script, ScriptPrompt]:
    question = ScriptQuestion(key=f"{of.key}/q{n}", fact=of.key, text=f"How to visit {of.subject.text} {n}?")
    script = Script(key=f"{question.key}/s", question=question.key, steps=("Pack", "Fly to Lima"))
    text = f"{question.text}\nStep 1: Pack\nStep 2: Fly to"
    prompt = ScriptPrompt(
        key=f"{script.key}/p", fact=of.key, question=question.key, script=script.key, text=text, offset=len(text) + 1,
        step=2, targets=("Lima",),
    )  # fmt: skip
    return question, script, prompt


CHAINS = [chain(EDIT, n) for n in range(3)]
BESIDE = chain(OTHER, 0)
(Q0, S0, P0), (Q1, S1, P1), (Q2, S2, P2) = CHAINS


def said(
    item: str, by: str, label: str | None = None, *related: str, value: float | None = None, unit: str | None = "f",
    model: str | None = None,
) -> Verdict:  # fmt: skip
    return Verdict.model_validate(
        {
            "key": verdict_key(item_id=item, by=by, related=related, model=model),
            "item_id": item,
            "by": by,
            "label": label,
            "reason": "because",
            "value": value,
            "unit": unit if value is not None else None,
            "model": model,
            "related": related,
        }
    )


def ann(item: str, label: str, name: str = "ann", task: str = "filter@1") -> Verdict:
    return said(item, f"person:{name}/{task}", label)
