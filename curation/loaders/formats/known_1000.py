"""Facts that a model knows (``known_1000``; Meng et al., 2022; MIT): no new object."""

from __future__ import annotations

from collections.abc import Iterator

from curation.loaders.base import FormatReader, Loader, Row, RowItem
from curation.loaders.fields import id_of, rest, template, text_of
from curation.loaders.sources import KNOWN_1000
from schemas.facts import Entity, Fact, Object, Relation


class Known1000(FormatReader):
    """The filled-in ``prompt`` is the fact prompt, since the object follows it; ``template`` may lack its last words.

    Template and the prediction of GPT-2 XL go to an extra.
    """

    upstream = KNOWN_1000
    note_kind = "suspect"
    _CARRIED = ("known_id", "subject", "attribute", "prompt", "relation_id")

    def make(self, row: Row) -> Iterator[RowItem]:
        """The fact, and an extra with what it does not carry."""
        data = row.data
        subject = text_of(data, "subject")
        fact = Fact(
            key=f"known-1000/{id_of(data, 'known_id')}",
            subject=Entity(text=subject),
            relation=Relation(id=text_of(data, "relation_id")),
            prompt=template(text_of(data, "prompt"), subject),
            old=Object(text=text_of(data, "attribute")),
            change="none",
            source=self.upstream.source(data["known_id"]),
        )
        yield fact
        if text_of(data, "template").replace("{}", subject) != text_of(data, "prompt"):
            self._tally.add("the template lacks words that the prompt has before the object", row)
        yield from rest(fact.key, data, self._CARRIED)


load_known = Loader("known-1000", Known1000)
