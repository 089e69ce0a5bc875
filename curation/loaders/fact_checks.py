"""What no record of any format may hold: impossible dates, control tokens, a new object that is the old one."""

from __future__ import annotations

import re
from datetime import date

from schemas.core.records import Record
from schemas.facts import Entity, Fact
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from schemas.text.control_tokens import control_token

_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")
INVISIBLE = re.compile("^[\\s\u00ad\u200b-\u200f\u2060\ufeff]+|[\\s\u00ad\u200b-\u200f\u2060\ufeff]+$")


class InvalidRecord(ValueError):
    """A record that is well formed and says something that cannot be."""


def check_record(record: Record) -> None:
    """Refuse what no record may hold.

    Raises:
        InvalidRecord: says what.
    """
    texts = _texts(record)
    if control_token("\n".join([text for _, text in texts])):  # one search, since nearly all records have none
        for name, text in texts:
            if token := control_token(text):
                raise InvalidRecord(f"{name}: the control token {token} of language models stands in {text!r}")
    if not isinstance(record, Fact):
        return
    if record.changed_on is not None and not is_date(record.changed_on):
        raise InvalidRecord(f"changed_on: {record.changed_on!r} is no date such as 2021, 2021-12 or 2021-12-08")
    if record.new is None or not (record.old.aliases or record.new.aliases):  # a fact never has equal texts
        return
    old, new = _folded(record.old), _folded(record.new)
    if record.new.text.casefold() in old:
        raise InvalidRecord(f"the new object {record.new.text!r} is among the old one's names: nothing would be edited")
    if record.old.text.casefold() in new:
        raise InvalidRecord(f"the old object {record.old.text!r} is among the new one's names: nothing would be edited")


def is_date(text: str) -> bool:
    """Whether a text is a day, month or year of the calendar in ISO form.

    Example:
        >>> is_date("2021"), is_date("2021-12-08"), is_date("2021-13-45"), is_date("in 2021")
        (True, True, False, False)
    """
    if not (match := _DATE.fullmatch(text)):
        return False
    try:
        date(int(match[1]) or 1, int(match[2] or 1), int(match[3] or 1))
    except ValueError:
        return False
    return True


def without_invisible_ends(fact: Fact) -> tuple[Fact, list[str]]:
    """A fact whose texts neither begin nor end with an invisible character, and the fields that did.

    Example:
        >>> from schemas.facts import Object, Relation, Source
        >>> fact = Fact(key="f/1", subject=Entity(text="Peru"), relation=Relation(id="P36"), old=Object(text="Lima"),
        ...             prompt="The capital of {} is", new=Object(text="Oslo\u200b"),
        ...             source=Source(name="tests", licence="CC0"))
        >>> clean, fields = without_invisible_ends(fact)
        >>> clean.new.text, fields
        ('Oslo', ['new'])
    """
    update: dict[str, object] = {}
    if "".join([*(text for _, text in _texts(fact)), *fact.neighbour_prompts]).isascii():
        return fact, []
    for name in ("subject", "old", "new"):
        entity = getattr(fact, name)
        if entity is not None and any(INVISIBLE.search(text) for text in entity.names):
            names = [text for one in entity.names if (text := INVISIBLE.sub("", one))]
            if not names:
                raise InvalidRecord(f"{name}: holds invisible characters only")
            update[name] = entity.model_copy(update={"text": names[0], "aliases": tuple(names[1:])})
    if INVISIBLE.search(fact.prompt):
        update["prompt"] = INVISIBLE.sub("", fact.prompt)
    for name in ("paraphrases", "neighbour_prompts"):
        texts = getattr(fact, name)
        if any(map(INVISIBLE.search, texts)):
            update[name] = tuple(text for one in texts if (text := INVISIBLE.sub("", one)))
    return (fact.model_copy(update=update) if update else fact), list(update)


def _texts(record: Record) -> list[tuple[str, str]]:
    """The texts of a record that a model reads, with the names of their fields."""
    if isinstance(record, Fact):
        texts = [("subject", record.subject.text), ("old", record.old.text), ("prompt", record.prompt)]
        if record.new is not None:
            texts.append(("new", record.new.text))
        for name, entity in (("subject", record.subject), ("old", record.old), ("new", record.new)):
            if entity is not None and entity.aliases:
                texts += [(name, alias) for alias in entity.aliases]
        return texts + [("paraphrases", text) for text in record.paraphrases]
    if isinstance(record, ScriptQuestion | ScriptPrompt):
        return [("text", record.text)]
    return [("steps", step) for step in record.steps] if isinstance(record, Script) else []


def _folded(entity: Entity) -> set[str]:
    return {name.casefold() for name in entity.names}
