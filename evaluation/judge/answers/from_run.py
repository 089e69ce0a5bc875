"""Open answers that a run's models wrote, out of its journal, as records that judges and people rate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from evaluation.metrics.event_choice import EventChoice
from evaluation.metrics.events.probes import open_probe
from evaluation.metrics.generation import Generation
from evaluation.metrics.text_level.script_parser import declines
from evaluation.runs.results import EditorRun, Run, answers_by_probe
from schemas.answers import GeneratedText
from schemas.cases import EventCase
from schemas.core.clock import now
from schemas.core.errors import UserError
from schemas.events.open_answer import OpenAnswer
from schemas.lineage import Lineage

if TYPE_CHECKING:
    from curation.store.store import Store


class OpenAnswerSource(NamedTuple):
    """An open answer with what is known about its making, which is no part of it.

    ``label`` is the method's in the run, ``probe`` the id of what was asked.
    """

    answer: OpenAnswer
    label: str
    probe: str
    written: GeneratedText


def open_answers(run: Run) -> list[OpenAnswerSource]:
    """All open answers of a run, by editor and case in the run's order; cases that failed have none."""
    choice = Generation.from_description(run.about).events
    cases = {c.key: c for c in run.split.all_cases if isinstance(c, EventCase)}
    return [one for editor in run.editors for one in _of_editor(run, editor, cases, choice)]


def _of_editor(
    run: Run, editor: EditorRun, cases: dict[str, EventCase], choice: EventChoice
) -> Iterator[OpenAnswerSource]:
    for key, result in editor.results.items():
        if result.error is not None or key not in cases:
            continue
        case, answers = cases[key], answers_by_probe(result.answers)
        for question in case.tendencies:
            probe = open_probe(question, choice)
            answer = answers.get(probe.id)
            if answer is None or answer.written is None:
                continue
            record = OpenAnswer(
                key=f"{editor.manifest.key[:10]}/{question.key}",
                case=case.key,
                event=case.event.key,
                question=question.key,
                model=f"{editor.manifest.model}@{editor.manifest.model_revision}",
                editor=editor.label,
                edited=editor.label != run.baseline.label,
                text=answer.written.text,
                refused=declines(answer.written.text),
            )
            yield OpenAnswerSource(record, editor.label, probe.id, answer.written)


def store_answers(run: Run, store: Store) -> int:
    """Put a run's open answers into a store, with their cases and how they were written; returns how many.

    Raises:
        UserError: no open answer was written in the run.
    """
    sources = open_answers(run)
    if not sources:
        raise UserError(
            "no open answer was written in this run",
            where=str(run.folder),
            fix='add "ev_open" and "ev_open_local" to its metrics and run it again',
        )
    cases = set(run.cases)
    store.put([c for c in run.split.all_cases if c.key in cases])
    store.put([one.answer for one in sources], _lineage(sources, run))
    return len(sources)


def _lineage(sources: Sequence[OpenAnswerSource], run: Run) -> list[Lineage]:
    made_at, choice = now(), Generation.from_description(run.about).events.model_dump(mode="json")
    makers = {e.label: {"run": e.manifest.key, "method": e.manifest.editor} for e in run.editors}
    return [
        Lineage(
            item_id=one.answer.id,
            stage="generate",
            made_at=made_at,
            model=one.answer.model,
            tokens_out=one.written.tokens,
            detail={**makers[one.label], **choice, "ended": one.written.ended, "chat_template": one.written.chat},
        )
        for one in sources
    ]
