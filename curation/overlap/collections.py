"""The two sides of an overlap check: the facts and texts of a split, a store, a file of facts or plain texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from curation.loaders.base import LocatedRecord
from curation.splits.split_file import Split
from schemas.cases import Case, DocumentCase, EventCase
from schemas.core.decoding import why_not_utf8
from schemas.core.errors import DataError, UserError
from schemas.facts import Fact


class OwnedText(NamedTuple):
    """A text, whose it is, and whether it is a cloze prompt of a fact (those of one relation are always alike)."""

    owner: str
    text: str
    cloze: bool = False


class TextCollection(NamedTuple):
    """One side of the comparison. ``owners``: keys of cases, facts or lines; each is counted once a level."""

    name: str
    owners: tuple[str, ...]
    facts: Sequence[tuple[str, Fact]]
    texts: Sequence[OwnedText]

    @classmethod
    def from_cases(cls, name: str, cases: Iterable[Case]) -> TextCollection:
        """Cases with their edited facts and all their own texts; neighbours are no training targets and stay out."""
        cases = list(cases)

        def texts() -> Iterator[OwnedText]:
            yield from (text for case in cases for text in _fact_texts(case.key, case.fact))
            yield from (OwnedText(case.key, q.text) for case in cases for q in case.questions)
            yield from (OwnedText(case.key, p.text) for case in cases for p in case.prompts)

        return _collection(name, ((case.key, case.fact) for case in cases), lambda _: texts())

    @classmethod
    def from_events(cls, name: str, cases: Iterable[EventCase]) -> TextCollection:
        """Cases of events with the texts of events and questions; they have no facts to be compared."""
        cases = list(cases)

        def texts() -> Iterator[OwnedText]:
            for case in cases:
                yield OwnedText(case.key, case.event.text)
                yield from (OwnedText(case.key, q.text) for q in case.facts)
                yield from (OwnedText(case.key, q.text) for q in case.tendencies)

        owned_texts = tuple(texts())
        return cls(name, tuple(case.key for case in cases), (), owned_texts)

    @classmethod
    def from_documents(cls, name: str, cases: Iterable[DocumentCase]) -> TextCollection:
        """Cases of documents with the texts of documents and probes; they have no facts to be compared."""
        cases = list(cases)

        def texts() -> Iterator[OwnedText]:
            for case in cases:
                yield OwnedText(case.key, case.document.text)
                yield from (OwnedText(case.key, probe.query) for probe in case.probes)

        return cls(name, tuple(case.key for case in cases), (), tuple(texts()))

    @classmethod
    def from_facts(
        cls, name: str, facts: Iterable[Fact], *, texts: Callable[[], Iterable[OwnedText]] = tuple
    ) -> TextCollection:
        """Facts with their prompt and paraphrases, and other texts that belong to them."""
        owned_facts = ((fact.key, fact) for fact in facts)
        return _collection(
            name,
            owned_facts,
            lambda owned: chain((t for o, f in owned for t in _fact_texts(o, f)), texts()),
        )

    @classmethod
    def from_texts(cls, name: str, texts: Iterable[str]) -> TextCollection:
        """Plain texts, owned by their line numbers."""
        owned = (OwnedText(f"{name}:{n}", text) for n, text in enumerate(texts, 1) if text.strip())
        owned_texts = tuple(owned)
        return cls(name, tuple(t.owner for t in owned_texts), (), owned_texts)


def _collection(
    name: str,
    facts: Iterable[tuple[str, Fact]],
    texts: Callable[[Sequence[tuple[str, Fact]]], Iterable[OwnedText]],
) -> TextCollection:
    owned_facts = tuple(facts)
    return TextCollection(name, tuple(owner for owner, _ in owned_facts), owned_facts, tuple(texts(owned_facts)))


def open_collection(source: Path | str) -> TextCollection:
    """One side: a shipped split's name, ``shipped``, a frozen split, a store, a text file (one text a line), facts.

    Raises:
        UserError: nothing there, or no known kind of file.
    """
    from curation.shipped import SPLITS, shipped_split
    from curation.splits.split_file import open_split

    path, name = Path(source), Path(source).name
    if str(source) in SPLITS:
        return _of_split(str(source), shipped_split(str(source)))
    if path.suffix in (".duckdb", ".db"):
        return _of_store(path)
    if path.suffix == ".txt":
        try:
            with open(path, encoding="utf-8") as file:
                return TextCollection.from_texts(name, file)
        except UnicodeDecodeError as error:
            raise UserError(why_not_utf8(error), where=str(path)) from None
        except OSError as error:
            raise UserError(f"cannot be read: {error.strerror}", where=str(path)) from None
    if path.suffix == ".jsonl" and path.is_file():
        with open(path, encoding="utf-8", errors="replace") as file:
            if '"digest"' in file.readline(100_000):
                return _of_split(name, open_split(path))
    return _of_file(source, name)


def _of_split(name: str, split: Split) -> TextCollection:
    if split.type == "fact":
        return TextCollection.from_cases(name, split.cases)
    if split.type == "document":
        return TextCollection.from_documents(name, (case for case in split.all_cases if isinstance(case, DocumentCase)))
    return TextCollection.from_events(name, (case for case in split.all_cases if isinstance(case, EventCase)))


def _of_store(path: Path) -> TextCollection:
    from curation.store.store import Store
    from schemas.scripts import ScriptPrompt, ScriptQuestion

    with Store.open(path) as store:

        def texts() -> Iterator[OwnedText]:
            yield from (OwnedText(q.fact, q.text) for q in store.all(ScriptQuestion))
            yield from (OwnedText(p.fact, p.text) for p in store.all(ScriptPrompt))

        return TextCollection.from_facts(path.name, store.all(Fact), texts=texts)


def _of_file(source: Path | str, name: str) -> TextCollection:
    """Facts of a file in any known shape; what cannot be read is left out."""
    from curation.loaders import stream

    items = stream(str(source)).items
    collection = TextCollection.from_facts(
        name, (i.record for i in items if isinstance(i, LocatedRecord) and isinstance(i.record, Fact) and i.main)
    )
    if not collection.owners:
        raise DataError("no usable fact in the file", where=str(source), fix="see the formats: scedit data formats")
    return collection


def _fact_texts(owner: str, fact: Fact) -> list[OwnedText]:
    return [OwnedText(owner, text, cloze=True) for text in (fact.fact_prompt, *fact.paraphrases)]
