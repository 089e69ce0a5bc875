"""RippleEdits (Cohen et al., 2024; MIT): edits as whole sentences, with six groups of queries about their ripples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

from curation.loaders.base import FormatReader, Loader, Row, RowItem
from curation.loaders.shapes import Id, OrNone, Shape, Text, rest, template, wikidata
from curation.loaders.sources import RIPPLE
from schemas.core.ids import slug
from schemas.extras import Extra
from schemas.facts import Entity, Fact, Object, Relation

GROUPS = {
    "Relation_Specificity": ("Relation_Specificity", "Relation_Specifity"),
    "Logical_Generalization": ("Logical_Generalization",),
    "Subject_Aliasing": ("Subject_Aliasing",),
    "Compositionality_I": ("Compositionality_I",),
    "Compositionality_II": ("Compositionality_II",),
    "Forgetfulness": ("Forgetfulness", "Forgetfullness"),
}
"""Names of the groups, each with its spellings in the published files."""


class SentenceShape(Shape):
    """A fact as a sentence that ends in its object."""

    prompt: Text
    target_id: Any = None


class EditShape(SentenceShape):
    """An edit; recent facts have no ``original_fact``."""

    subject_id: Id
    relation: Text
    original_fact: Annotated[SentenceShape | None, OrNone] = None


class RippleShape(Shape):
    """A record; its groups of queries are fields of their own."""

    edit: EditShape


class EditWords(NamedTuple):
    """An edit's sentence taken apart; ``old`` is None where the record names no earlier fact."""

    subject: str
    cloze: str
    new: str
    old: str | None
    key: str


class RippleEdits(FormatReader):
    """Subject and objects are told by the sentences only, so they are read out of them.

    "The name of the R of S is O." ends in the object; S is what follows the relation's name, or else what the edit's
    sentence and the queries about the same subject have in common. Of recent facts the new object is kept as a fact
    that is not to be edited.
    """

    upstream = RIPPLE

    def make(self, row: Row) -> Iterator[RowItem]:
        """The fact, the edit as published, and an extra for each group of queries that is not empty."""
        data = row.data
        edit = RippleShape.of(data).edit
        words, before = split_edit(edit, data), edit.original_fact
        if before is None:
            self.note("no old object: kept as a fact that is not to be edited", row)
        target = Object(text=words.new, wikidata=wikidata(edit.target_id))
        key = f"ripple/{words.key}"
        yield Fact(
            key=key,
            subject=Entity(text=words.subject, wikidata=wikidata(edit.subject_id)),
            relation=Relation(id=edit.relation, label=edit.relation.replace("_", " ").lower()),
            prompt=template(words.cloze, words.subject),
            old=target if before is None else Object(text=words.old or "", wikidata=wikidata(before.target_id)),
            new=target if before is not None else None,
            change="none" if before is None else "counterfactual",
            source=self.source(row.number),
        )
        groups = {spelling: name for name, spellings in GROUPS.items() for spelling in spellings}
        yield from rest(key, data, groups, name="edit")
        for spelling, name in groups.items():
            if data.get(spelling):
                yield Extra.holding(f"{key}/extra/{slug(name)}", data[spelling], subject_key=key, name=name)


def split_edit(edit: EditShape, data: dict[str, Any]) -> EditWords:
    """The edit of a record, read out of its sentences.

    Raises:
        ValueError: subject or object cannot be told from them.
    """
    before = None if edit.original_fact is None else edit.original_fact.prompt
    cloze, new = _split_sentence(edit.prompt, before)
    old = None if before is None else _split_sentence(before, edit.prompt)[1]
    key = f"{edit.subject_id}/{edit.relation}/{edit.target_id or slug(new)}"
    return EditWords(_subject(cloze, edit, data), cloze, new, old, key)


def _split_sentence(sentence: str, other: str | None) -> tuple[str, str]:
    """A sentence as what stands before its object, and the object; ``other`` is the same sentence with another object.

    Example:
        >>> _split_sentence("The capital of Chad is Rome.", "The capital of Chad is N'Djamena.")
        ('The capital of Chad is', 'Rome')
    """
    shared = sentence if other is None else _common_beginning(sentence, other)
    before, verb, _ = shared.rpartition(" is ")
    if not verb:
        raise ValueError(f"the object cannot be told from the sentence {sentence!r}")
    return f"{before} is", sentence[len(before) + len(verb) :].strip().removesuffix(".")


def _common_beginning(one: str, two: str) -> str:
    """The longest beginning that two texts share."""
    length = next((n for n, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    return one[:length]


def _subject(cloze: str, edit: EditShape, data: dict[str, Any]) -> str:
    name = edit.relation.replace("_", " ").lower()
    for start in (f"The name of the {name} of ", f"The {name} of "):
        if cloze.lower().startswith(start.lower()):
            return cloze[len(start) :].removesuffix(" is")
    shared = cloze.removesuffix(" is")
    for prompt in _queries(data, edit.subject_id):
        shared = _common_beginning(shared[::-1], prompt.strip().removesuffix(" is")[::-1])[::-1]
    subject = shared.partition(" of ")[2] or shared.strip()
    if not subject or shared == cloze.removesuffix(" is"):
        raise ValueError(f"the subject cannot be told from the sentence {cloze!r}")
    return subject.strip()


def _queries(data: dict[str, Any], subject: str) -> Iterator[str]:
    """Prompts of the queries about one subject."""
    groups = (group for spellings in GROUPS.values() for s in spellings for group in data.get(s) or ())
    for query in (query for group in groups for query in group.get("test_queries") or ()):
        if query.get("subject_id") == subject and isinstance(query.get("prompt"), str):
            yield query["prompt"]


load_ripple = Loader("ripple", RippleEdits)
