"""A finished run whose texts are known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evaluation.runs.results import Run, load_run
from schemas.answers import Answer
from tests.support.arithmetic import ArithmeticLM, go

TEXTS = ["s_es_gen", "s_es_gen_question"]


def finished(out: Path, metrics: list[str], **more: Any) -> Run:
    go(out, metrics=metrics, **more)
    return load_run(out)


class _Elsewhere(ArithmeticLM):
    def _text(self, probe: Any, prompt: str) -> Answer:
        text = super()._text(probe, prompt)
        assert text.written is not None
        return text.model_copy(
            update={"written": text.written.model_copy(update={"text": text.written.text.replace("Lima", "Bonn")})}
        )


class ThinkingLM(ArithmeticLM):
    """Thinks of Lima before every answer; of one land it never comes to an end, of another it does not think."""

    def _text(self, probe: Any, prompt: str) -> Answer:
        answer = super()._text(probe, prompt)
        assert answer.written is not None
        if "Land01" in prompt or probe.thought is None:
            return answer
        changes: dict[str, Any] = {"thought": "Oslo? No, it is Lima.", "tokens": 30}
        if "Land02" in prompt:
            changes |= {"text": "", "thought": "Oslo? Oslo?", "unfinished": True, "ended": "length"}
        return answer.model_copy(update={"written": answer.written.model_copy(update=changes)})
