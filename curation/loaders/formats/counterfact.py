"""CounterFact (Meng et al., 2022; MIT) in its three shapes: original, grouped from the flat files, flat."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from curation.loaders.base import FormatReader, Loader, Row, RowItem
from curation.loaders.fields import id_of, relation_of, rest, strings, template, text_of, wikidata
from curation.loaders.sources import COUNTERFACT
from schemas.facts import Entity, Fact, Object, Relation


class CounterFactOriginal(FormatReader):
    """``requested_rewrite`` records, as released with ROME; the grouped shape differs only in what is empty.

    Attribute prompts (subjects that have the new object), generation prompts and ``pararel_idx`` go to an extra.
    """

    upstream = COUNTERFACT
    _CARRIED = ("case_id", "requested_rewrite", "paraphrase_prompts", "neighborhood_prompts")

    def make(self, row: Row) -> Iterator[RowItem]:
        """The fact, and an extra with what it does not carry."""
        data, edit = row.data, row.data["requested_rewrite"]
        fact = Fact(
            key=f"counterfact/{id_of(data, 'case_id')}",
            subject=Entity(text=text_of(edit, "subject")),
            relation=Relation(id=str(edit["relation_id"])),
            prompt=text_of(edit, "prompt"),
            old=_object(edit["target_true"]),
            new=_object(edit["target_new"]),
            paraphrases=tuple(strings(data.get("paraphrase_prompts"))),
            neighbour_prompts=tuple(strings(data.get("neighborhood_prompts"))),
            source=self.upstream.source(data["case_id"]),
        )
        yield fact
        yield from rest(fact.key, data, self._CARRIED)


class CounterFactFlat(FormatReader):
    """One prompt, one paraphrase, one neighbour prompt a record; no relation id, so the template names the relation."""

    upstream = COUNTERFACT
    _CARRIED = ("case_id", "prompt", "subject", "ground_truth", "target_new", "rephrase_prompt", "locality_prompt")

    def make(self, row: Row) -> Iterator[RowItem]:
        """The fact, and an extra with what it does not carry."""
        data = row.data
        subject, old = text_of(data, "subject"), text_of(data, "ground_truth")
        prompt = template(text_of(data, "prompt"), subject)
        fact = Fact(
            key=f"counterfact/{id_of(data, 'case_id')}",
            subject=Entity(text=subject),
            relation=Relation(id=relation_of(prompt), label=prompt),
            prompt=prompt,
            old=Object(text=old),
            new=Object(text=text_of(data, "target_new")),
            paraphrases=tuple(strings(data.get("rephrase_prompt"))),
            neighbour_prompts=tuple(strings(data.get("locality_prompt"))),
            source=self.upstream.source(data["case_id"]),
        )
        yield fact
        beside = data.get("locality_ground_truth")
        same = isinstance(beside, str) and beside.strip() == old
        if beside is not None and not same:
            yield row.problem("contradictory", f"the neighbour's object is {beside!r}, not the old object {old!r}")
        yield from rest(fact.key, data, (*self._CARRIED, *(["locality_ground_truth"] if same else [])))


def _object(value: dict[str, Any]) -> Object:
    return Object(text=text_of(value, "str"), wikidata=wikidata(value.get("id")))


load_original = Loader("counterfact", CounterFactOriginal)
load_flat = Loader("counterfact-flat", CounterFactFlat)
