"""The two sides of an overlap check: the facts and texts of a split, a store, a file of facts or plain texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from curation.loaders.base import LocatedRecord
from schemas.cases import AnyCase, Case, EventCase
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
    def from_cases(cls, name: str, cases: Iterable[AnyCase]) -> TextCollection:
        """Cases with their edited facts and all their own texts; neighbours are no training targets and stay out."""
        cases = list(cases)
        facts = tuple((case.key, case.fact) for case in cases if isinstance(case, Case))
        return cls(name, tuple(case.key for case in cases), facts, tuple(t for c in cases for t in _case_texts(c)))

    @classmethod
    def from_facts(cls, name: str, facts: Iterable[Fact], *, texts: Iterable[OwnedText] = ()) -> TextCollection:
        """Facts with their prompt and paraphrases, and other texts that belong to them."""
        owned = tuple((fact.key, fact) for fact in facts)
        own = (text for owner, fact in owned for text in _fact_texts(owner, fact))
        return cls(name, tuple(owner for owner, _ in owned), owned, (*own, *texts))

    @classmethod
    def from_texts(cls, name: str, texts: Iterable[str]) -> TextCollection:
        """Plain texts, owned by their line numbers."""
        owned = tuple(OwnedText(f"{name}:{n}", text) for n, text in enumerate(texts, 1) if text.strip())
        return cls(name, tuple(t.owner for t in owned), (), owned)


def _case_texts(case: AnyCase) -> list[OwnedText]:
    if isinstance(case, Case):
        own = [q.text for q in case.questions] + [p.text for p in case.prompts]
        return _fact_texts(case.key, case.fact) + [OwnedText(case.key, text) for text in own]
    if isinstance(case, EventCase):
        own = [case.event.text, *(q.text for q in case.facts), *(q.text for q in case.tendencies)]
    else:
        own = [case.document.text, *(probe.query for probe in case.probes)]
    return [OwnedText(case.key, text) for text in own]


def open_collection(source: Path | str) -> TextCollection:
    """One side: a shipped split's name, ``shipped``, a frozen split, a store, a text file (one text a line), facts.

    Raises:
        UserError: nothing there, or no known kind of file.
    """
    from curation.shipped import SPLITS, shipped_split
    from curation.splits.split_file import load_split

    path, name = Path(source), Path(source).name
    if str(source) in SPLITS:
        return TextCollection.from_cases(str(source), shipped_split(str(source)).all_cases)
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
                return TextCollection.from_cases(name, load_split(path).all_cases)
    return _of_file(source, name)


def _of_store(path: Path) -> TextCollection:
    from curation.store.store import Store
    from schemas.scripts import ScriptPrompt, ScriptQuestion

    with Store.open(path) as store:
        texts = [OwnedText(q.fact, q.text) for q in store.all(ScriptQuestion)]
        texts += [OwnedText(p.fact, p.text) for p in store.all(ScriptPrompt)]
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
