"""Relation lists (Hernandez et al., 2024; MIT): subject and object pairs; and the editable facts derived from them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from curation.loaders.base import FormatReader, Loader, NeighbourFact, Problem, Row, RowItem
from curation.loaders.fields import kind_of, rest, strings, text_of, unique_key_part, wikidata
from curation.loaders.reading import rows
from curation.loaders.sources import RELATIONS
from schemas.core.ids import slug
from schemas.extras import Extra
from schemas.facts import Entity, Fact, Neighbour, Object, Relation


def pairs(path: Path) -> Iterator[Row | Problem]:
    """The pairs of a relation list, each with its number; the first row is the relation itself."""
    for row in rows(path):
        if isinstance(row, Problem):
            yield row
            continue
        if not isinstance(row.data.get("samples"), list):
            yield row.problem("malformed", "the field 'samples' with subject and object pairs is missing")
            return
        yield row._replace(data={k: v for k, v in row.data.items() if k != "samples"}, number=0)
        for number, pair in enumerate(row.data["samples"], 1):
            where = f"{path}, sample {number}"
            if isinstance(pair, dict):
                yield Row(where, pair, number)
            else:
                yield Problem(where, "malformed", f"an object is expected, not {kind_of(pair)}")


class RelationList(FormatReader):
    """Facts without a new object; the first template is the fact prompt, the others are paraphrases.

    A subject may have several objects: that is ``contradictory`` as far as editing goes, and both facts are kept.
    """

    upstream = RELATIONS

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._templates: tuple[str, ...] = ()
        self._relation = Relation(id=slug(path.stem))
        self._about: dict[str, Any] = {}

    def make(self, row: Row) -> Iterator[RowItem]:
        """The fact of one pair; with the first one, an extra about the relation."""
        if not row.number:
            self._about = row.data
            self._relation = Relation(id=self.named.stem, label=text_of(row.data, "name"))
            self._templates = tuple(strings(row.data["prompt_templates"]))
            return
        if not self._templates:
            raise ValueError("the relation has no prompt template")
        subject, old = text_of(row.data, "subject"), text_of(row.data, "object")
        prompt, *others = self._templates
        fact = Fact(
            key=f"relations/{self._relation.id}/{unique_key_part(subject, old)}",
            subject=Entity(text=subject),
            relation=self._relation,
            prompt=prompt,
            old=Object(text=old),
            paraphrases=tuple(t.replace("{}", subject) for t in others),
            change="none",
            source=self.upstream.source(self.named.stem),
        )
        yield fact
        if self._about:
            key = f"relations/{self._relation.id}/about"
            yield Extra.holding(key, self._about, subject_key=fact.key, name="relation")
            self._about = {}


class FactsDev(FormatReader):
    """Editable facts made of relation lists: templates, both objects, and subjects that share the old object."""

    upstream = RELATIONS
    _CARRIED: tuple[str, ...] = ("id", "relation", "relation_id", "subject", "prompt_template", "target_true")
    _CARRIED += ("target_new", "neighbours")

    def make(self, row: Row) -> Iterator[RowItem]:
        """The fact, its neighbour facts and links, and an extra with what else there is."""
        data, subject, prompt = row.data, text_of(row.data, "subject"), text_of(row.data, "prompt_template")
        name, beside = text_of(data, "relation"), list(dict.fromkeys(strings(data.get("neighbours"))))
        relation = Relation(id=wikidata(data.get("relation_id"), "P") or name, label=name.replace("_", " "))
        old, key = Object(text=text_of(data, "target_true")), text_of(data, "id")
        yield Fact(
            key=key,
            subject=Entity(text=subject),
            relation=relation,
            prompt=prompt,
            old=old,
            new=Object(text=text_of(data, "target_new")),
            neighbour_prompts=tuple(prompt.replace("{}", n) for n in beside),
            source=self.upstream.source(key),
        )
        yield from rest(key, data, self._CARRIED)
        for near in beside:
            fact = Fact(
                key=f"facts-dev/near/{name}/{unique_key_part(near, old.text)}",
                subject=Entity(text=near),
                relation=relation,
                prompt=prompt,
                old=old,
                change="none",
                source=self.upstream.source(name),
            )
            yield NeighbourFact(fact)
            yield Neighbour(key=f"{key}~{fact.key}", edit=key, fact=fact.key, how="same_object")


load_relations = Loader("relations", RelationList, read=pairs)
load_facts_dev = Loader("facts-dev", FactsDev)
