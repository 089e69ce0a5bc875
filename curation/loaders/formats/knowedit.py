"""KnowEdit (Zhang et al., 2024; MIT): edits with portability and locality probes, in the shapes of its tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from curation.loaders.base import FormatReader, InvalidRecord, Loader, Problem, Row, RowItem
from curation.loaders.fields import relation_of, rest, strings, template, text_of, unique_key_part
from curation.loaders.reading import rows
from curation.loaders.sources import KNOWEDIT
from schemas.core.ids import slug
from schemas.core.records import Record
from schemas.extras import Extra
from schemas.facts import Entity, Fact, Object, Relation
from schemas.text.control_tokens import control_token

_TASKS = {"portability", "locality"}
_REPEATED = {"Reasoning": "Script", "Relation_Specificity": "Neighbour"}
"""Lists that our own export writes a second time under EasyEdit's names, with the name of the first."""


def tasks(path: Path) -> Iterator[Row | Problem]:
    """Rows, where an object of whole records counts as one row for each."""
    for row in rows(path):
        if isinstance(row, Problem) or "prompt" in row.data or "text" in row.data:
            yield row
            continue
        for number, (task, data) in enumerate(row.data.items(), 1):
            where = f"{row.where}, {task}"
            if isinstance(data, dict):
                yield Row(where, data, number)
            else:
                yield Problem(where, "malformed", f"a record is expected, not {type(data).__name__}")


class KnowEdit(FormatReader):
    """A record a row; one object that maps task names to records (as the documentation prints them) is as many rows.

    ``ground_truth`` is a string, a list, or a list of alias lists. Where it is absent (recent facts) there is no old
    object: the new one is kept as a fact that is not to be edited. WikiBio passages hold no fact: extras only.
    Each group of probes is an extra, word for word; one that repeats another under a second name, as in our own export,
    is taken once.
    """

    upstream = KNOWEDIT
    _CARRIED = ("subject", "prompt", "target_new", "ground_truth", "rephrase_prompt", *_TASKS)

    def make(self, row: Row) -> Iterator[RowItem]:
        """The fact or facts, and the probes."""
        data = row.data
        if "prompt" not in data:
            key = f"knowedit/passage/{unique_key_part(text_of(data, 'concept'), text_of(data, 'labels'))}"
            self._tally.add("a passage to edit in, no fact (kept as an extra)", row)
            yield from rest(key, data, _TASKS, name="passage")
        else:
            fact = self._fact(row)
            key = fact.key
            yield fact
            yield from rest(key, data, self._CARRIED)
        yield from _probes(key, data)

    def _fact(self, row: Row) -> Fact:
        data, subject, new = row.data, text_of(row.data, "subject"), text_of(row.data, "target_new")
        prompt = template(text_of(data, "prompt"), subject)
        names = [n for n in dict.fromkeys(_flatten(data.get("ground_truth"))) if not control_token(n)]  # a filler
        if not names:
            self._tally.add("no old object: kept as a fact that is not to be edited", row)
        elif new.casefold() in (n.casefold() for n in names):
            raise InvalidRecord(f"the new object {new!r} is among the right answers: nothing would be edited")
        return Fact(
            key=f"knowedit/{unique_key_part(subject, prompt, new)}",
            subject=Entity(text=subject),
            relation=Relation(id=relation_of(prompt), label=prompt),
            prompt=prompt,
            old=Object(text=names[0], aliases=tuple(names[1:])) if names else Object(text=new),
            new=Object(text=new) if names else None,
            change="counterfactual" if names else "none",
            paraphrases=tuple(strings(data.get("rephrase_prompt"))),
            source=self.upstream.source(row.number),
        )


def _probes(key: str, data: dict[str, Any]) -> Iterator[Record]:
    for task in sorted(_TASKS & data.keys()):
        groups = data[task] or {}
        for name, probes in groups.items():
            if probes and not _says_the_same(probes, groups.get(_REPEATED.get(name, ""))):
                whole = f"{task}/{name}"
                yield Extra.holding(f"{key}/extra/{slug(whole)}", probes, subject_key=key, name=whole)


def _says_the_same(probes: Any, first: Any) -> bool:
    """Whether one list of probes repeats another: the same prompts with the same answers, however they are nested."""
    if not (isinstance(probes, list) and isinstance(first, list) and len(probes) == len(first)):
        return False
    return all(
        isinstance(a, dict)
        and isinstance(b, dict)
        and a.keys() == b.keys() == {"prompt", "ground_truth"}
        and a["prompt"] == b["prompt"]
        and list(_flatten(a["ground_truth"])) == list(_flatten(b["ground_truth"]))
        for a, b in zip(probes, first, strict=True)
    )


def _flatten(value: Any) -> Iterator[str]:
    """Strings of nested lists, in order."""
    if isinstance(value, str):
        yield from strings(value)
    elif isinstance(value, Iterable) and not isinstance(value, dict):
        for item in value:
            yield from _flatten(item)


load_knowedit = Loader("knowedit", KnowEdit, read=tasks)
