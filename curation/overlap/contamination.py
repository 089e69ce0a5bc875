"""What two collections share: method training data against evaluation cases above all.

A fact is compared by subject (folded names, aliases, Wikidata id), relation and objects; texts by their folded form and
by ROUGE-1 F. Relations are the same by id, label or prompt template. Where one side has no property id, another wording
can be the same relation: facts with the same subject and old object then count as one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import ClassVar, NamedTuple

from curation.files.json_files import text_lines
from curation.loaders.base import LocatedRecord
from curation.similarity.pairs import encode, similar_pairs
from schemas.cases import AnyCase, Case, EventCase
from schemas.core.errors import DataError, UserError
from schemas.core.ids import content_id
from schemas.core.plain_text import plain_text
from schemas.core.records import Frozen, Record
from schemas.facts import Fact

LEVELS: dict[str, str] = {
    "same_edit": "same subject, old and new object, relation not known to be another",
    "same_fact": "same subject and old object, relation not known to be another",
    "same_subject_relation": "same subject and relation",
    "same_subject": "same subject",
    "same_text": "a text that is equal when folded",
    "near_text": "a text at or above the ROUGE-1 F threshold (cloze prompts among themselves left out)",
}


class SharedItem(Frozen):
    """One thing that both sides hold: the two owners, and what is the same."""

    a: str
    b: str
    what: str
    value: float | None = None


class Level(Frozen):
    """How much is shared in one way: owners of A and of B concerned, pairs of owners, and the first examples."""

    name: str
    a: int
    b: int
    pairs: int
    examples: tuple[SharedItem, ...] = ()


class Overlap(Record):
    """The report of an overlap check; its key names the two sides and the threshold."""

    kind: ClassVar[str] = "overlap"
    a: str
    b: str
    owners_a: int
    owners_b: int
    texts_a: int
    texts_b: int
    threshold: float
    unit: str = "rouge1_f"
    levels: tuple[Level, ...]

    def level(self, name: str) -> Level:
        """A level by name."""
        for level in self.levels:
            if level.name == name:
                return level
        raise UserError(f"unknown overlap level '{name}'", allowed=", ".join(LEVELS))


Pairs = dict[tuple[str, str], tuple[str, float | None]]
"""What one level shares: pairs of owners, each with the first thing that both hold and its similarity."""


def _level(name: str, pairs: Pairs, examples: int) -> Level:
    first = [
        SharedItem(a=a, b=b, what=what, value=None if value is None else round(value, 4))
        for (a, b), (what, value) in islice(pairs.items(), examples)
    ]
    a, b = ({pair[side] for pair in pairs} for side in (0, 1))
    return Level(name=name, a=len(a), b=len(b), pairs=len(pairs), examples=tuple(first))


def overlap(a: TextCollection, b: TextCollection, *, threshold: float = 0.8, examples: int = 5) -> Overlap:
    """What A and B share.

    Args:
        a: The data that must be clean: evaluation cases.
        b: The other data: what a method was trained on.
        threshold: ROUGE-1 F from which two texts count as near-duplicates.
        examples: At most so many examples a level.
    """
    tally: dict[str, Pairs] = {name: {} for name in LEVELS}
    _facts(a, b, tally)
    _texts(a, b, tally, threshold)
    levels = tuple(_level(name, pairs, examples) for name, pairs in tally.items())
    sides = content_id("overlap-sides", [a.name, sorted(a.owners), b.name, sorted(b.owners), threshold])
    return Overlap(
        key=f"overlap/{sides}",
        a=a.name,
        b=b.name,
        owners_a=len(a.owners),
        owners_b=len(b.owners),
        texts_a=len(a.texts),
        texts_b=len(b.texts),
        threshold=threshold,
        levels=levels,
    )


def _relation_names(fact: Fact) -> set[str]:
    names = {fact.relation.id, "template:" + plain_text(fact.prompt.replace("{}", " x "))}
    return names | ({"label:" + plain_text(fact.relation.label)} if fact.relation.label else set())


def has_property_id(fact: Fact) -> bool:
    """Whether a fact's relation is a Wikidata property; a name or a wording does not tell relations apart.

    Example:
        >>> from curation.loaders.sources import OWN
        >>> from schemas.facts import Entity, Object, Relation
        >>> has_property_id(Fact(key="f", subject=Entity(text="a"), relation=Relation(id="capital"), prompt="{} is",
        ...                      old=Object(text="b"), change="none", source=OWN.source()))
        False
    """
    return re.fullmatch(r"P[0-9]+", fact.relation.id) is not None


def _facts(a: TextCollection, b: TextCollection, tally: dict[str, Pairs]) -> None:
    places = defaultdict[str, list[int]](list)
    for n, (_, fact) in enumerate(b.facts):
        for name in fact.subject.compared_names:
            places[name].append(n)
    for owner, fact in a.facts:
        relation, names = _relation_names(fact), fact.subject.compared_names
        for n in sorted({n for name in names for n in places.get(name, ())}):
            other, twin = b.facts[n]
            tally["same_subject"].setdefault((owner, other), (fact.subject.text, None))
            same_old = bool(fact.old.compared_names & twin.old.compared_names)
            told_apart = has_property_id(fact) and has_property_id(twin)  # both have Wikidata's ids
            if not relation & _relation_names(twin) and (told_apart or not same_old):
                continue
            tally["same_subject_relation"].setdefault((owner, other), (fact.fact_prompt, None))
            if not same_old:
                continue
            tally["same_fact"].setdefault((owner, other), (f"{fact.fact_prompt} {fact.old.text}", None))
            if fact.new and twin.new and fact.new.compared_names & twin.new.compared_names:
                edit = f"{fact.fact_prompt} {fact.old.text} -> {fact.new.text}"
                tally["same_edit"].setdefault((owner, other), (edit, None))


def _texts(a: TextCollection, b: TextCollection, tally: dict[str, Pairs], threshold: float) -> None:
    owners = defaultdict[str, list[str]](list)
    for text in b.texts:
        owners[plain_text(text.text)].append(text.owner)
    for text in a.texts:
        for owner in owners.get(plain_text(text.text), ()):
            tally["same_text"].setdefault((text.owner, owner), (text.text, None))
    if not a.texts or not b.texts:
        return
    rows = encode(t.text for side in (a, b) for t in side.texts)
    for block in similar_pairs(rows, threshold=threshold, between=len(a.texts)):
        for i, j, value in zip(block.first.tolist(), block.second.tolist(), block.value.tolist(), strict=True):
            one, two = a.texts[i], b.texts[j - len(a.texts)]
            if not (one.cloze and two.cloze):
                tally["near_text"].setdefault((one.owner, two.owner), (one.text, value))


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
    from curation.shipped import SPLITS, named_split

    path, name = Path(source), Path(source).name
    is_split = str(source) in SPLITS
    if path.suffix == ".jsonl" and path.is_file():
        with open(path, encoding="utf-8", errors="replace") as file:
            is_split |= '"digest"' in file.readline(100_000)
    if is_split:
        return TextCollection.from_cases(name, named_split(str(source)).all_cases)
    if path.suffix in (".duckdb", ".db"):
        return _of_store(path)
    if path.suffix == ".txt":
        return TextCollection.from_texts(name, text_lines(path))
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
