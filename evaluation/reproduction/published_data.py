"""Whether a run's cases are those of a published file: compared by what they edit and ask, case by case."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from curation.files.checksums import sha256
from curation.loaders import load
from schemas.cases import AnyCase, DocumentCase, EventCase
from schemas.core.errors import UserError
from schemas.core.ids import canonical_json, digest
from schemas.documents.document import Document, DocumentProbe
from schemas.events.event import Event
from schemas.events.questions import FactQuestion, TendencyQuestion
from schemas.facts import Fact, Neighbour
from schemas.scripts import ScriptPrompt
from schemas.text.counting import counted

FILES = {"ScEdit-CF": ("ScEdit-CF.json", "scedit-cf"), "ScEdit-T": ("ScEdit-T.json", "scedit-t")}
FILES["elken-test"] = ("elken-test.json", "elken")
FILES["mulfe_test"] = ("mulfe_test.json", "mulfe")
"""Name and format of the published file of each data set. The authors publish no digests; those of ELKEN publish the
test part as two files, of facts and of tendencies, which are to be joined by the event's text."""


class PublishedData(NamedTuple):
    """A published file as it lies here.

    Attributes:
        path: Where.
        sha256: Of the file's bytes.
        contents: Digest of what each case edits and asks -> how often the file has it.
    """

    path: Path
    sha256: str
    contents: Counter[str]

    @property
    def cases(self) -> int:
        """Number of cases of the file."""
        return self.contents.total()


def published_data(names: Iterable[str], folder: Path) -> dict[str, PublishedData]:
    """The published files of these data sets that lie in a folder, by data set.

    Args:
        names: ``ScEdit-CF``, ``ScEdit-T``.
        folder: Where to look.

    Raises:
        UserError: there is no such folder.
        DataError: a file has no usable case.
    """
    if not folder.is_dir():
        raise UserError(
            "there is no such folder of published data", where=str(folder), fix="name the folder that holds the files"
        )
    out = {}
    for name in dict.fromkeys(names):
        file, format = FILES[name]
        path = folder / file
        if path.is_file():
            out[name] = PublishedData(path, sha256(path), Counter(_contents_of_file(path, format)))
    return out


def _contents_of_file(path: Path, format: str) -> list[str]:
    loaded = load(path, format)
    if loaded.events:
        questions = [r for r in loaded.records if isinstance(r, FactQuestion | TendencyQuestion)]
        by_event = {e.key: [q for q in questions if q.event == e.key] for e in loaded.events}
        return [_content_of_event(e, by_event[e.key]) for e in loaded.events if by_event[e.key]]
    if loaded.documents:
        probes = [r for r in loaded.records if isinstance(r, DocumentProbe)]
        return [_content_of_document(d, [p for p in probes if p.document == d.key]) for d in loaded.documents]
    facts = loaded.require()
    prompts: dict[str, list[ScriptPrompt]] = defaultdict(list)
    near: dict[str, list[str]] = defaultdict(list)
    for record in loaded.records:
        if isinstance(record, ScriptPrompt):
            prompts[record.fact].append(record)
        elif isinstance(record, Neighbour):
            near[record.edit].append(record.fact)
    return [_content(f, prompts[f.key], [p for n in near[f.key] for p in prompts[n]]) for f in facts]


def content_of(case: AnyCase) -> str:
    """Digest of what a case edits and asks: the edit, its script prompts and its neighbours', keys and order aside.

    Of an event: its text, and the texts, options and right answers of its questions; of a document likewise.
    """
    if isinstance(case, DocumentCase):
        return _content_of_document(case.document, case.probes)
    if isinstance(case, EventCase):
        return _content_of_event(case.event, [*case.facts, *case.tendencies])
    return _content(case.fact, case.prompts, [p for n in case.neighbours for p in n.prompts])


def _content(fact: Fact, prompts: Iterable[ScriptPrompt], near: Iterable[ScriptPrompt]) -> str:
    edit = [fact.change, fact.subject.text, fact.fact_prompt, fact.old.text, "" if fact.new is None else fact.new.text]
    side_prompts = [sorted([p.text, p.separator, p.targets[0]] for p in side) for side in (prompts, near)]
    return digest([canonical_json([edit, *side_prompts])])


def _content_of_event(event: Event, questions: Iterable[FactQuestion | TendencyQuestion]) -> str:
    question_texts = sorted(canonical_json([q.scope, q.text, *_right(q)]) for q in questions)
    return digest([canonical_json([event.text, question_texts])])


def _content_of_document(document: Document, probes: Iterable[DocumentProbe]) -> str:
    questions = sorted(canonical_json([p.level, p.query, p.answer]) for p in probes)
    return digest([canonical_json([document.text, questions])])


def _right(question: FactQuestion | TendencyQuestion) -> list[str]:
    if isinstance(question, TendencyQuestion):
        return [*question.options, question.answer]
    return [question.answer.text, *sorted(question.answer.aliases)]


def data_difference(
    name: str, cases: Iterable[AnyCase], files: Mapping[str, PublishedData], *, part: bool = False
) -> str:
    """In what cases differ from the published ones; empty where they are the same.

    Args:
        name: Data set, such as ``ScEdit-CF``.
        cases: Ours.
        files: Published files that are here.
        part: Ours may be some of the published cases (Table 8 has 100 of them).
    """
    if name not in files:
        return f"data not checked: name the folder of {FILES[name][0]} with --data"
    ours, theirs = Counter(map(content_of, cases)), files[name].contents
    strange, lacking = (ours - theirs).total(), (theirs - ours).total()
    differences = []
    if strange:
        differences.append(
            f"{counted(strange, 'case')} of {ours.total():,} {'is' if strange == 1 else 'are'} not in the file"
        )
    if lacking and not part:
        differences.append(f"{counted(lacking, 'case')} of the file {'is' if lacking == 1 else 'are'} not here")
    return f"other data than {FILES[name][0]}: {', '.join(differences)}" if differences else ""
