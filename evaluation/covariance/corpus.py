"""Corpora of second moments: local text files and datasets of the hub, read as a stream of documents.

A corpus is named by text: a file (``.jsonl`` with a ``text`` a line, any other: documents parted by blank lines),
several files, or ``hub:NAME[:CONFIG[:SPLIT[:COLUMN]]][@REVISION][#DOCUMENTS]``. None is the corpus that comes with
the toolkit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from curation.shipped import SHIPPED
from schemas.core.decoding import why_not_utf8
from schemas.core.errors import DataError, MissingPackage, UserError
from schemas.core.ids import digest

HUB = "hub:"


class Corpus:
    """Documents of one or more local files in a fixed order, read as a stream: twice, once for digest and size.

    In ``.jsonl`` every line has a ``text``; any other file is plain text whose documents are parted by blank lines.

    Raises:
        UserError: a file is missing, unreadable, or there is no text.
    """

    count: int | None

    def __init__(self, paths: Sequence[Path], *, name: str | None = None) -> None:
        self.paths = tuple(paths)
        self.name = name or ", ".join(path.name for path in self.paths)
        self.digest, self.count = _measure(tuple(_stamp(path) for path in self.paths))
        if not self.count:
            raise UserError("the statistics corpus holds no text", where=", ".join(map(str, paths)))

    @classmethod
    def shipped(cls) -> Corpus:
        """The corpus that comes with the toolkit."""
        return cls([SHIPPED / "corpus.txt"], name="shipped")

    def stream(self) -> Iterator[str]:
        """The documents."""
        return (text for path in self.paths for text in _documents(path))


class _Stamp(NamedTuple):
    """A file as it is now: its size and time tell whether what was measured still holds."""

    path: Path
    size: int
    changed: int


def _stamp(path: Path) -> _Stamp:
    try:
        stats = path.stat()
    except FileNotFoundError:
        raise UserError("there is no such corpus file", where=str(path)) from None
    except OSError as error:
        raise DataError(f"the corpus cannot be read: {error}", where=str(path)) from None
    return _Stamp(path, stats.st_size, stats.st_mtime_ns)


@lru_cache(maxsize=16)
def _measure(stamps: tuple[_Stamp, ...]) -> tuple[str, int]:
    """Digest and number of documents; equal to ``schemas.core.ids.digest`` over the documents."""
    h, count = sha256(), 0
    for stamp in stamps:
        for text in _documents(stamp.path):
            h.update(text.encode("utf-8", "surrogatepass") + b"\n")
            count += 1
    return h.hexdigest(), count


def _documents(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8") as lines:  # universal newlines: \r\n reads as \n
            yield from (_json_lines(path, lines) if path.suffix == ".jsonl" else _paragraphs(lines))
    except UnicodeDecodeError as error:
        raise DataError(f"the corpus is {why_not_utf8(error)}", where=str(path)) from None
    except OSError as error:
        raise DataError(f"the corpus cannot be read: {error}", where=str(path)) from None


def _paragraphs(lines: Iterator[str] | Any) -> Iterator[str]:
    held: list[str] = []
    for line in lines:
        if line != "\n":
            held.append(line)
            continue
        if text := "".join(held).strip():
            yield text
        held = []
    if text := "".join(held).strip():
        yield text


def _json_lines(path: Path, lines: Iterator[str] | Any) -> Iterator[str]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            text = json.loads(line)["text"]
        except (ValueError, KeyError, TypeError):
            raise DataError("no JSON object with a 'text'", where=f"{path}, line {number}") from None
        if isinstance(text, str) and text.strip():
            yield text


_SPEC = re.compile(
    r"hub:(?P<name>[^:@#]+)(?::(?P<config>[^:@#]*))?(?::(?P<split>[^:@#]+))?(?::(?P<column>[^:@#]+))?"
    r"(?:@(?P<revision>[^#]+))?(?:#(?P<limit>\d+))?"
)


class HubCorpus:
    """A dataset of the hub, streamed: nothing is kept on the disk but the statistics.

    Its digest names dataset, configuration, split, column, commit and the number of documents, so with a commit given
    ready statistics are found without a network.

    Args:
        text: ``hub:NAME[:CONFIG[:SPLIT[:COLUMN]]][@REVISION][#DOCUMENTS]``.

    Raises:
        UserError: the text is of another form, or the commit is not given and cannot be looked up.
    """

    count: int | None

    def __init__(self, text: str) -> None:
        match = _SPEC.fullmatch(text)
        if match is None:
            form = "hub:NAME[:CONFIG[:SPLIT[:COLUMN]]][@REVISION][#DOCUMENTS]"
            raise UserError(f"'{text}' names no dataset of the hub", allowed=form)
        part = match.groupdict()
        self.dataset, self.config = part["name"], part["config"] or None
        self.split, self.column = part["split"] or "train", part["column"] or "text"
        self.count = int(part["limit"]) if part["limit"] else None
        self.revision = _commit(self.dataset, part["revision"])
        self.name = text.partition("@")[0].partition("#")[0]
        named = (self.dataset, self.config or "", self.split, self.column, self.revision, str(self.count or ""))
        self.digest = digest(("hub", *named))

    def stream(self) -> Iterator[str]:
        """The documents.

        Raises:
            UserError: the package ``datasets`` is not installed, or the hub does not give the dataset.
        """
        try:
            for row in islice(self._rows(), self.count):
                text = row.get(self.column)
                if not isinstance(text, str):
                    columns = ", ".join(map(str, row))
                    raise DataError(f"no text column '{self.column}'", where=self.name, allowed=columns)
                yield text
        except _hub_errors() as error:
            raise _refusal(self.dataset, error) from None

    def _rows(self) -> Any:
        try:
            from datasets import load_dataset  # type: ignore[import-untyped]
        except ImportError:
            raise MissingPackage("datasets", extra="dev") from None
        try:
            return load_dataset(self.dataset, self.config, split=self.split, revision=self.revision, streaming=True)
        except _hub_errors() as error:
            raise _refusal(self.dataset, error) from None


def _commit(dataset: str, revision: str | None) -> str:
    """The 40 digits of the dataset's commit; looked up where they are not given."""
    if revision and re.fullmatch(r"[0-9a-f]{40}", revision):
        return revision
    try:
        from huggingface_hub import HfApi
    except ImportError:
        raise MissingPackage("datasets", extra="dev") from None
    try:
        return str(HfApi().dataset_info(dataset, revision=revision, timeout=20).sha)
    except _hub_errors() as error:
        raise _refusal(dataset, error) from None


def _hub_errors() -> tuple[type[BaseException], ...]:
    """What the hub's client raises where it cannot be reached or refuses (its network library's are no OSErrors)."""
    import httpx

    return (OSError, ValueError, RuntimeError, httpx.HTTPError)


def _refusal(dataset: str, error: BaseException) -> UserError:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return UserError(
        f"the dataset cannot be had from the hub: {lines[0][:160].rstrip('.')}",
        where=dataset,
        fix="go online, or name a local text file, or give ready second moments (moments = 'PACK.safetensors')",
    )


def local_files(named: str | Sequence[str] | None) -> tuple[str, ...]:
    """Files that such an option names; none for the shipped corpus or a dataset of the hub.

    Example:
        >>> local_files("mine.txt"), local_files("hub:wikitext"), local_files(None)
        (('mine.txt',), (), ())
    """
    names = () if named is None else (named,) if isinstance(named, str) else tuple(named)
    return tuple(name for name in names if not name.startswith(HUB))


TextSource = Corpus | HubCorpus


def open_corpus(named: str | Sequence[str] | None) -> TextSource:
    """The corpus that an option names; None is the one that comes with the toolkit.

    Raises:
        UserError: there is no such file or dataset, or it holds no text.
    """
    if named is None:
        return Corpus.shipped()
    names = [named] if isinstance(named, str) else list(named)
    hub = [name for name in names if name.startswith(HUB)]
    if hub and len(names) > 1:
        raise UserError("one dataset of the hub, or local files, not both", where=", ".join(names))
    return HubCorpus(hub[0]) if hub else Corpus([Path(name) for name in names])
