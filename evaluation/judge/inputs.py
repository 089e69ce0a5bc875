"""What is judged: generated scripts and open answers out of a store or a run, with what raters are shown of them.

The judge always sees the fact or event that was edited, whatever a method put before the question, and one text a call;
of the rubric of pairs, the answers before and after the edit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from evaluation.metrics.event_questions import open_probe
from evaluation.metrics.generation import EventChoice, Generation
from evaluation.metrics.script_parser import declines
from evaluation.runs.generated_scripts import generation_of, scripts_of_run, store_scripts, written_by
from evaluation.runs.results import RUN_FILE, EditorRun, Run, answers_by_probe, cases_by_key, load_run
from schemas.answers import GeneratedText
from schemas.cases import FACT, Case, EventCase
from schemas.core.clock import now
from schemas.core.errors import UserError
from schemas.core.ids import seed
from schemas.events.open_answer import OpenAnswer
from schemas.events.questions import TendencyQuestion
from schemas.facts import Fact
from schemas.generated_scripts import GeneratedScript
from schemas.lineage import Lineage
from schemas.ratings import CONSISTENCY, SCRIPT, TENDENCY, Rubric
from schemas.scripts import ScriptQuestion
from schemas.text.raw_text import raw_text

if TYPE_CHECKING:
    from curation.store.store import Store


@dataclass(frozen=True, kw_only=True)
class JudgeInput:
    """A text to rate, with what belongs to it.

    Attributes:
        item: Content id of the text.
        case: Key of its case: the cluster of intervals.
        text: The text as the model wrote it, control characters written out, its length capped.
        question: What the model was asked.
        edited: Whether the edit was active.
        rubric: Under which it is rated.
        fact: Of a script: the edited fact, with both objects.
        event: Of an open answer: the edited event, in words.
        right: Of an open answer: text of the right option.
        before: Of a pair: the unedited model's answer, and ``before_item``: its content id.
        writer: Model that wrote it, and ``editor``: the method. Never shown to a judge.
        refused: The model declined to answer.
    """

    item: str
    case: str
    text: str
    question: str
    edited: bool
    rubric: Rubric = SCRIPT
    fact: Fact | None = None
    event: str = ""
    right: str = ""
    before: str = ""
    before_item: str | None = None
    writer: str = ""
    editor: str = ""
    refused: bool = False

    @property
    def shown(self) -> dict[str, str]:
        """What a prompt can show of it, by placeholder; ``counts`` is the object that counts for Completeness."""
        values = {"question": self.question, "text": self.text, "event": self.event, "right": self.right}
        values["before"] = self.before
        if self.fact is not None:
            old, new = self.fact.old.text, self.fact.new_object.text
            values |= {"prompt": self.fact.fact_prompt, "old": old, "new": new, "counts": new if self.edited else old}
        return values


def texts_to_rate(store: Store, rubric: str | None = None) -> list[JudgeInput]:
    """What a store holds to rate: its scripts; without any its open answers, singly and in pairs.

    Args:
        store: Where the texts are.
        rubric: Name of the only rubric; None for what there is.

    Raises:
        UserError: a text whose case, fact or question is not there.
    """
    if rubric == SCRIPT.name or (rubric is None and store.keys(GeneratedScript.kind, limit=1)):
        return script_inputs(store)
    return [ask for one in (TENDENCY, CONSISTENCY) if rubric in (None, one.name) for ask in answer_inputs(store, one)]


def script_inputs(store: Store) -> list[JudgeInput]:
    """Every generated script of a store, refusals too, in the order of their keys.

    Fact and question come from the case that was edited, where the store holds it (facts get corrected).

    Raises:
        UserError: a script whose case, fact or question is not there, or whose fact is not edited.
    """
    scripts = list(store.all(GeneratedScript))
    cases = {c.key: c for c in store.by_keys(Case, (s.case for s in scripts))}
    facts = {f.key: f for f in store.by_keys(Fact, (s.fact for s in scripts))}
    questions = {q.key: q for q in store.by_keys(ScriptQuestion, (s.question for s in scripts))}
    return [_script_input(s, cases.get(s.case), facts, questions, where=str(store.path)) for s in scripts]


def _script_input(
    script: GeneratedScript,
    case: Case | None,
    facts: Mapping[str, Fact],
    questions: Mapping[str, ScriptQuestion],
    *,
    where: str,
) -> JudgeInput:
    fact = case.fact if case is not None and case.fact.key == script.fact else facts.get(script.fact)
    questions_of_case = {q.key: q for q in case.questions} if case is not None else {}
    question = questions_of_case.get(script.question) or questions.get(script.question)
    if fact is None or question is None:
        what = f"fact '{script.fact}'" if fact is None else f"question '{script.question}'"
        fix = "add its split first: scedit split add NAME"
        raise UserError(f"the {what} of the script '{script.key}' is not in the store", where=where, fix=fix)
    if fact.new is None:
        raise UserError(f"the script '{script.key}' is of a fact that is not edited", where=script.fact)
    return JudgeInput(
        item=script.id,
        case=script.case,
        text=raw_text(script.text),
        question=question.text,
        fact=fact,
        edited=script.edited,
        writer=script.model,
        editor=script.editor,
        refused=script.refused,
    )


def answer_inputs(store: Store, rubric: Rubric) -> list[JudgeInput]:
    """Every open answer of a store that a rubric is for, in the order of their keys.

    Of the rubric of pairs: answers of edited models out of scope beside the unedited model's; answers in the same words
    need no rating and are left out.

    Raises:
        UserError: an answer whose case or question is not there.
    """
    answers = list(store.all(OpenAnswer))
    cases = {c.key: c for c in store.by_keys(EventCase, (a.case for a in answers))}
    known = [(a, *_question(a, cases, where=str(store.path))) for a in answers]
    if not rubric.rates_pairs:
        return [_answer_input(rubric, *one) for one in known if one[2].scope == "in"]
    return list(_pairs(rubric, [one for one in known if one[2].scope == "out"]))


def _question(answer: OpenAnswer, cases: Mapping[str, EventCase], *, where: str) -> tuple[EventCase, TendencyQuestion]:
    case = cases.get(answer.case)
    question = next((q for q in case.tendencies if q.key == answer.question), None) if case is not None else None
    if case is None or question is None:
        what = f"case '{answer.case}'" if case is None else f"question '{answer.question}'"
        fix = "judge the run's folder again: its cases go into the store with its answers"
        raise UserError(f"the {what} of the answer '{answer.key}' is not in the store", where=where, fix=fix)
    return case, question


def _pairs(rubric: Rubric, known: Sequence[tuple[OpenAnswer, EventCase, TendencyQuestion]]) -> Iterator[JudgeInput]:
    before = {(a.model, a.case, a.question, a.sample): a for a, _, _ in known if not a.edited}
    for answer, case, question in known:
        old = before.get((answer.model, answer.case, answer.question, answer.sample))
        if answer.edited and old is not None and old.text.strip() != answer.text.strip():
            yield _answer_input(rubric, answer, case, question, old)


def _answer_input(
    rubric: Rubric, answer: OpenAnswer, case: EventCase, question: TendencyQuestion, before: OpenAnswer | None = None
) -> JudgeInput:
    return JudgeInput(
        item=answer.id,
        case=case.key,
        text=raw_text(answer.text),
        question=question.text,
        rubric=rubric,
        event=case.event.text,
        right=question.right_option,
        edited=answer.edited,
        before_item=None if before is None else before.id,
        before="" if before is None else raw_text(before.text),
        writer=answer.model,
        editor=answer.editor,
        refused=answer.refused or (before is not None and before.refused),
    )


def sample_inputs(asks: Sequence[JudgeInput], limit: int | None, *, number: int = 0) -> list[JudgeInput]:
    """At most ``limit`` texts, drawn by their ids: the same ones for every judge, whatever else the store holds.

    Args:
        asks: All texts.
        limit: How many; None for all.
        number: Seed of the draw.
    """
    if limit is None or limit >= len(asks):
        return list(asks)
    chosen = {a.item for a in sorted(asks, key=lambda a: (seed("judge", str(number), a.item), a.item))[:limit]}
    return [a for a in asks if a.item in chosen]


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
                **written_by(run, editor, question.key),
                case=case.key,
                event=case.event.key,
                question=question.key,
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
