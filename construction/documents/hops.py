"""Cases of one hop: an edited fact, and script questions whose answer needs one step further (capital, then currency).

A table says what follows from an object (the currency of a country). The answers before and after the edit come from
it, and the step itself stays with every probe as its premise: whether a model knows it can be asked before the edit.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from construction.mentions import find_object
from schemas.cases import DocumentCase
from schemas.core.config import Options, read_toml, validate
from schemas.core.errors import DataError
from schemas.core.ids import slug
from schemas.core.records import Text
from schemas.documents.document import BLANK, Document, DocumentProbe, contains_words
from schemas.documents.statement import Group, Premise, Statement
from schemas.facts import Object, Source

MOST_STEPS = 9
"""Steps of a script at the most (ScEdit, Appendix A)."""
MOST_WORDS = 7
"""Words of a step at the most: fewer than 8."""

_STEP = re.compile(r"(\d+)\. (\S.*)")


class HopTable(Options):
    """What follows from an object.

    Attributes:
        ask: A question for it, with ``{}`` for the object.
        values: Object to answer, or to several that are right, the usual one first.
    """

    ask: Text
    values: dict[str, Text | tuple[Text, ...]]

    def answers(self, name: str) -> tuple[str, ...]:
        """All right answers for an object; none where the table has no such object."""
        found = self.values.get(name, ())
        return (found,) if isinstance(found, str) else tuple(found)


class HopItem(Options):
    """An edit, and what is asked about it.

    Attributes:
        subject: What is edited.
        prompt: The fact, with ``{}`` for the subject; the object follows.
        old: The object before the edit.
        new: The object after it.
        rephrase: A question for the fact, with ``{}`` for the subject.
        hop: Name of the table.
        question: A question that needs the hop, with ``{}`` for the subject.
        script: A question, then numbered steps; the last one ends in ``___``, where the hop's answer belongs.
    """

    subject: Text
    prompt: Text
    old: Text
    new: Text
    rephrase: Text
    hop: Text
    question: Text
    script: Text


class HopSource(Options):
    """A file of such edits: tables by name, and the edits."""

    table: dict[str, HopTable] = Field(min_length=1)
    edit: tuple[HopItem, ...] = Field(min_length=1)


def read_hops(path: Path, name: str, source: Source) -> tuple[DocumentCase, ...]:
    """The cases of a TOML file.

    Args:
        path: The file: ``HopSource``.
        name: Beginning of all keys.
        source: Where they come from.

    Raises:
        DataError: an edit without its hop, a hop that changes nothing, a script or a table's question that gives its
            answer away.
    """
    read = validate(HopSource, read_toml(path), where=str(path))
    counts = Counter((item.subject.casefold(), item.hop) for item in read.edit)
    if twice := next((item for item in read.edit if counts[item.subject.casefold(), item.hop] > 1), None):
        raise DataError(
            f"{twice.subject}: there are two edits of it by the table '{twice.hop}'", where=str(path), fix="keep one"
        )
    return tuple(hop_case(item, read.table, name, source, where=f"{path}, {item.subject}") for item in read.edit)


def hop_case(item: HopItem, tables: dict[str, HopTable], name: str, source: Source, *, where: str = "") -> DocumentCase:
    """One edit as a case: its statement, and probes of the edit, of the hop, and of what must stay.

    What must stay is the hop from the old object: its currency is what it was, although the subject lies elsewhere.

    Raises:
        DataError: as ``read_hops``.
    """
    table = tables.get(item.hop)
    if table is None:
        raise DataError(f"there is no table '{item.hop}'", where=where, allowed=", ".join(tables))
    _check_gaps(item, table, where)
    old, new = _checked_answers(item, table, where)
    script = _checked_script(item, old, new, where)
    statement = Statement(subject=item.subject, prompt=item.prompt, target=item.new)
    key = f"{name}/{slug(f'{item.subject} {item.hop}')}"
    document = Document(key=key, text=statement.text, entity=item.subject, statements=(statement,), source=source)
    premise = Premise(query=table.ask.replace("{}", item.new), answers=new)
    filled = statement.prompt.replace("{}", item.subject)
    asked: tuple[tuple[Group, str], ...] = (
        ("efficacy", f"{filled} {BLANK}"),
        ("rephrase", item.rephrase.replace("{}", item.subject)),
        ("hop", item.question.replace("{}", item.subject)),
        ("script_hop", script),
        ("locality", table.ask.replace("{}", item.old)),
    )
    probes = tuple(_probe(key, group, query, item, old, new, premise) for group, query in asked)
    return DocumentCase(key=f"case/{key}", document=document, probes=probes)


def _probe(
    key: str, group: Group, query: str, item: HopItem, old: tuple[str, ...], new: tuple[str, ...], premise: Premise
) -> DocumentProbe:
    """A probe: of the fact, of the hop, or of the hop from the old object, which the edit should leave alone."""
    hops = group in ("hop", "script_hop")
    right = new if hops else old if group == "locality" else (item.new,)
    before = old[0] if hops else None if group == "locality" else item.old
    return DocumentProbe(
        key=f"{key}/{group}",
        document=key,
        query=query,
        answer=right[0],
        accepted=right[1:],
        level=None,
        tags=("multi_hop",) if hops else (),
        group=group,
        old_answer=before,
        premises=(premise,) if hops else (),
    )


def _checked_answers(item: HopItem, table: HopTable, where: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The table's answers for the old and the new object: there are some, they differ, and no object names its own.

    The table's question is asked about the old object (what must stay) and about the new one (the premise).
    """
    for named in (item.old, item.new):
        answers, asked = table.answers(named), table.ask.replace("{}", named)
        if not answers:
            raise DataError(
                f"a hop without its fact: '{item.hop}' says nothing of {named!r}",
                where=where,
                fix="add it to the table",
            )
        if (word := next(_leaking_words(asked, named, answers), None)) is not None:
            raise DataError(
                f"the question of the table '{item.hop}' leaks its answer: {asked!r} names {word!r}",
                where=where,
                fix="name the object otherwise, or ask in other words",
            )
    old, new = table.answers(item.old), table.answers(item.new)
    if {a.casefold() for a in old} & {a.casefold() for a in new}:
        raise DataError(f"'{item.hop}' has the same answer for both objects: nothing could be told", where=where)
    return old, new


def _leaking_words(asked: str, named: str, answers: tuple[str, ...]) -> Iterator[str]:
    """Words of a table's question that name its answer.

    An object whose whole name is derived from the answer, or the answer from it, may stand: a country and its language.
    """
    whole = named.casefold().removeprefix("the ")
    for answer in answers:
        if contains_words(asked, answer):
            yield answer
        for place in find_object(asked, Object(text=answer)):
            derived = not place.fits and place.mention.text.casefold() == whole
            if not place.doubt and not derived:
                yield place.mention.text


def _checked_script(item: HopItem, old: tuple[str, ...], new: tuple[str, ...], where: str) -> str:
    """The script, whose form is right and which leaks nothing."""
    question, *steps = (line.strip() for line in item.script.strip().split("\n"))
    script = "\n".join((question, *steps))
    numbered = [_STEP.fullmatch(step) for step in steps]
    wrong = next(_faults(question, numbered, item.subject), None)
    if wrong is not None:
        raise DataError(f"script: {wrong}", where=where)
    texts = {
        "subject": item.subject,
        "prompt": item.prompt.replace("{}", ""),
        "rephrasing": item.rephrase.replace("{}", ""),
        "question": item.question.replace("{}", ""),
        "script": script.replace(item.subject, ""),
    }
    objects = [Object(text=item.old), Object(text=item.new), *(Object(text=answer) for answer in (*old, *new))]
    for what, text in texts.items():
        # a subject may name what was right before: Santiago de Cuba, moved to another country
        for entity in objects[1:2] + objects[-len(new) :] if what == "subject" else objects:
            if mention := next((m for m in find_object(text, entity) if not m.doubt), None):
                raise DataError(f"the {what} leaks the answer: it names {mention.mention.text!r}", where=where)
    return script


def _check_gaps(item: HopItem, table: HopTable, where: str) -> None:
    """Refuse texts that do not ask about the subject (or the table's object) once."""
    texts = [
        ("prompt", item.prompt, "subject"),
        ("rephrasing", item.rephrase, "subject"),
        ("question", item.question, "subject"),
        (f"question of the table '{item.hop}'", table.ask, "object"),
    ]
    for what, text, gap in texts:
        if (count := text.count("{}")) != 1:
            raise DataError(f"the {what} must hold exactly one {{}} for the {gap}, it holds {count}", where=where)


def _faults(question: str, steps: list[re.Match[str] | None], subject: str) -> Iterator[str]:
    """What is wrong with a script's form, in words."""
    if not re.search(rf"(?<!\w){re.escape(subject)}(?!\w)", question, re.IGNORECASE):
        yield f"its question does not name the subject ({question})"
    if any(step is None or int(step[1]) != place for place, step in enumerate(steps, 1)):
        yield "its steps must be numbered from 1, a line each"
        return
    texts = [step[2] for step in steps if step is not None]
    if not 2 <= len(texts) <= MOST_STEPS:
        yield f"it has {len(texts)} steps, and 2 to {MOST_STEPS} are allowed"
    elif any(BLANK in text for text in texts[:-1]) or not texts[-1].endswith(BLANK):
        yield f"its one blank ({BLANK}) must end the last step"
    if long := next((text for text in texts if len(text.split()) > MOST_WORDS), None):
        yield f"a step has more than {MOST_WORDS} words: {long}"
