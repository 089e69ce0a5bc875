"""A sequence of edits that fade."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.arithmetic import ArithmeticEdit, ArithmeticEditor, ArithmeticLM, make_cases, make_config
from tests.support.evaluation.runner_of import runner_of

SEQUENCE = {"name": "sequential", "size": [1, 2, 4]}


class Fading(ArithmeticEditor):
    """An edit lifts its own object while no more than two edits follow it; the model then has forgotten it."""

    def edit(self, requests: Any) -> ArithmeticEdit:
        return self.edit_after(requests, [])

    def edit_after(self, requests: Any, earlier: Any) -> ArithmeticEdit:
        lift = 900.0 if len(earlier) < 2 else -900.0  # one lift for the one object that all cases share
        return ArithmeticEdit({requests[0].new.text: lift} if self.name != "none" else {})


def run(out: Path, **more: Any) -> Path:
    config = make_config(out, **{"metrics": ["es"], "regime": SEQUENCE, **more})
    runner_of(config, make_cases(4, 0), scorer=ArithmeticLM(), make=Fading).run()
    return out
