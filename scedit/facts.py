"""Facts from a data frame, a list of dictionaries or a file, with what is wrong with them."""

from __future__ import annotations

import csv
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from functools import wraps
from numbers import Number
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from schemas.core.errors import MissingPackage, UserError

if TYPE_CHECKING:
    from pandas import DataFrame

    from curation.loaders import LoadResult, Problem
    from curation.loaders.base import Loader
    from schemas.facts import Fact

PROBLEMS = ("where", "kind", "what")
_LINE = re.compile(r", line (\d+)$")
P = ParamSpec("P")
R = TypeVar("R")
_OPTION = re.compile(r"(?<![\w./-])--([a-z]+(?:-[a-z]+)*)(?![\w-])")
_ARGUMENTS = {
    "add": "generation='add'",
    "api-key-env": "key_name",
    "base-url": "the address of the author",
    "journal": "journal_path",
    "model": "author",
    "neighbours-from": "table_paths",
    "no-verify": "verify=False",
    "prompts": "prompts_path",
    "replace": "generation='replace'",
}
"""Arguments by the options whose names are others."""


def python_errors(function: Callable[P, R]) -> Callable[P, R]:
    """A function whose errors name its arguments where those of the command name options (``max_cost``)."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except UserError as error:
            error.what, error.allowed, error.fix = map(_without_options, (error.what, error.allowed, error.fix))
            error.args = (_without_options(str(error)),)
            raise

    return call


def _without_options(text: Any) -> Any:
    """A text with arguments in the place of options; a whole command stays as it is."""
    if not text or "scedit " in text:
        return text
    text = text.replace("give the same command again", "call it again")
    return _OPTION.sub(lambda option: _ARGUMENTS.get(option[1], option[1].replace("-", "_")), text)


class Facts:
    """Facts that were read.

    Attributes:
        path: The file that they stand in, as the commands would be given it; ``shipped`` for those of the toolkit.
        loaded: The records, and what could not be read.

    Example:
        >>> facts = read([{"subject": "Peru", "relation": "capital", "prompt": "The capital of {} is",
        ...                "old": "Lima", "new": "Oslo"}])
        >>> len(facts), facts[0].old.text
        (1, 'Lima')
    """

    def __init__(self, path: str, loaded: LoadResult, problems: Iterable[Problem], *, rows: _TableFile | None) -> None:
        self.path, self.loaded = path, loaded
        self._problems, self._rows = tuple(problems), rows

    def __len__(self) -> int:
        """How many there are."""
        return len(self.loaded.facts)

    def __iter__(self) -> Iterator[Fact]:
        """The facts, in the order of the source."""
        return iter(self.loaded.facts)

    def __getitem__(self, number: int) -> Fact:
        """One of them, from 0."""
        return self.loaded.facts[number]

    def __repr__(self) -> str:
        """How many, with how many problems."""
        return f"Facts({len(self)} facts, {len(self._problems)} problems)"

    @property
    def problems(self) -> DataFrame:
        """What is wrong, a row each: ``where`` (row of the frame from 0, or line of the file), ``kind``, ``what``.

        Records that cannot be used are no facts; all other problems are worth a look and lose nothing.
        """
        return frame_of(
            [(self._rows.place(p.where) if self._rows else p.where, p.kind, p.what) for p in self._problems], PROBLEMS
        )

    def require(self) -> tuple[Fact, ...]:
        """The facts, if there are any and each record could be read.

        Raises:
            UserError: names the first row that could not.
        """
        try:
            return self.loaded.require()
        except UserError as error:
            where = (
                f"the table of facts, {self._rows.place(error.where)}" if self._rows and error.where else error.where
            )
            raise type(error)(error.what, where=where, fix="mend it, or leave it out; all: facts.problems") from None

    def frame(self) -> DataFrame:
        """The facts as a table in the columns that ``read`` takes, aliases and paraphrases as lists."""
        from curation.loaders.formats.native import COLUMNS

        return frame_of([_cells(fact) for fact in self], COLUMNS)


@python_errors
def read(source: Any, *, format: str | Loader | None = None) -> Facts:
    """Read facts and check them.

    Args:
        source: A data frame (pandas, polars ...), a list of dictionaries, a file in any format of
            ``scedit data formats``, or ``"shipped"``. Columns of a table: ``subject``, ``relation``, ``prompt`` (with
            ``{}`` in place of the subject), ``old`` and ``new``; more of them are listed by ``Facts.frame``. Aliases
            and paraphrases are lists, or one text with ``|`` between them. Whole numbers lose their ``.0``: a column of
            years with gaps has it from pandas.
        format: Format of a file, or a loader of your own (``curation.Loader``); found from the file where left out.

    Raises:
        UserError: the source cannot be read at all, or a column is missing or unknown; one sentence.
    """
    if isinstance(source, Facts):
        return source
    from curation.loaders.audit import defects

    if isinstance(source, str | Path):
        if str(source) == "shipped":
            from curation.loaders import load

            return Facts("shipped", load("shipped"), (), rows=None)
        loaded, problems = defects(Path(source), _format_name(format))
        return Facts(str(source), loaded, problems, rows=None)
    if format is not None:
        raise UserError("a format is for a file, and this is a table", where="the table of facts", fix="leave it out")
    rows = _TableFile(_dictionaries(source))
    try:
        loaded, problems = defects(rows.path, "csv")
    except UserError as error:
        fix = "add or rename columns" if "column" in error.what else error.fix
        raise type(error)(error.what, where="the table of facts", allowed=error.allowed, fix=fix) from None
    return Facts(str(rows.path), loaded, problems, rows=rows)


def _format_name(format: str | Loader | None) -> str | None:
    """A format's name; a loader of the user's own is registered for this process."""
    from curation.loaders import LOADERS
    from curation.loaders.base import Loader

    if format is None or isinstance(format, str):
        return format
    if not isinstance(format, Loader):
        raise UserError(f"a {type(format).__name__} is no format", allowed="a name, a curation.Loader")
    LOADERS.add(format.format, format)
    return format.format


class _TableFile:
    """Dictionaries as a file ``facts.csv`` that stays as long as the facts that were read from it.

    Its name and bytes depend on the facts alone, so the same table is the same source to a store.
    """

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="scedit-")
        self.path = Path(self._folder.name, "facts.csv")
        self._row_of_line: dict[int, int] = {}
        columns = list(dict.fromkeys(name for row in rows for name in row))
        with self.path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            for number, row in enumerate(rows):
                writer.writerow([_cell(row.get(name), f"row {number}, column '{name}'") for name in columns])
                self._row_of_line[number + 2] = number

    def place(self, where: str) -> str:
        """A place in the file as the row of the table."""
        found = _LINE.search(where)
        return f"row {self._row_of_line[int(found[1])]}" if found and int(found[1]) in self._row_of_line else where


def _dictionaries(source: Any) -> list[dict[str, Any]]:
    """The rows of a frame of any library, or of a list; there is one at least."""
    where = "the table of facts"
    if isinstance(source, Iterable) and not isinstance(source, Mapping | bytes) and not hasattr(source, "columns"):
        rows = list(source)
        if odd := next((row for row in rows if not isinstance(row, Mapping)), None):
            fix = "to choose among facts that were read, choose rows of facts.frame()"
            raise UserError(f"a row is a {type(odd).__name__}", where=where, allowed="dictionaries", fix=fix)
    else:
        rows = _frame_rows(source)
    if not rows:
        raise UserError("there are no rows", where=where, fix="give one row a fact")
    return [{str(name): value for name, value in row.items()} for row in rows]


def _frame_rows(source: Any) -> list[dict[str, Any]]:
    try:
        import narwhals
    except ModuleNotFoundError:
        raise MissingPackage("narwhals", extra="eval") from None
    try:
        rows: list[dict[str, Any]] = narwhals.from_native(source, eager_only=True).rows(named=True)
    except TypeError:
        allowed = "a data frame, a list of dictionaries, a file's name"
        raise UserError(f"facts cannot be read from a {type(source).__name__}", allowed=allowed) from None
    except narwhals.exceptions.DuplicateError:
        raise UserError("two columns have the same name", where="the table of facts", fix="rename one") from None
    return rows


def _cell(value: Any, where: str) -> str:
    """A value as a cell of one line: nothing for a missing one, lists with ``|`` between their parts.

    Raises:
        UserError: a value of another kind, such as a dictionary.
    """
    value = value.tolist() if hasattr(value, "tolist") else value  # arrays and numbers of numpy
    if isinstance(value, list | tuple):
        return "|".join(_cell(one, where) for one in value)
    if value is None or (value == value) is not True:  # NaN and NaT differ from themselves, NA is neither
        return ""
    if isinstance(value, date):
        return value.isoformat()[:10]
    if not isinstance(value, str | Number):
        allowed = "a text, a number, a date, a list of them"
        raise UserError(
            f"a {type(value).__name__} cannot be read", where=f"the table of facts, {where}", allowed=allowed
        )
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return " ".join(str(value).splitlines())


def _cells(fact: Fact) -> tuple[Any, ...]:
    new = fact.new
    before, _, after = fact.prompt.partition("{}")
    return (
        *(fact.key, fact.subject.text, list(fact.subject.aliases), fact.relation.label or fact.relation.id),
        *(fact.prompt, fact.old.text, list(fact.old.aliases)),
        *(new and new.text, list(new.aliases) if new else [], fact.changed_on, list(fact.paraphrases)),
        [text[len(before) : len(text) - len(after)] for text in fact.neighbour_prompts if _fits(text, before, after)],
        *(fact.source.name, fact.source.licence, fact.language),
    )


def _fits(text: str, before: str, after: str) -> bool:
    """Whether a neighbour's prompt is the fact's own with another subject: a cell holds the subject alone."""
    return text.startswith(before) and text.endswith(after) and len(text) > len(before) + len(after)


def frame_of(rows: list[tuple[Any, ...]], columns: Iterable[str]) -> DataFrame:
    """Rows as a data frame.

    Raises:
        MissingPackage: pandas is not installed.
    """
    try:
        from pandas import DataFrame
    except ModuleNotFoundError:
        raise MissingPackage("pandas", extra="eval") from None
    return DataFrame(rows, columns=list(columns))
