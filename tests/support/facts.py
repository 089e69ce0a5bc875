"""Facts for tests."""

from __future__ import annotations

from schemas.facts import Entity, Fact, Object, Relation, Source


def make_fact(
    subject="Peru", old="Lima", new="Oslo", *, key=None, aliases=(), new_aliases=(), relation="P36", prompt=None
):
    return Fact(
        key=key or f"f/{subject.replace(' ', '-')}",
        subject=Entity(text=subject),
        relation=Relation(id=relation),
        prompt=prompt or "The capital of {} is",
        old=Object(text=old, aliases=aliases),
        new=None if new is None else Object(text=new, aliases=new_aliases),
        change="none" if new is None else "counterfactual",
        source=Source(name="tests", licence="CC0-1.0"),
    )
