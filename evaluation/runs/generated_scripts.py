"""Scripts that a run's models wrote, out of its journal, as records that judges and people rate."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from curation.files.atomic import write_text
from evaluation.metrics.generation import Generation
from evaluation.metrics.script_parser import declines, parse
from evaluation.metrics.text_level import scripts_for
from evaluation.runs.results import EditorRun, Run, cases_by_key
from evaluation.runs.validity_variants import asked_case
from schemas.answers import Answer, GeneratedText
from schemas.cases import Case
from schemas.core.clock import now
from schemas.core.errors import UserError
from schemas.generated_scripts import GeneratedScript
from schemas.lineage import Lineage

if TYPE_CHECKING:
    from curation.store.store import Store


class GeneratedScriptSource(NamedTuple):
    """A script with what is known about its making, which is no part of it; ``method``: name behind the label."""

    script: GeneratedScript
    run: str
    written: GeneratedText
    method: str = ""


def written_by(run: Run, editor: EditorRun, item: str) -> dict[str, Any]:
    """Key, model and method of a text that a run's model wrote about an item, as records of texts have them."""
    manifest = editor.manifest
    return {
        "key": f"{manifest.key[:10]}/{item}",
        "model": f"{manifest.model}@{manifest.model_revision}",
        "editor": editor.label,
        "edited": editor.label != run.baseline.label,
    }


def generation_of(run: Run) -> Generation:
    """How a run's texts were written, as its folder says."""
    return Generation.from_description(run.about)


def scripts_of_run(run: Run, editors: Sequence[str] = (), *, unfinished: bool = False) -> list[GeneratedScriptSource]:
    """All scripts of a run, by editor and case in the run's order; cases that failed have none.

    Args:
        run: A run folder read back.
        editors: Only these labels; all where none is given.
        unfinished: Also those of which nothing came but a thought without an end: there is no script to be rated.

    Raises:
        UserError: an unknown label, or no script was written in the run.
    """
    labels = [e.label for e in run.editors]
    if unknown := [name for name in editors if name not in labels]:
        raise UserError(f"the run has no editor '{unknown[0]}'", where=str(run.folder), allowed=", ".join(labels))
    generation, cases = generation_of(run), cases_by_key(run)
    sources = [
        one
        for editor in run.editors
        if not editors or editor.label in editors
        for key, result in editor.results.items()
        if result.error is None
        for one in _of_case(
            run,
            editor,
            asked_case(cases[key], editor.manifest.components),
            {a.probe: a for a in result.answers},
            generation,
            unfinished=unfinished,
        )
    ]
    if not sources:
        raise UserError(
            "no scripts were written in this run",
            where=str(run.folder),
            fix='add "s_es_gen_question" or "script_format" to its metrics and run it again',
        )
    return sources


def _of_case(
    run: Run,
    editor: EditorRun,
    case: Case,
    answers: Mapping[str, Answer],
    generation: Generation,
    *,
    unfinished: bool,
) -> Iterable[GeneratedScriptSource]:
    for probe in scripts_for(case, generation):
        answer = answers.get(probe.id)
        if answer is None or answer.written is None or (answer.written.unfinished and not unfinished):
            continue
        text = answer.written.text
        script = GeneratedScript(
            **written_by(run, editor, f"{probe.item}/{probe.sample}"),
            case=case.key,
            fact=case.fact.key,
            question=probe.item,
            sample=probe.sample,
            text=text,
            steps=parse(text).steps,
            refused=declines(text),
        )
        yield GeneratedScriptSource(script, editor.manifest.key, answer.written, editor.manifest.editor)


def write_scripts(scripts: Sequence[GeneratedScriptSource], path: Path | str) -> None:
    """Write records, one a line, as ``scedit annotate add-scripts`` and ``scedit judge`` read them.

    Raises:
        UserError: the file cannot be written.
    """
    text = "".join(json.dumps(w.script.payload(), ensure_ascii=False) + "\n" for w in scripts)
    write_text(Path(path), text, errors="replace", fix="name another --out")


def store_scripts(scripts: Sequence[GeneratedScriptSource], store: Store, generation: Generation) -> tuple[int, int]:
    """Put records into a store, with how they were written; returns how many, and how many of them are new there.

    Raises:
        UserError: the store has not the facts or questions that the scripts belong to.
    """
    for key in dict.fromkeys(k for w in scripts for k in (w.script.fact, w.script.question)):
        store.get(key)
    made_at = now()
    lines = [_lineage(w, made_at, generation) for w in scripts]
    put = store.put([w.script for w in scripts], lines)
    return put.seen, put.new


def _lineage(wrote: GeneratedScriptSource, made_at: str, generation: Generation) -> Lineage:
    detail: dict[str, Any] = {"run": wrote.run, **generation.choice.model_dump(mode="json")}
    detail |= {"ended": wrote.written.ended, "chat_template": wrote.written.chat}
    if wrote.method:
        detail["method"] = wrote.method
    return Lineage(
        item_id=wrote.script.id,
        stage="generate",
        made_at=made_at,
        model=wrote.script.model,
        tokens_out=wrote.written.tokens,
        detail=detail,
    )
