"""Runs on events put together by hand: answers and prompts as a journal holds them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from curation.splits.split_file import make_split
from evaluation.engines.base import rewritten
from evaluation.metrics.event_questions import open_probe
from evaluation.metrics.events import EventAllWhole, Question
from evaluation.metrics.generation import EventChoice
from evaluation.runs.results import EditorRun, Run
from schemas.answers import Answer
from schemas.cases import EventCase
from schemas.runs import CaseResult

Rewrite = Callable[[str], str]


def event_run(
    cases: list[EventCase],
    methods: Mapping[str, Mapping[str, tuple[dict[str, Answer], Rewrite | None]]],
    folder: Path = Path(),
) -> Run:
    """A run folder as read back: of every method, by case, the answers and the edit's way with prompts."""
    editors = []
    for label, by_case in methods.items():
        results = {}
        for case in cases:
            if case.key not in by_case:
                continue
            answers, rewrite = by_case[case.key]
            probes = [p for q in questions(case) for p in EventAllWhole().probes_of(q)]
            probes += [open_probe(q, EventChoice()) for q in case.tendencies]
            notes = rewritten([p for p in probes if p.id in answers], rewrite)
            results[case.key] = CaseResult(run="r", case=case.key, answers=tuple(answers.values()), notes=notes)
        manifest: Any = SimpleNamespace(
            **{"key": f"{label}-0123456789", "model": "m", "model_revision": "1"},
            **{"editor": label, "regime": "single", "params": {}, "components": {}},
        )
        editors.append(EditorRun(label, manifest, results, {}))
    record: dict[str, Any] = {"split_digest": "d", "config": {}, "regime": "single"}
    return Run(folder, record, make_split("events", cases), tuple(c.key for c in cases), tuple(editors))


def questions(case: EventCase) -> list[Question]:
    """All questions of a case."""
    return [*case.facts, *case.tendencies]
