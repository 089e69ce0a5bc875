"""MQuAKE (Zhong et al., 2023; MIT): cases of one to four edits that multi-hop questions join.

MQuAKE-Remastered (Zhong et al., 2024) writes an object flat: ``target_new_str`` for ``{"str": ...}``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from curation.loaders.base import FormatReader, Loader, Row, RowItem
from curation.loaders.fields import FieldValueError, id_of, kind_of, text_of, unique_key_part, wikidata
from curation.loaders.sources import MQUAKE, Upstream
from schemas.extras import Extra
from schemas.facts import Entity, Fact, Object, Relation


class Mquake(FormatReader):
    """Every distinct edit is one fact, however many cases need it; the whole case is an extra that names its facts.

    Two cases that turn one fact into different new objects cannot be edited together: that is ``contradictory``.
    """

    upstream = MQUAKE

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._facts: dict[str, Fact] = {}
        self._cases: set[str] = set()

    def make(self, row: Row) -> Iterator[RowItem]:
        """The case's edits that are new, and the case."""
        case, edits = id_of(row.data, "case_id"), row.data["requested_rewrite"]
        if case in self._cases:
            yield row.problem("duplicate", f"the case {case} stands twice")
            return
        facts = [_fact(edit, self.upstream) for edit in edits]
        if not facts:
            raise ValueError("the field 'requested_rewrite' holds no edit")
        self._cases.add(case)
        for fact in facts:
            if self._facts.setdefault(fact.key, fact) is fact:
                yield fact
            elif self._facts[fact.key] != fact:
                yield row.problem("contradictory", f"an earlier case has the edit '{fact.key}' with another prompt")
        keys = list(dict.fromkeys(f.key for f in facts))
        name = "multi_hop"
        yield Extra.holding(f"mquake/case/{case}", row.data, subject_key=keys[0], depends_on=tuple(keys[1:]), name=name)


def _fact(edit: dict[str, Any], upstream: Upstream) -> Fact:
    subject, relation = text_of(edit, "subject"), text_of(edit, "relation_id")
    old, new = _object(target(edit, "target_true")), _object(target(edit, "target_new"))
    return Fact(
        key=f"mquake/{relation}/{unique_key_part(subject, relation, old.text, new.text)}",
        subject=Entity(text=subject),
        relation=Relation(id=relation),
        prompt=text_of(edit, "prompt"),
        old=old,
        new=new,
        source=upstream.source(),
    )


def target(edit: dict[str, Any], field: str) -> dict[str, Any]:
    """An edit's object with its name (``str``) and, where it is given, its Wikidata id (``id``).

    Args:
        edit: One of ``requested_rewrite``.
        field: ``target_new`` or ``target_true``.
    """
    if field not in edit and f"{field}_str" in edit:
        return {"str": edit[f"{field}_str"], "id": edit.get(f"{field}_id")}
    value = edit[field]
    if not isinstance(value, dict):
        raise FieldValueError(field, f"must be an object, it is {kind_of(value)}")
    return value


def _object(value: dict[str, Any]) -> Object:
    return Object(text=text_of(value, "str"), wikidata=wikidata(value.get("id")))


load_mquake = Loader("mquake", Mquake)
