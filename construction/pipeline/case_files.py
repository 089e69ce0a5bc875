"""Written cases as their author types them: one TOML file a relation, questions and scripts as blocks of plain lines.

``case_rows`` turns such a file into the rows that JSON lines of written cases hold, so that ``adopt`` takes both.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from curation.loaders.reading import Row
from schemas.core.config import validate
from schemas.core.errors import DataError
from schemas.core.records import Frozen, Key, Text
from schemas.facts import Relation

_GAP = "{}"


class NameNotes(Frozen):
    """What holds for a name in the whole file: other names, and its Wikidata id where that is certain."""

    aliases: tuple[Text, ...] = ()
    wikidata: Annotated[str | None, Field(pattern=r"^Q[1-9]\d*$")] = None


class TypedCase(Frozen):
    """One case as it is typed.

    Attributes:
        key: Its key, behind the key of the file.
        subject: Its subject.
        old: The old object.
        new: The new one.
        prompt: Fact prompt with ``{}``, where it is not the file's.
        paraphrases: Other fact prompts, with ``{}`` or filled in.
        changed_on: Date of a temporal change, where no times are given.
        old_time: From when until when the old object of a temporal case was true ("2007/2014-11").
        new_time: The same of the new one; its start is the date of the change ("2014-11/2023-03", "2023-03/..").
        questions: Blocks divided by an empty line: a question, then one step a line.
        neighbours: Blocks likewise, each under a line ``SUBJECT``, ``SUBJECT | PROMPT`` or ``SUBJECT | PROMPT |
            OBJECT``; prompt and object are those of the case where they are not given.
    """

    key: Key
    subject: Text
    old: Text
    new: Text
    prompt: Text | None = None
    paraphrases: tuple[Text, ...] = ()
    changed_on: str | None = None
    old_time: str | None = None
    new_time: str | None = None
    questions: str
    neighbours: str = ""


class TypedFile(Frozen):
    """A file of cases of one relation: its prompt at the head, then cases with questions and scripts as plain lines."""

    key: Key
    kind: Literal["counterfactual", "temporal"] = "counterfactual"
    relation: Relation
    prompt: Text
    names: Mapping[str, NameNotes] = {}
    cases: Annotated[tuple[TypedCase, ...], Field(min_length=1)]


def case_rows(text: str, path: Path) -> list[Row]:
    """The written cases of a TOML file, one row each, in order.

    Args:
        text: What the file holds.
        path: The file, for messages.

    Raises:
        DataError: no TOML, a field that is wrong or unknown, a block without a step, notes on a name that no case has.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"not readable as TOML: {error}", where=str(path)) from None
    file = validate(TypedFile, data, where=str(path))
    seen: set[str] = set()
    rows = []
    for number, case in enumerate(file.cases, 1):
        where = f"{path}, case {number} ('{case.key}')"
        rows.append(Row(where, _row(file, case, seen, where), number))
    if unused := [name for name in file.names if name not in seen]:
        raise DataError(
            f"notes on the name '{unused[0]}', which no case has", where=str(path), fix="correct or delete them"
        )
    return rows


def _row(file: TypedFile, case: TypedCase, seen: set[str], where: str) -> dict[str, Any]:
    def entity(name: str) -> dict[str, Any]:
        seen.add(name)
        return {"text": name, **file.names.get(name, NameNotes()).model_dump(exclude_none=True)}

    prompt = case.prompt or file.prompt
    neighbours = []
    for head, *block in _blocks(case.neighbours):
        subject, *rest = (part.strip() for part in head.split("|"))
        if not subject or len(rest) > 2 or not all(rest):
            raise DataError(
                f"a neighbour begins with '{head}'", where=where, allowed="SUBJECT, | PROMPT and | OBJECT as needed"
            )
        whole_prompt, thing = [*rest, *(prompt, case.old)[len(rest) :]]
        who = {"subject": entity(subject), "prompt": whole_prompt, "object": entity(thing)}
        neighbours.append({**who, **_script(block, f"{where}, neighbour '{subject}'")})
    return {
        "key": f"{file.key}/{case.key}",
        "kind": file.kind,
        "relation": file.relation.model_dump(),
        "subject": entity(case.subject),
        "prompt": prompt,
        "paraphrases": [one.replace(_GAP, case.subject) for one in case.paraphrases],
        "old": entity(case.old),
        "new": entity(case.new),
        "changed_on": case.changed_on,
        "old_time": case.old_time,
        "new_time": case.new_time,
        "questions": [_script(block, where) for block in _blocks(case.questions)],
        "neighbours": neighbours,
    }


def _blocks(text: str) -> list[list[str]]:
    r"""The non-empty lines of each block.

    Example:
        >>> _blocks("How to go?\nPack\n\n\nHow to stay?\n Sit ")
        [['How to go?', 'Pack'], ['How to stay?', 'Sit']]
    """
    return [[line.strip() for line in block.splitlines()] for block in re.split(r"\n\s*\n", text.strip()) if block]


def _script(block: list[str], where: str) -> dict[str, Any]:
    if len(block) < 2:
        place = f" after '{block[0]}'" if block else ""
        raise DataError(f"a question and at least one step are expected{place}", where=where)
    return {"question": block[0], "steps": block[1:]}
