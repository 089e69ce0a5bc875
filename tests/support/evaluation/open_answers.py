"""A run on one event with open answers, and judges of them that answer by rules."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evaluation.runs.results import Run
from schemas.answers import Answer
from schemas.cases import EventCase
from schemas.ratings import Rating
from tests.support.evaluation.event_answers import wrote
from tests.support.evaluation.event_runs import event_run
from tests.support.events import MERGER, event_case, make_event, make_tendency

RIGHT, WRONG, SAME = "Prices rise, since nobody competes.", "Prices fall.", "It rains as it did."


def tendency_case(number: int = 0, *, inside: int = 1, outer: int = 1) -> EventCase:
    """An event with tendency questions only, so many in scope and out of it."""
    key = MERGER if not number else f"e/{number}"
    questions = [make_tendency(f"How may price {n} change?", event=key, key=f"{key}/in{n}") for n in range(inside)]
    questions += [
        make_tendency(f"How may rain {n} change?", "C", event=key, key=f"{key}/out{n}", scope="out")
        for n in range(outer)
    ]
    return event_case(f"case/{key}", event=make_event(key), facts=(), tendencies=tuple(questions))


def open_run(cases: list[EventCase], methods: Mapping[str, Mapping[str, str]], folder: Path = Path()) -> Run:
    """A run as read back: of every method the open answers by question; the first one is the unedited model."""

    def answers(case: EventCase, texts: Mapping[str, str]) -> dict[str, Answer]:
        asked = [question for question in case.tendencies if question.key in texts]
        return {key: answer for q in asked for key, answer in wrote(q, texts[q.key]).items()}

    given = {label: {c.key: (answers(c, texts), None) for c in cases} for label, texts in methods.items()}
    return event_run(cases, given, folder)


def shown(payload: dict[str, Any]) -> str:
    """What the judge is asked about last, fence and all; a repair round stands after it."""
    return str([m["content"] for m in payload["messages"] if "<text>" in m["content"] and m["role"] == "user"][-1])


def is_pair(payload: dict[str, Any]) -> bool:
    """Whether two texts are compared."""
    return "First text:" in shown(payload)


def tendency_reply(accuracy: int, overall: int, **more: Any) -> str:
    """A reply about one answer."""
    fields = {"accuracy": accuracy, "coherence": 4, "comprehensiveness": 3, "overall": overall, "reason": "as ruled"}
    return json.dumps({**fields, **more})


def by_words(payload: dict[str, Any]) -> str:
    """A judge of words: an answer that says "rise" is right, two answers that both speak of rain say the same."""
    text = shown(payload)
    if is_pair(payload):
        return json.dumps({"consistency": 5 if text.count("rain") >= 3 else 1, "reason": "as ruled"})
    tail_text = text.partition("<text>")[2]
    return tendency_reply(5, 5) if "rise" in tail_text else tendency_reply(1, 1)


def rated(
    item: str,
    values: Mapping[str, int | None],
    *,
    rater: str = "judge:gpt-x",
    before: str | None = None,
    version: int = 1,
) -> list[Rating]:
    """Ratings of one answer, or of a pair."""
    rubric = "tendency" if before is None else "consistency"
    form = f"judge_{rubric}_paper@{version}" if rater.startswith("judge") else f"rate_{rubric}@{version}"
    return [
        Rating.model_validate(
            {
                "key": f"rating/{form}/{rater}/{aspect}/{item}", "item_id": item, "aspect": aspect, "value": value,
                "rater": rater, "form": form, "rubric": rubric, "before_id": before,
                "reason": "" if value is not None else "no usable reply: refused: no",
            }
        )
        for aspect, value in values.items()
    ]  # fmt: skip
