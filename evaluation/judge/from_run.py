"""Where texts to judge are: a store, or the folder of a run, whose texts are put into a store first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from evaluation.metrics.event_choice import EventChoice
from evaluation.metrics.events.probes import open_probe
from evaluation.metrics.generation import Generation
from evaluation.metrics.text_level.script_parser import declines
from evaluation.runs.generated_scripts import generation_of, scripts_of_run, store_scripts
from evaluation.runs.results import RUN_FILE, EditorRun, Run, answers_by_probe, cases_by_key, load_run
from schemas.answers import GeneratedText
from schemas.cases import FACT, EventCase
from schemas.core.clock import now
from schemas.core.errors import UserError
from schemas.events.open_answer import OpenAnswer
from schemas.lineage import Lineage

if TYPE_CHECKING:
    from curation.store.store import Store


RUN_STORE = "scripts.duckdb"  # the store of a run that fed none


def scripts_store(place: Path) -> Path:
    """The store that a path stands for: itself, or one with what a run's models wrote.

    A run's scripts go into the store that the run fed, else into ``scripts.duckdb`` in its folder, with the facts and
    questions of its split; so do the open answers of a run on events. Doing it again adds only what is new.

    Raises:
        UserError: a folder that is no run's, or a run without written scripts or open answers.
    """
    if not place.is_dir():
        return place
    if not (place / RUN_FILE).is_file():
        raise UserError("not the folder of a run (there is no run.json)", where=str(place), fix="name the store itself")
    from curation.store.store import Store

    run = load_run(place)
    about_facts = run.split.type == FACT
    scripts = scripts_of_run(run) if about_facts else []
    config = run.about.get("config") or {}
    fed = config.get("feed") or (config.get("split") or {}).get("store")
    path = Path(fed) if fed else place / RUN_STORE
    with Store.open(path, create=True) as store:
        if not about_facts:
            store_answers(run, store)
            return path
        for case in cases_by_key(run).values():
            store.put([case.fact, *case.questions, case])
        store_scripts(scripts, store, generation_of(run))
    return path


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
