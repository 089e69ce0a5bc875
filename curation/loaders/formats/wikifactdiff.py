"""WikiFactDiff (Ammar Khodja et al., 2024; CC BY-SA 4.0): what changed in Wikidata between two dates.

A record is a (subject, relation) group with its new, obsolete and static objects. A fact is made where one object was
replaced by one other, as upstream; other groups cannot be said as a fact with an old object and are counted.
Upstream keeps 1 of 14 ``population`` records; here all are kept: choose with a split's rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from curation.loaders.base import FormatReader, Loader, NeighbourFact, Row, RowItem
from curation.loaders.shapes import Listed, RawText, Shape, Text, Texts, rest, template, wikidata
from curation.loaders.sources import WIKIFACTDIFF
from schemas.core.ids import slug
from schemas.extras import Extra
from schemas.facts import Entity, Fact, Neighbour, Object, Relation

_LITERALS = {"date", "month", "year", "quantity", "string", "unknown"}
_DATES = {"date", "month", "year"}
_GAP = re.compile(r"\s*_{2,}\s*[.?!]?\s*$")
MEASURE = "WikiFactDiff dist"


class ItemShape(Shape):
    """A subject, or an object: an entity, or a literal whose description says its type."""

    id: Any = None
    label: Text
    description: str | None = None

    @property
    def name(self) -> str:
        """Its id where it has one, else a slug of its label."""
        return self.id if isinstance(self.id, str) and re.fullmatch(r"\S+", self.id) else slug(self.label)

    @property
    def object(self) -> Object:
        """The object of a fact; a date's leading ``+`` is dropped."""
        item, kind = wikidata(self.id), (self.description or "").strip().casefold()
        if item is not None or kind not in _LITERALS:
            return Object(text=self.label, wikidata=item)
        return Object(text=self.label.removeprefix("+") if kind in _DATES else self.label, datatype=kind)


class RelationItem(ItemShape):
    """A relation, with or without a label."""

    label: str | None = None  # type: ignore[assignment]

    @property
    def name(self) -> str:
        """Its id."""
        return super().name if self.id or self.label else ""


class DecidedItem(ItemShape):
    """An object with what became of it."""

    decision: Literal["new", "obsolete", "static"]


class WikiFactDiffShape(Shape):
    """The released shape."""

    subject: ItemShape
    relation: RelationItem
    update_prompt: RawText
    generalization_prompts: Texts = ()
    objects: tuple[DecidedItem, ...]
    neighborhood: Annotated[tuple[dict[str, Any], ...], Listed] = ()
    is_replace: bool | None = None


class NearObject(Shape):
    """An object of a neighbour, with its prompt."""

    object: ItemShape
    prompt: RawText
    dist: float | None = None


class NearShape(Shape):
    """A neighbour; ``dist`` is beside its subject or inside each of its objects."""

    subject: ItemShape
    objects: tuple[NearObject, ...]
    dist: float | None = None


class WikiFactDiff(FormatReader):
    """Descriptions, popularity, further objects of a neighbour and prompts whose gap is not at the end go to extras."""

    upstream = WIKIFACTDIFF

    def make(self, row: Row) -> Iterator[RowItem]:
        """The fact, its neighbours with distances, and extras."""
        data = WikiFactDiffShape.of(row.data)
        groups = {d: [one for one in data.objects if one.decision == d] for d in ("new", "obsolete", "static")}
        replaced = [len(group) for group in groups.values()] == [1, 1, 0]
        if data.is_replace is not None and data.is_replace != replaced:
            yield row.problem("contradictory", f"is_replace is {data.is_replace}, but its objects say {replaced}")
        if not replaced:
            self.note("no object that one other replaced, so no fact", row)
            return
        subject, relation = data.subject, data.relation
        prompts, odd = _prompts(data)
        item = f"{subject.name}/{relation.name}"
        fact = Fact(
            key=f"wikifactdiff/{item}",
            subject=Entity(text=subject.label, wikidata=wikidata(subject.id)),
            relation=Relation(id=relation.name, label=relation.label or ""),
            prompt=template(prompts[0], subject.label),
            old=groups["obsolete"][0].object,
            new=groups["new"][0].object,
            paraphrases=tuple(prompts[1:]),
            change="temporal",
            source=self.source(item),
        )
        yield fact
        told_of = [one.description for one in (subject, relation, *data.objects)]
        more = {"descriptions": told_of} if any(told_of) else {}
        yield from rest(fact.key, {**data.others, "other_prompts": odd, **more})
        for number, near in enumerate(data.neighborhood, 1):
            try:
                yield from self._neighbour(fact, NearShape.of(near), near)
            except ValueError as error:
                yield row.problem("suspect", f"neighbour {number} cannot be used: {error}")

    def _neighbour(self, edit: Fact, near: NearShape, raw: dict[str, Any]) -> Iterator[RowItem]:
        if not near.objects:
            raise ValueError("it has no object")
        first, subject = near.objects[0], near.subject
        old = first.object.object
        same = old.text.casefold() == edit.old.text.casefold()
        fact = Fact(
            key=f"wikifactdiff/near/{subject.name}/{edit.relation.id}/{old.wikidata or slug(old.text)}",
            subject=Entity(text=subject.label, wikidata=wikidata(subject.id)),
            relation=edit.relation,
            prompt=_cloze(first.prompt, subject.label),
            old=old,
            change="none",
            source=self.source(f"{subject.name}/{edit.relation.id}"),
        )
        yield NeighbourFact(fact)
        distance = first.dist if near.dist is None else near.dist
        link = f"{edit.key}~{fact.key}"
        yield Neighbour(
            key=link,
            edit=edit.key,
            fact=fact.key,
            how="same_object" if same else "near_subject",
            distance=distance,
            measure=None if distance is None else MEASURE,
        )
        if near.objects[1:]:
            key, name = f"{link}/extra/objects", "neighbour_objects"
            yield Extra.holding(key, raw["objects"], subject_key=edit.key, depends_on=(fact.key,), name=name)


def _prompts(data: WikiFactDiffShape) -> tuple[list[str], list[str]]:
    """Prompts that end in the gap (the update prompt first where it does), gap removed; and those that do not."""
    fit, odd = [], []
    for prompt in [data.update_prompt, *data.generalization_prompts]:
        try:
            _cloze(prompt, data.subject.label)
        except ValueError:
            odd.append(prompt)
        else:
            fit.append(_GAP.sub("", prompt).strip())
    if not fit:
        raise ValueError(f"no prompt holds the subject and ends in the gap ____: {data.update_prompt!r}")
    return fit, odd


def _cloze(prompt: str, label: str) -> str:
    """A prompt with ``____`` at its end as a template.

    Raises:
        ValueError: the gap is not at the end, stands twice, or the subject is not in the prompt.
    """
    if not _GAP.search(prompt) or len(re.findall("_{2,}", prompt)) != 1:
        raise ValueError(f"the gap ____ must stand once, at the end: {prompt!r}")
    return template(_GAP.sub("", prompt).strip(), label)


load_wikifactdiff = Loader("wikifactdiff", WikiFactDiff)
