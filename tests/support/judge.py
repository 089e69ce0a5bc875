"""Scripts to judge, and scripted judges."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from curation.store.store import Store
from evaluation.judge.inputs import JudgeInput
from evaluation.judge.ratings import expected_ratings, named_objects
from schemas.facts import Fact
from schemas.generated_scripts import GeneratedScript
from schemas.ratings import Rating
from schemas.scripts import ScriptQuestion
from tests.support.facts import make_fact

FACT = make_fact("Peru", "Lima", "Oslo", key="fact/peru")
ASK = JudgeInput(
    item="item-1",
    case="case/peru",
    text="Step 1: Book a flight to Oslo\nStep 2: Walk to the ministry",
    question="How to visit the ministry of Peru?",
    fact=FACT,
    edited=True,
    writer="gpt2-xl",
    editor="secret-method",
)
TEXTS = {
    "new": ("Book a flight to Oslo", "Walk to the ministry"),
    "old": ("Book a flight to Lima", "Walk to the ministry"),
    "both": ("Book a flight to Lima", "Take the bus to Oslo"),
    "neither": ("Look up the address", "Go there on foot"),
}


def make_script(fact: Fact, editor: str, steps: tuple[str, ...], **changes: Any) -> GeneratedScript:
    question = changes.pop("question", f"{fact.key}/q1")
    return GeneratedScript.model_validate(
        {
            "key": f"generated/{editor}/{question}",
            "case": f"case/{fact.key}",
            "fact": fact.key,
            "question": question,
            "model": "gpt2-xl",
            "editor": editor,
            "edited": editor != "none",
            "text": "\n".join(f"Step {n}: {s}" for n, s in enumerate(steps, 1)),
            "steps": steps,
            **changes,
        }
    )


def fill_store(path: Path, *, facts: int = 4, editors: tuple[str, ...] = ("none", "rome")) -> list[GeneratedScript]:
    """A store with scripts that name the new object, the old one, both or neither, in turn."""
    scripts, records = [], []
    for n in range(facts):
        fact = make_fact(f"Land{n}", "Lima", "Oslo", key=f"fact/land{n}")
        records += [fact, ScriptQuestion(key=f"{fact.key}/q1", fact=fact.key, text=f"How to visit Land{n}'s ministry?")]
        for m, editor in enumerate(editors):
            scripts.append(make_script(fact, editor, list(TEXTS.values())[(n + m) % 4]))
    with Store.open(path, create=True) as store:
        store.put([*records, *scripts])
    return scripts


def parts(payload: dict[str, Any]) -> dict[str, str]:
    """What the last item shows (a repair round stands after it), by label; ``text`` is what stands in the fence."""
    user = [m["content"] for m in payload["messages"] if "<text>" in m["content"] and m["role"] == "user"][-1]
    head, _, rest = user.partition("<text>\n")
    result = dict(line.split(": ", 1) for line in head.strip().splitlines() if ": " in line)
    return {**result, "text": rest.partition("\n</text>")[0]}


def aspect_of(payload: dict[str, Any]) -> str:
    system = payload["messages"][0]["content"]
    return next(
        a for a in ("Executability", "Coherence", "Consistency", "Completeness") if f"only, {a}:" in system
    ).lower()


def by_rubric(payload: dict[str, Any]) -> str:
    """A judge that knows the deterministic rules and says 6 where there is none."""
    sections, aspect = parts(payload), aspect_of(payload)
    value = 6
    if aspect != "executability":
        fact = make_fact("X", sections["Old object"], sections["New object"], key="f")
        value = expected_ratings(named_objects(sections["text"], fact)).get(aspect, 1 if aspect == "consistency" else 6)  # type: ignore[call-overload]
    if "quotes" in payload["messages"][0]["content"]:
        return json.dumps({"quotes": ["absent"], "rating": value, "reason": "as the rule says"})
    return json.dumps({"rating": value, "reason": "as the rule says"})


def always(text: str) -> Callable[[dict[str, Any]], str]:
    return lambda payload: text


def rating(item: str, aspect: str, value: int | None, rater: str = "judge:x", reason: str = "") -> Rating:
    form = f"judge_{aspect}_paper@1" if rater.startswith("judge") else "rate_script@1"
    return Rating.model_validate(
        {
            "key": f"rating/{form}/{rater}/{aspect}/{item}", "item_id": item, "aspect": aspect, "value": value,
            "rater": rater, "form": form, "reason": reason or ("" if value else "no usable reply: refused: no"),
        }
    )  # fmt: skip
