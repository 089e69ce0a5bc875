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
