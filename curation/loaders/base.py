"""What a loader returns, and the small tools loaders share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from schemas.config import explain
from schemas.errors import DataError, UserError
from schemas.facts import Fact


class Problem(NamedTuple):
    """Something wrong at one place of a file. ``kind``: malformed, invalid, duplicate or contradictory."""

    where: str
    kind: str
    what: str

    @property
    def lost(self) -> bool:
        """Whether the record is left out. Contradictory ones are kept: a relation may have several objects."""
        return self.kind != "contradictory"


class Loaded(NamedTuple):
    """Facts read from a file, and what could not be read or contradicts itself."""

    facts: tuple[Fact, ...]
    problems: tuple[Problem, ...]
    format: str

    def require(self, *, skip_bad: bool = False) -> tuple[Fact, ...]:
        """The facts, if there are any and nothing is wrong.

        Args:
            skip_bad: Go on without the bad records.

        Raises:
            DataError: a record that cannot be used (unless ``skip_bad``), or no fact at all.
        """
        lost = [p for p in self.problems if p.lost]
        if lost and not skip_bad:
            first, more = lost[0], len(lost) - 1
            tail = f" ({more} more problem{'s' if more > 1 else ''} in the file)" if more else ""
            raise DataError(
                f"{first.kind} record: {first.what}{tail}",
                where=first.where,
                fix="mend the file, or leave bad records out with --skip-bad",
            )
        if not self.facts:
            raise DataError("no usable fact in the file", fix="see the formats: scedit import --help")
        return self.facts


class Row(NamedTuple):
    """One raw record and where it stands."""

    where: str
    data: dict[str, Any]


def read_text(path: Path) -> str:
    """The file's text.

    Raises:
        UserError: absent or unreadable.
        DataError: empty or not UTF-8.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UserError("there is no such file", where=str(path)) from None
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8 text (byte {error.start})", where=str(path), fix="save it as UTF-8") from None
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=str(path)) from None
    if not text.strip():
        raise DataError("the file is empty", where=str(path), fix="see the formats: scedit import --help")
    return text


def json_rows(text: str, path: Path) -> tuple[list[Row], list[Problem]]:
    """Records of a JSON array or of JSON lines; for an array a fault is fatal, for lines it is that line's problem."""
    if text.lstrip().startswith("["):
        try:
            items = json.loads(text)
        except json.JSONDecodeError as error:
            raise DataError(
                f"not valid JSON: {error.msg}, column {error.colno}",
                where=f"{path}, line {error.lineno}",
                fix="the file may be cut off: get a whole copy",
            ) from None
        pairs: Iterable[tuple[str, Any]] = ((f"{path}, record {n}", item) for n, item in enumerate(items, 1))
        bad: list[Problem] = []
    else:
        found, bad = _lines(text, path)
        pairs = found
    rows = []
    for where, item in pairs:
        if isinstance(item, dict):
            rows.append(Row(where, item))
        else:
            bad.append(Problem(where, "malformed", f"an object is expected, not {type(item).__name__}"))
    return rows, bad


def _lines(text: str, path: Path) -> tuple[list[tuple[str, Any]], list[Problem]]:
    found: list[tuple[str, Any]] = []
    bad: list[Problem] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            found.append((where, json.loads(line)))
        except json.JSONDecodeError as error:
            bad.append(Problem(where, "malformed", f"not valid JSON: {error.msg}, column {error.colno}"))
    return found, bad


def collect(rows: Iterable[Row], make: Callable[[Row], Fact], *, bad: Iterable[Problem], format: str) -> Loaded:
    """Facts made of rows; a row that fails, repeats a key or contradicts an earlier one becomes a problem."""
    facts: dict[str, Fact] = {}
    problems = list(bad)
    truth: dict[tuple[str, str], Fact] = {}
    for row in rows:
        try:
            fact = make(row)
        except KeyError as error:
            problems.append(Problem(row.where, "malformed", f"the field {error} is missing"))
            continue
        except ValidationError as error:
            problems.append(Problem(row.where, "invalid", explain(error)))
            continue
        except (ValueError, TypeError, AttributeError) as error:
            problems.append(Problem(row.where, "malformed", str(error)))
            continue
        if fact.key in facts:
            same = "" if facts[fact.key].id == fact.id else ", with other content"
            problems.append(Problem(row.where, "duplicate", f"the key '{fact.key}' stands twice{same}"))
            continue
        twin = truth.setdefault((fact.subject.text.casefold(), fact.relation.id), fact)
        if twin.old.text.casefold() != fact.old.text.casefold() and fact.change == twin.change == "counterfactual":
            what = f"'{twin.key}' says '{twin.old.text}' for this subject and relation, this one '{fact.old.text}'"
            problems.append(Problem(row.where, "contradictory", what))
        facts[fact.key] = fact
    return Loaded(tuple(facts.values()), tuple(problems), format)


def template(prompt: str, subject: str) -> str:
    """A filled-in prompt with its first occurrence of the subject replaced by ``{}``.

    Raises:
        ValueError: the subject is not in the prompt.

    Example:
        >>> template("The capital of Peru is", "Peru")
        'The capital of {} is'
    """
    if subject not in prompt:
        raise ValueError(f"the subject {subject!r} is not in the prompt {prompt!r}")
    return prompt.replace("{", "(").replace("}", ")").replace(subject, "{}", 1)


def strings(values: Any) -> Iterator[str]:
    """The non-empty strings of a list, stripped."""
    for value in values or ():
        if isinstance(value, str) and value.strip():
            yield value.strip()
