"""The examples that the ScEdit paper prints (Tables 4 and 7, section 3.2), as one hand-made object holds them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from curation.loaders.base import FormatReader, Loader, Problem, Row, RowItem
from curation.loaders.fields import rest, template, text_of
from curation.loaders.formats.scedit import split_prompt
from curation.loaders.reading import rows
from curation.loaders.sources import SCEDIT_PAPER
from schemas.core.ids import slug
from schemas.facts import Entity, Fact, Object, Relation
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion, strip_label

_EXAMPLES = ("construction_example", "leak_example", "case_study")


def examples(path: Path) -> Iterator[Row | Problem]:
    """One row for each example of the paper."""
    for row in rows(path):
        if isinstance(row, Problem):
            yield row
            continue
        for number, name in enumerate((n for n in _EXAMPLES if n in row.data), 1):
            yield Row(f"{row.where}, {name}", {**row.data[name], "example": name}, number)


class ScEditPaper(FormatReader):
    """Facts with question, script and prompt where they are printed; all else (ratings, neighbour) goes to an extra.

    The edit of the leak example comes without a fact prompt: its prompt is subject and relation.
    """

    upstream = SCEDIT_PAPER
    _CARRIED = ("fact", "edit", "example", "script_question", "fact_prompt", "generated_script", "script_prompt")

    def make(self, row: Row) -> Iterator[RowItem]:
        """The fact, its question, its script and prompt, and an extra."""
        data = row.data
        fields: dict[str, Any] = {**(data.get("fact") or {}), **(data.get("edit") or {})}
        subject, relation = text_of(fields, "subject"), text_of(fields, "relation")
        prompt = fields.get("fact_prompt") or data.get("fact_prompt") or f"{subject} {relation}"
        fact = Fact(
            key=f"scedit-paper/{slug(subject)}",
            subject=Entity(text=subject),
            relation=Relation(id=slug(relation), label=relation),
            prompt=template(prompt, subject),
            old=Object(text=text_of(fields, "target_true")),
            new=Object(text=text_of(fields, "target_new")),
            source=self.upstream.source(data["example"]),
        )
        yield fact
        question = ScriptQuestion(key=f"{fact.key}/q1", fact=fact.key, text=text_of(data, "script_question"))
        yield question
        if "generated_script" in data:
            yield from _script(fact, question, data)
        yield from rest(fact.key, data, self._CARRIED, name="example")


def _script(fact: Fact, question: ScriptQuestion, data: dict[str, Any]) -> Iterator[RowItem]:
    steps = tuple(strip_label(line) for line in text_of(data, "generated_script").split("\n"))
    script = Script(key=f"{question.key}/s", question=question.key, steps=steps)
    part = split_prompt(text_of(data, "script_prompt"))
    yield script
    yield ScriptPrompt(
        key=f"{script.key}/p",
        fact=fact.key,
        question=question.key,
        script=script.key,
        text=part.text,
        offset=len(part.text) + len(part.separator),
        step=part.step,
        separator=part.separator,
        targets=(fact.old.text, fact.new_object.text),
    )


load_paper = Loader("scedit-paper", ScEditPaper, read=examples)
