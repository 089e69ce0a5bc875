"""Runs on events put together by hand: answers and prompts as a journal holds them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from curation.splits.split_file import make_split
from evaluation.engines.base import rewritten
from evaluation.metrics.events.base import Question
from evaluation.metrics.events.tendencies import EventAllWhole
from evaluation.runs.results import EditorRun, Run
from schemas.answers import Answer
from schemas.cases import EventCase
from schemas.runs import CaseResult

Rewrite = Callable[[str], str]


def event_run(
    cases: list[EventCase], methods: Mapping[str, Mapping[str, tuple[dict[str, Answer], Rewrite | None]]]
) -> Run:
    """A run folder as read back: of every method, by case, the answers and the edit's way with prompts."""
    editors = []
    for label, by_case in methods.items():
        results = {}
        for case in cases:
            if case.key not in by_case:
                continue
            answers, rewrite = by_case[case.key]
            asked = [p for q in questions(case) for p in EventAllWhole().probes_of(q)]
            notes = rewritten([p for p in asked if p.id in answers], rewrite)
            results[case.key] = CaseResult(run="r", case=case.key, answers=tuple(answers.values()), notes=notes)
        editors.append(EditorRun(label, None, results, {}))  # type: ignore[arg-type]
    about: dict[str, Any] = {"split_digest": "d", "config": {}, "regime": "single"}
    return Run(Path(), about, make_split("events", cases), tuple(c.key for c in cases), tuple(editors))


def questions(case: EventCase) -> list[Question]:
    """All questions of a case."""
    return [*case.facts, *case.tendencies]
