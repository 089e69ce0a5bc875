"""ScEdit-CF and ScEdit-T as published (Li et al., 2025): facts with ready script prompts and neighbour prompts.

Also the examples that the paper prints (Tables 4 and 7, section 3.2), as one hand-made object holds them.
Nobody who wrote this had seen the two files; their fields are known from the authors' README and loaders. So a field
may be absent, of another type or unknown: what is not understood is kept in an extra, never refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import AliasChoices, Field

from curation.loaders.base import FormatReader, Loader, NeighbourFact, Problem, Row, RowItem
from curation.loaders.formats.native import slug_id
from curation.loaders.reading import rows
from curation.loaders.shapes import Shape, Text, Texts, kind_of, relation_of, rest, template
from curation.loaders.sources import SCEDIT_CF, SCEDIT_PAPER, SCEDIT_T
from schemas.core.ids import slug
from schemas.core.records import Record
from schemas.facts import Entity, Fact, Neighbour, Object, Relation
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion, strip_label
from schemas.text.counting import counted

# A straight quotation mark right after a letter closes a quotation: it belongs to the text.
_STEP = re.compile(r"\bStep\s*(\d+)\s*[:.)-]", re.IGNORECASE)
_TAIL = re.compile(r"(?:\s*[(\[{<“‘„‚«‹「『《〈]+[\"']?\s*|\s+[\"']\s*|\s+)\Z")


class ScEditNeighbour(Shape):
    """A neighbour of a temporal case."""

    object: Text
    prompt: Text
    question: Any = None


class ScEditCFShape(Shape):
    """A counterfactual case; what is not understood of the optional fields is kept."""

    prompt: Text
    old: Text = Field(alias="ground_truth")
    new: Text = Field(alias="target_new")
    subject: Text
    texts: Any = Field(None, validation_alias=AliasChoices("rephrase_prompts", "rephrase_prompt"))
    neighbours: Any = Field(None, alias="neighborhood_prompts")
    questions: Texts = Field((), alias="generation_prompts")
    steps: Any = Field(None, alias="interrupt_step")
    relation: Any = Field(None, alias="property")


class ScEditTShape(Shape):
    """A temporal case; ``sliced_question`` and ``neighborhood_prompts`` are names of an older variant."""

    subject: Text
    relation: Any = None
    prompt: Text
    old: Text = Field(alias="old_update")
    new: Text = Field(alias="new_update")
    texts: Any = Field(None, validation_alias=AliasChoices("sliced_question", "question"))
    neighbours: Any = Field(None, validation_alias=AliasChoices("neighborhood", "neighborhood_prompts"))
    questions: Texts = Field((), alias="generation_prompts")


class ScEdit(FormatReader):
    """What both files have in common: a fact, its questions and script prompts, its neighbours.

    Script prompts are counted beside records: the paper tells both.

    Attributes:
        shape: The record.
        change: How its facts change.
        counts: What is counted, and its number in the paper: script prompts, those of neighbours.
    """

    shape: ClassVar[type[ScEditCFShape | ScEditTShape]]
    change: ClassVar[Literal["counterfactual", "temporal"]]
    counts: ClassVar[tuple[tuple[str, int], ...]]

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._ids: set[str] = set()
        self._edits = self._near = 0

    def make(self, row: Row) -> Iterator[RowItem]:
        """The fact, its questions and prompts, its neighbours, and an extra with what else there is."""
        data = self.shape.of({name: value for name, value in row.data.items() if name != "case_id"})
        prompt = data.prompt if data.prompt.count("{}") == 1 else template(data.prompt, data.subject)
        relation, known = _relation(data.relation, prompt)
        key, about_key = self._key(row)
        fact = Fact(
            key=key,
            subject=Entity(text=data.subject),
            relation=relation,
            prompt=prompt,
            old=Object(text=data.old),
            new=Object(text=data.new),
            change=self.change,
            source=self.source(row.data.get("case_id", row.number - 1)),
        )
        yield fact
        yield from about_key
        texts, steps = _texts(data.texts), getattr(data, "steps", None)
        self._edits += len(texts)
        numbers, understood = _steps(steps, len(texts))
        yield from _prompts(key, texts, numbers, _targets(fact))
        yield from _questions(fact, texts, data.questions)
        odd: list[Any] = []
        yield from self.near(fact, data.neighbours, row, odd)
        fields = type(data).model_fields
        name = fields["relation"].alias or "relation"
        aliases = [field.validation_alias for field in fields.values()]  # of two names of one thing the first counts
        read = [str(choice) for one in aliases if isinstance(one, AliasChoices) for choice in one.choices]
        left = {} if known else {name: data.relation}
        left |= {} if understood else {"interrupt_step": steps}
        yield from rest(key, data.others | left | {"neighborhood_not_understood": odd}, read)

    def near(self, fact: Fact, neighbours: Any, row: Row, odd: list[Any]) -> Iterator[RowItem]:
        """The neighbours of a fact; what is not understood of them goes to ``odd``."""
        raise NotImplementedError

    def _key(self, row: Row) -> tuple[str, list[Problem]]:
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
            for (what, known), count in zip(self.counts, (self._edits, self._near), strict=True):
                if known != count:
                    yield Problem(str(self.path), "count", f"{counted(count, what)}, the paper has {known:,}")
        yield from super().end()


class ScEditCF(ScEdit):
    """Counterfactual cases: script prompts of the fact, script prompts of facts that share the old object.

    The neighbours' subjects are not published, and a fact cannot be without one. A neighbour fact's subject is thus
    its script question, and its prompt what follows that question, so that the filled-in fact prompt is the published
    text. The loader says so, once for the file (``left``): nothing may be concluded from these subjects.
    """

    upstream = SCEDIT_CF
    shape = ScEditCFShape
    change = "counterfactual"
    counts = (("script prompt", 7_342), ("neighbour script prompt", 13_672))

    def near(self, fact: Fact, neighbours: Any, row: Row, odd: list[Any]) -> Iterator[RowItem]:
        """Neighbours of which only the script prompt is known; their object is the edit's old object."""
        for number, whole in enumerate(_texts(neighbours), 1):
            self._near += 1
            self.note("a neighbour is published without its subject; its script question stands there", row)
            part = split_prompt(whole)
            subject = part.question or part.text
            after = part.text[len(subject) :].replace("{}", "()") if part.text.startswith(subject) else ""
            yield from _neighbour(fact, number, subject, "{}" + after, fact.old)
            yield from _prompts(f"{fact.key}/n{number}", [whole], [None], (fact.old.text,))


class ScEditT(ScEdit):
    """Temporal cases; every neighbour comes with its own object, a plain prompt and one script prompt."""

    upstream = SCEDIT_T
    shape = ScEditTShape
    change = "temporal"
    counts = (("script prompt", 7_038), ("neighbour script prompt", 6_597))

    def near(self, fact: Fact, neighbours: Any, row: Row, odd: list[Any]) -> Iterator[RowItem]:
        """Neighbours with their own object; the plain prompt names the subject, but where, is not said."""
        for number, value in enumerate(neighbours or [], 1):
            if not isinstance(value, dict) or not {"object", "prompt"} <= value.keys():
                odd.append(value)
                continue
            self._near += 1
            near = ScEditNeighbour.of(value)
            prompt = near.prompt.replace("{}", "()")
            subject = _shared_subject(fact, prompt)
            yield from _neighbour(fact, number, subject, template(prompt, subject), Object(text=near.object))
            texts = _texts(near.question)
            yield from _prompts(f"{fact.key}/n{number}", texts, [None] * len(texts), (near.object,))
        if odd:
            left = counted(len(odd), "neighbour is", "neighbours are")
            yield row.problem("suspect", f"{left} no object with object, prompt and question")


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


def _neighbour(edit: Fact, number: int, subject: str, prompt: str, old: Object) -> Iterator[RowItem]:
    key, source = f"{edit.key}/n{number}", edit.source
    about = {"subject": Entity(text=subject), "relation": edit.relation, "prompt": prompt, "old": old}
    yield NeighbourFact(Fact(key=key, change="none", source=source, **about))
    same = old.text.casefold() == edit.old.text.casefold()
    yield Neighbour(key=f"{edit.key}~{key}", edit=edit.key, fact=key, how="same_object" if same else "near_subject")


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
            where, data = f"{row.where}, {name}", row.data[name]
            if isinstance(data, dict):
                yield Row(where, {**data, "example": name}, number)
            else:
                yield Problem(where, "malformed", f"an object is expected, not {kind_of(data)}")


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
