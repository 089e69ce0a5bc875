"""ScEdit-CF and ScEdit-T as published (Li et al., 2025): facts with ready script prompts and neighbour prompts.

Also the examples that the paper prints (Tables 4 and 7, section 3.2), as one hand-made object holds them.
Nobody who wrote this had seen the two files; their fields are known from the authors' README and loaders. So a field
may be absent, of another type or unknown: what is not understood is kept in an extra, never refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from curation.loaders.base import FormatReader, Loader, NeighbourFact, Problem, Row, RowItem
from curation.loaders.formats.native import slug_id
from curation.loaders.reading import rows
from curation.loaders.shapes import Shape, Text, Texts, relation_of, rest, template
from curation.loaders.sources import SCEDIT_CF, SCEDIT_PAPER, SCEDIT_T
from schemas.core.ids import slug
from schemas.core.records import Record
from schemas.facts import Entity, Fact, Neighbour, Object, Relation
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion, strip_label
from schemas.text.counting import counted

# A straight quotation mark right after a letter closes a quotation: it belongs to the text.
_STEP = re.compile(r"\bStep\s*(\d+)\s*[:.)-]", re.IGNORECASE)
_TAIL = re.compile(r"(?:\s*[(\[{<“‘„‚«‹「『《〈]+[\"']?\s*|\s+[\"']\s*|\s+)\Z")


class _Counted(FormatReader):
    """Counts script prompts beside records: the paper tells both."""

    counts: tuple[tuple[str, int], ...] = ()

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._ids: set[str] = set()
        self.edits = self.near = 0

    def key(self, row: Row) -> tuple[str, list[Problem]]:
        """The fact's key, and what is to be said of it.

        The key ends in the stored case id; in the record's number where that is absent or taken, or cannot be in a key.
        """
        name = self.upstream.name.lower()
        stored = text = str(row.data.get("case_id", row.number - 1))
        problems = []
        if text in self._ids or not text or re.search(r"\s", text):
            text = f"{row.number - 1}-of-file"
            what = f"the case_id {stored!r} is taken, or cannot stand in a key; its key is '{name}/{text}'"
            problems.append(row.problem("suspect", what))
        self._ids.add(text)
        return f"{name}/{text}", problems

    def end(self) -> Iterator[RowItem]:
        """The numbers of prompts, where they are not the paper's, and the notes."""
        if self.path.name in self.upstream.counts:
            for (what, known), count in zip(self.counts, (self.edits, self.near), strict=True):
                if known != count:
                    yield Problem(str(self.path), "count", f"{counted(count, what)}, the paper has {known:,}")
        yield from super().end()


class ScEditCFShape(Shape):
    """A counterfactual case; what is not understood of the optional fields is kept."""

    case_id: Any = None
    prompt: Text
    ground_truth: Text
    target_new: Text
    subject: Text
    rephrase_prompts: Any = None
    rephrase_prompt: Any = None
    neighborhood_prompts: Any = None
    generation_prompts: Texts = ()
    interrupt_step: Any = None
    property: Any = None


class ScEditCF(_Counted):
    """Counterfactual cases: script prompts of the fact, script prompts of facts that share the old object.

    The neighbours' subjects are not published, and a fact cannot be without one. A neighbour fact's subject is thus
    its script question, and its prompt what follows that question, so that the filled-in fact prompt is the published
    text. The loader says so, once for the file (``left``): nothing may be concluded from these subjects.
    """

    upstream = SCEDIT_CF
    counts = (("script prompt", 7_342), ("neighbour script prompt", 13_672))

    def make(self, row: Row) -> Iterator[RowItem]:
        """The fact, its questions and prompts, its neighbours, and an extra with what else there is."""
        data = ScEditCFShape.of(row.data)
        prompt = _template(data.prompt, data.subject)
        relation, known = _relation(data.property, prompt)
        key, about_key = self.key(row)
        fact = Fact(
            key=key,
            subject=Entity(text=data.subject),
            relation=relation,
            prompt=prompt,
            old=Object(text=data.ground_truth),
            new=Object(text=data.target_new),
            source=self.source(row.data.get("case_id", row.number - 1)),
        )
        yield fact
        yield from about_key
        texts = _texts(row.data.get("rephrase_prompts", data.rephrase_prompt))
        self.edits += len(texts)
        steps, understood = _steps(data.interrupt_step, len(texts))
        yield from _prompts(key, texts, steps, _targets(fact))
        yield from _questions(fact, texts, data.generation_prompts)
        for number, text in enumerate(_texts(data.neighborhood_prompts), 1):
            self.near += 1
            self.note("a neighbour is published without its subject; its script question stands there", row)
            yield from _neighbour_without_prompt(fact, text, number)
        left = {} if known else {"property": data.property}
        left |= {} if understood else {"interrupt_step": data.interrupt_step}
        yield from rest(key, data.others | left)


class ScEditNeighbour(Shape):
    """A neighbour of a temporal case."""

    object: Text
    prompt: Text
    question: Any = None


class ScEditTShape(Shape):
    """A temporal case; ``sliced_question`` and ``neighborhood_prompts`` are names of an older variant."""

    case_id: Any = None
    subject: Text
    relation: Any = None
    prompt: Text
    old_update: Text
    new_update: Text
    question: Any = None
    sliced_question: Any = None
    neighborhood: Any = None
    neighborhood_prompts: Any = None
    generation_prompts: Texts = ()


class ScEditT(_Counted):
    """Temporal cases; every neighbour comes with its own object, a plain prompt and one script prompt."""

    upstream = SCEDIT_T
    counts = (("script prompt", 7_038), ("neighbour script prompt", 6_597))

    def make(self, row: Row) -> Iterator[RowItem]:
        """The fact, its questions and prompts, its neighbours, and an extra with what else there is."""
        data = ScEditTShape.of(row.data)
        prompt = _template(data.prompt, data.subject)
        relation, known = _relation(data.relation, prompt)
        key, about_key = self.key(row)
        fact = Fact(
            key=key,
            subject=Entity(text=data.subject),
            relation=relation,
            prompt=prompt,
            old=Object(text=data.old_update),
            new=Object(text=data.new_update),
            change="temporal",
            source=self.source(row.data.get("case_id", row.number - 1)),
        )
        yield fact
        yield from about_key
        texts = _texts(row.data.get("sliced_question", data.question))
        self.edits += len(texts)
        yield from _prompts(key, texts, [None] * len(texts), _targets(fact))
        yield from _questions(fact, texts, data.generation_prompts)
        near, odd = row.data.get("neighborhood", data.neighborhood_prompts) or [], []
        for number, value in enumerate(near, 1):
            if not isinstance(value, dict) or not {"object", "prompt"} <= value.keys():
                odd.append(value)
                continue
            self.near += 1
            yield from _neighbour_with_object(fact, ScEditNeighbour.of(value), number)
        if odd:
            neighbours = counted(len(odd), "neighbour is", "neighbours are")
            yield row.problem("suspect", f"{neighbours} no object with object, prompt and question")
        left = {} if known else {"relation": data.relation}
        yield from rest(key, data.others | left | {"neighborhood_not_understood": odd})


class _Cut(NamedTuple):
    question: str
    text: str
    separator: str
    step: int | None


def split_prompt(prompt: str) -> _Cut:
    r"""A published script prompt taken apart: question, text, what stands before the object, the step that was cut.

    Question and steps may be joined by newlines or by spaces. A bracket or a quotation mark that opens at the end is
    part of the separator: the object follows it without a space.

    Example:
        >>> split_prompt("How to go?\nStep 1: Walk\nStep 2: Fly to (")
        _Cut(question='How to go?', text='How to go?\nStep 1: Walk\nStep 2: Fly to', separator=' (', step=2)
    """
    steps = list(_STEP.finditer(prompt))
    question = prompt[: steps[0].start()] if steps else prompt.partition("\n")[0]
    tail = _TAIL.search(prompt)
    text = prompt[: tail.start()] if tail else prompt
    return _Cut(question.strip(), text, tail.group() if tail else " ", int(steps[-1].group(1)) if steps else None)


def _texts(values: Any) -> list[str]:
    """Prompts as they are but for white space in front: what stands at the end belongs to the separator."""
    listed = [values] if isinstance(values, str) else values or ()
    return [v.lstrip() for v in listed if isinstance(v, str) and v.strip()]


def _template(prompt: str, subject: str) -> str:
    return prompt if prompt.count("{}") == 1 else template(prompt, subject)


def _relation(name: Any, prompt: str) -> tuple[Relation, bool]:
    """The relation by its name, else by the prompt's template; and whether the name could be used."""
    if isinstance(name, str) and name.strip():
        return Relation(id=slug_id(name.strip()), label=name.strip()), True
    return Relation(id=relation_of(prompt), label=prompt), False


def _steps(value: Any, many: int) -> tuple[list[int | None], bool]:
    """Step numbers of the prompts, and whether the field was understood: one number, or one for each prompt."""
    values = value if isinstance(value, list) else [value] * many
    numbers = [_number(v) for v in values]
    understood = len(numbers) == many and (value is None or None not in numbers)
    return (numbers if understood else [None] * many), understood


def _number(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and (digits := re.fullmatch(r"\s*(?:step\s*)?(\d+)\W*", value, re.IGNORECASE)):
        return int(digits[1])
    return value if isinstance(value, int) else None


def _prompts(fact: str, texts: list[str], steps: list[int | None], targets: tuple[str, ...]) -> Iterator[Record]:
    """One question and one prompt for each published text; equal questions are one record."""
    question_keys: dict[str, str] = {}
    for number, (whole, step) in enumerate(zip(texts, steps, strict=True), 1):
        part = split_prompt(whole)
        if part.question and part.question not in question_keys:
            question_keys[part.question] = f"{fact}/q{len(question_keys) + 1}"
            yield ScriptQuestion(key=question_keys[part.question], fact=fact, text=part.question)
        yield ScriptPrompt(
            key=f"{fact}/p{number}",
            fact=fact,
            question=question_keys.get(part.question),
            text=part.text,
            offset=len(part.text) + len(part.separator),
            step=step if step is not None else part.step,
            separator=part.separator,
            targets=tuple(t for t in targets if t),
        )


def _questions(fact: Fact, texts: list[str], values: tuple[str, ...]) -> Iterator[Record]:
    """Script questions for generation that no prompt begins with."""
    in_prompts = {split_prompt(t).question for t in texts}
    fresh = [q for q in dict.fromkeys(values) if q not in in_prompts]
    for number, text in enumerate(fresh, 1):
        yield ScriptQuestion(key=f"{fact.key}/g{number}", fact=fact.key, text=text)


def _neighbour_without_prompt(edit: Fact, whole: str, number: int) -> Iterator[RowItem]:
    """A neighbour of which only the script prompt is known; its object is the edit's old object."""
    part = split_prompt(whole)
    subject = part.question or part.text
    after = part.text[len(subject) :].replace("{}", "()") if part.text.startswith(subject) else ""
    yield from _neighbour_items(edit, number, Entity(text=subject), "{}" + after, edit.old, "same_object")
    yield from _prompts(f"{edit.key}/n{number}", [whole], [None], (edit.old.text,))


def _neighbour_with_object(edit: Fact, near: ScEditNeighbour, number: int) -> Iterator[RowItem]:
    """A neighbour with its own object; its plain prompt names the subject, but where, is not said."""
    prompt = near.prompt.replace("{}", "()")
    subject = _shared_subject(edit, prompt)
    old = Object(text=near.object)
    relation = "same_object" if old.text.casefold() == edit.old.text.casefold() else "near_subject"
    yield from _neighbour_items(edit, number, Entity(text=subject), template(prompt, subject), old, relation)
    texts = _texts(near.question)
    yield from _prompts(f"{edit.key}/n{number}", texts, [None] * len(texts), (old.text,))


def _targets(fact: Fact) -> tuple[str, ...]:
    return (fact.old.text, fact.new.text) if fact.new else (fact.old.text,)


def _shared_subject(edit: Fact, prompt: str) -> str:
    """A neighbour's subject: what stands where the edit's subject stands, else the whole prompt."""
    before, _, after = edit.prompt.partition("{}")
    if prompt.startswith(before) and prompt.endswith(after):
        between = prompt[len(before) : len(prompt) - len(after)].strip()
        if between:
            return between
    return prompt


def _neighbour_items(
    edit: Fact, number: int, subject: Entity, prompt: str, old: Object, kind: Any
) -> Iterator[RowItem]:
    key, source = f"{edit.key}/n{number}", edit.source
    fact = Fact(key=key, subject=subject, relation=edit.relation, prompt=prompt, old=old, change="none", source=source)
    yield NeighbourFact(fact)
    yield Neighbour(key=f"{edit.key}~{key}", edit=edit.key, fact=key, how=kind)


class PaperFact(Shape):
    """A fact that the paper prints."""

    subject: Text
    relation: Text
    target_true: Text
    target_new: Text
    fact_prompt: str | None = None


class PaperExample(Shape):
    """An example of the paper; all else (ratings, neighbour) is kept."""

    example: str
    script_question: Text
    fact: dict[str, Any] | None = None
    edit: dict[str, Any] | None = None
    fact_prompt: str | None = None
    generated_script: Text | None = None
    script_prompt: Text | None = None


def examples(path: Path) -> Iterator[Row | Problem]:
    """One row for each example of the paper."""
    for row in rows(path):
        if isinstance(row, Problem):
            yield row
            continue
        names = [name for name in ("construction_example", "leak_example", "case_study") if name in row.data]
        for number, name in enumerate(names, 1):
            yield Row(f"{row.where}, {name}", {**row.data[name], "example": name}, number)


class ScEditPaper(FormatReader):
    """Facts with question, script and prompt where they are printed.

    The edit of the leak example comes without a fact prompt: its prompt is subject and relation.
    """

    upstream = SCEDIT_PAPER

    def make(self, row: Row) -> Iterator[RowItem]:
        """The fact, its question, its script and prompt, and an extra."""
        data = PaperExample.of(row.data)
        stated = PaperFact.of({**(data.fact or {}), **(data.edit or {})})
        prompt = stated.fact_prompt or data.fact_prompt or f"{stated.subject} {stated.relation}"
        fact = Fact(
            key=f"scedit-paper/{slug(stated.subject)}",
            subject=Entity(text=stated.subject),
            relation=Relation(id=slug(stated.relation), label=stated.relation),
            prompt=template(prompt, stated.subject),
            old=Object(text=stated.target_true),
            new=Object(text=stated.target_new),
            source=self.source(data.example),
        )
        yield fact
        question = ScriptQuestion(key=f"{fact.key}/q1", fact=fact.key, text=data.script_question)
        yield question
        if data.generated_script is not None and data.script_prompt is not None:
            steps = tuple(strip_label(line) for line in data.generated_script.split("\n"))
            script = Script(key=f"{question.key}/s", question=question.key, steps=steps)
            yield script
            part = split_prompt(data.script_prompt)
            yield ScriptPrompt(
                key=f"{script.key}/p",
                fact=fact.key,
                question=question.key,
                script=script.key,
                text=part.text,
                offset=len(part.text) + len(part.separator),
                step=part.step,
                separator=part.separator,
                targets=_targets(fact),
            )
        yield from rest(fact.key, data.others, name="example")


load_cf = Loader("scedit-cf", ScEditCF)
load_t = Loader("scedit-t", ScEditT)
load_paper = Loader("scedit-paper", ScEditPaper, read=examples)
