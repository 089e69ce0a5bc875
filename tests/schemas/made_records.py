"""Records and fields that several tests of records begin with."""

from __future__ import annotations

from typing import Any

from schemas.probes import GenerateProbe, ScoreProbe

SCORE = ScoreProbe(purpose="fact", item="f/1", prompt="The capital of Peru is", targets=("Lima", "Oslo"))
WRITE = GenerateProbe(purpose="script_question", item="q/1", prompt="How to visit Lima?")
LEAGUE: dict[str, Any] = {"text": "In which league does Brenta play?", "answer": {"text": "Second League"}}
RATING = {"key": "r", "item_id": "x", "aspect": "coherence", "rater": "person:a", "form": "rate_script@1", "value": 4}
ASKED = {"item": "q1", "query": "Who?", "answer": "Ada", "nll": 0.5, "ppl": 1.6}
EVENT_RATING = {"key": "r", "item_id": "x", "rater": "judge:m", "form": "judge_tendency_paper@1", "rubric": "tendency"}


PAIR = {**EVENT_RATING, "aspect": "consistency", "rubric": "consistency", "before_id": "y", "value": 5}
OPEN_ANSWER = {
    "key": "a/1",
    "case": "case/e",
    "event": "e",
    "question": "e/t",
    "model": "m@1",
    "editor": "ice",
    "edited": True,
    "text": "Prices rise.",
}
MANIFEST: dict[str, Any] = {
    "key": "run/1",
    "editor": "rome",
    "editor_version": 1,
    "params": {"layers": [5]},
    "model": "m",
    "model_revision": "1",
    "dtype": "float32",
    "split": "mini",
    "split_digest": "0" * 64,
    "regime": "single",
    "components": {"torch": "2"},
}
