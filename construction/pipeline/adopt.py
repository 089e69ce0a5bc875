"""Questions and scripts written by hand, or elsewhere, taken through the same cut and the same checks as a model's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator, Field

from construction.checks import CheckInputs, judge
from construction.llm.prompt_text import tidy
from construction.neighbours.same_object import norm
from construction.scripts.script_step import clean_steps
from construction.scripts.truncation import cut_script
from curation.loaders.base import InvalidRecord, check_record, without_invisible_ends
from curation.loaders.importer import UNNAMED, Identity, check_prefix
from curation.loaders.reading import Problem, rows
from curation.similarity.texts import record_text
from curation.store.import_sources import SourceUpdate
from curation.store.store import Store
from schemas.core.clock import now
from schemas.core.config import validate
from schemas.core.errors import DataError
from schemas.core.ids import digest
from schemas.core.records import Frozen, Key, Record, Text
from schemas.facts import Entity, Fact, Neighbour, Object, Relation, Source
from schemas.lineage import Lineage
from schemas.scripts import Script, ScriptQuestion, Step
from schemas.verdicts import Verdict


def _clean_steps(steps: Any) -> Any:
    """Steps without list labels and markup, before they are held against the format."""
    whole = isinstance(steps, list | tuple) and all(isinstance(step, str) for step in steps)
    return clean_steps([tidy(step) for step in steps]) if whole else steps


class WrittenScript(Frozen):
    """A question and its steps; list labels and markup are taken off."""

    question: Text
    steps: Annotated[tuple[Step, ...], BeforeValidator(_clean_steps), Field(min_length=1, max_length=9)]


class WrittenNeighbour(WrittenScript):
    """A neighbour fact with a question and its steps."""

    subject: Entity
    prompt: Text
    object: Object


class WrittenCase(Frozen):
    """One line of a file of written cases (``curation/shipped/demonstrations/source.jsonl``)."""

    key: Key
    kind: str
    relation: Relation
    subject: Entity
    prompt: Text
    paraphrases: tuple[Text, ...] = ()
    old: Object
    new: Object
    changed_on: str | None = None
    questions: Annotated[tuple[WrittenScript, ...], Field(min_length=1)]
    neighbours: tuple[WrittenNeighbour, ...] = ()


class Objection(NamedTuple):
    """A verdict other than ``keep`` on something of a case: the case's key, what was judged, and its text."""

    case: str
    kind: str
    text: str
    verdict: Verdict


class Adoption(NamedTuple):
    """Everything that came of a file of written cases.

    Attributes:
        records: Facts, questions, scripts, prompts, neighbours.
        verdicts: On all of them.
        cases: Cases of the file.
        objections: What is not ``keep``, in order of the file.
    """

    records: tuple[Record, ...]
    verdicts: tuple[Verdict, ...]
    cases: int
    objections: tuple[Objection, ...] = ()


def adopt(path: Path, *, source: Source, prefix: str | None = None) -> Adoption:
    """Cut and check the cases of a file.

    Args:
        path: The file, JSON lines.
        source: Where its facts come from.
        prefix: Stands before all keys, where others use the same ones.

    Raises:
        DataError: a line that is no written case; nothing of the file is used then.
    """
    cases = 0
    records: dict[str, Record] = {}
    verdicts: dict[str, Verdict] = {}
    objections: dict[str, Objection] = {}
    for row in rows(path):
        if isinstance(row, Problem):
            raise DataError(f"{row.kind} record: {row.what}", where=row.where)
        cases += 1
        case = validate(WrittenCase, row.data, where=row.where)
        if prefix is not None:
            case = case.model_copy(update={"key": f"{check_prefix(prefix)}/{case.key}"})
        items: dict[str, Record] = {}
        for record in _records(case, source, where=row.where):
            try:
                check_record(record)
            except InvalidRecord as error:
                raise DataError(f"'{case.key}': {error}", where=row.where, fix="correct the file") from None
            if isinstance(record, Verdict):
                verdicts[record.key] = record
                if record.label != "keep":
                    objections[record.key] = _objection(case, items.get(record.item_id), record)
            elif records.setdefault(record.key, record).id != record.id:
                raise DataError(f"the key '{record.key}' stands for two different things", where=row.where)
            else:
                items[record.id] = record
    return Adoption(tuple(records.values()), tuple(verdicts.values()), cases, tuple(objections.values()))


def _objection(case: WrittenCase, item: Record | None, verdict: Verdict) -> Objection:
    if item is None:
        return Objection(case.key, "item", "", verdict)
    text = f"{item.edit}, beside {item.fact}" if isinstance(item, Neighbour) else record_text(item)
    return Objection(case.key, item.kind, text, verdict)


def keep(adopted: Adoption, store: Path, *, origin: str, identity: Identity = UNNAMED) -> SourceUpdate:
    """Put adopted cases with their verdicts and lineage into a store, which is created if absent; all or nothing.

    Args:
        adopted: What came of the file.
        store: The store.
        origin: The file.
        identity: As what the file is known to the store; its name and digest where nothing is said.

    Raises:
        ConflictError: keys that another source uses for other content.
    """
    act = Lineage(item_id="", stage="adopt", made_at=now(), detail={"from": origin})
    content = digest(["written cases", *(record.id for record in adopted.records)])
    with Store.open(store, create=True) as opened:
        return opened.put_source(
            identity.of(origin, content),
            adopted.records,
            act,
            replace=identity.replace,
            shrink=identity.shrink,
            beside=adopted.verdicts,
        )


def _records(case: WrittenCase, source: Source, *, where: str) -> Iterator[Record]:
    data = case.model_dump(include={"key", "relation", "subject", "prompt", "paraphrases", "old", "new"})
    more = {"changed_on": case.changed_on, "change": case.kind, "source": source}
    fact, _ = without_invisible_ends(validate(Fact, {**data, **more}, where=where))
    yield fact
    yield from judge("fact", CheckInputs(fact=fact))
    questions: list[ScriptQuestion] = []
    for number, written in enumerate(case.questions, 1):
        yield from _chain(fact, written, number, questions)
    for number, beside in enumerate(case.neighbours, 1):
        yield from _neighbour(fact, beside, number, source)


def _neighbour(edit: Fact, written: WrittenNeighbour, number: int, source: Source) -> Iterator[Record]:
    same = norm(written.object.text) == norm(edit.old.text)
    fact = Fact(
        key=f"{edit.key}/n{number}",
        subject=written.subject,
        relation=edit.relation,
        prompt=written.prompt,
        old=written.object,
        change="none",
        source=source,
    )
    link = Neighbour(
        key=f"{edit.key}~{fact.key}", edit=edit.key, fact=fact.key, how="same_object" if same else "near_subject"
    )
    yield fact
    yield link
    for record in _chain(fact, written, 1, []):
        yield record
        if record.kind == "prompt":
            yield from judge("neighbour", CheckInputs(fact=fact, edit=edit, link=link, prompt=record))  # type: ignore[arg-type]


def _chain(fact: Fact, written: WrittenScript, number: int, earlier: list[ScriptQuestion]) -> Iterator[Record]:
    """Question, script, prompt where there is one, and the verdicts on them; the question joins ``earlier``."""
    question = ScriptQuestion(key=f"{fact.key}/q{number}", fact=fact.key, language=fact.language, text=written.question)
    script = Script(key=f"{question.key}/s", question=question.key, steps=written.steps)
    prompt = cut_script(fact, question, script)
    material = CheckInputs(
        fact=fact, question=question, questions=tuple(earlier), draft=written.steps, script=script, prompt=prompt
    )
    earlier.append(question)
    yield question
    yield script
    yield from judge("question", material)
    yield from judge("draft", material)
    yield from judge("script", material)
    if prompt is not None:
        yield prompt
        yield from judge("prompt", material)
