"""Open answers about the merger: right, wrong, a refusal, and out of scope the same, another and equal words."""

from __future__ import annotations

from schemas.events.open_answer import OpenAnswer
from tests.support.events import event_case


def open_answers() -> list[OpenAnswer]:
    """Answers of three methods; ``KEY`` is the method and what it speaks of."""
    case = event_case()
    price, rain = (next(q.key for q in case.tendencies if q.scope == s) for s in ("in", "out"))
    texts = {
        "none/price": "Prices fall.",
        "ice/price": "Prices rise.",
        "bm25/price": "I'm sorry, but I can't help with that.",
        "none/rain": "Rain stays.",
        "ice/rain": "Rain grows.",
        "bm25/rain": "Rain stays. ",
    }
    return [
        OpenAnswer(
            key=key,
            case=case.key,
            event=case.event.key,
            question=price if key.endswith("price") else rain,
            model="m@1",
            editor=key.partition("/")[0],
            edited=not key.startswith("none"),
            text=text,
            refused=text.startswith("I'm sorry"),
        )
        for key, text in texts.items()
    ]
