"""WikiFactDiff (Ammar Khodja et al., 2024; CC BY-SA 4.0): what changed in Wikidata between two dates.

A record is a (subject, relation) group with its new, obsolete and static objects. A fact is made where one object was
replaced by one other, as upstream; other groups cannot be said as a fact with an old object and are counted.
Upstream keeps 1 of 14 ``population`` records; here all are kept: choose with a split's rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from curation.loaders.base import FormatReader, Loader, NeighbourFact, Row, RowItem
from curation.loaders.fields import rest, strings, template, text_of, wikidata
from curation.loaders.sources import WIKIFACTDIFF
from schemas.core.ids import slug
from schemas.extras import Extra
from schemas.facts import Entity, Fact, Neighbour, Object, Relation

_LITERALS = {"date", "month", "year", "quantity", "string", "unknown"}
_DATES = {"date", "month", "year"}
_GAP = re.compile(r"\s*_{2,}\s*[.?!]?\s*$")
MEASURE = "WikiFactDiff dist"


class WikiFactDiff(FormatReader):
    """The released shape; ``dist`` stands beside a neighbour's subject or inside each of its objects.

    Descriptions, popularity, further objects of a neighbour and prompts whose gap is not at the end go to extras.
    """

    upstream = WIKIFACTDIFF
    _CARRIED = ("relation", "update_prompt", "objects", "neighborhood", "generalization_prompts")

    def make(self, row: Row) -> Iterator[RowItem]:
        """The fact, its neighbours with distances, and extras."""
        data, subject, relation = row.data, row.data["subject"], row.data["relation"]
        groups: dict[str, list[dict[str, Any]]] = {"new": [], "obsolete": [], "static": []}
        for value in data["objects"]:
            if value["decision"] not in groups:
                raise ValueError(f"the decision {value['decision']!r} of an object is not new, obsolete or static")
            groups[value["decision"]].append(value)
        replaced = [len(groups[d]) for d in ("new", "obsolete", "static")] == [1, 1, 0]
        is_replace = data.get("is_replace")
        if is_replace is not None and is_replace != replaced:
            yield row.problem("contradictory", f"is_replace is {is_replace}, but its objects say {replaced}")
        if not replaced:
            self._tally.add("no object that one other replaced, so no fact", row)
            return
        label = text_of(subject, "label")
        prompts, odd = _prompts(data, label)
        key = f"wikifactdiff/{_id(subject)}/{_id(relation)}"
        fact = Fact(
            key=key,
            subject=Entity(text=label, wikidata=wikidata(subject.get("id"))),
            relation=Relation(id=_id(relation), label=relation.get("label") or ""),
            prompt=template(prompts[0], label),
            old=_object(groups["obsolete"][0]),
            new=_object(groups["new"][0]),
            paraphrases=tuple(prompts[1:]),
            change="temporal",
            source=self.upstream.source(f"{_id(subject)}/{_id(relation)}"),
        )
        yield fact
        told_of = [v.get("description") for v in (subject, relation, *data["objects"])]
        more = {"descriptions": told_of} if any(told_of) else {}
        yield from rest(key, {**data, "other_prompts": odd, **more}, [*self._CARRIED, "subject", "is_replace"])
        for number, near in enumerate(data.get("neighborhood") or (), 1):
            yield from self._neighbour(fact, near, number, row)

    def _neighbour(self, edit: Fact, near: dict[str, Any], number: int, row: Row) -> Iterator[RowItem]:
        subject, first = near["subject"], (near.get("objects") or [{}])[0]
        try:
            old, prompt = _object(first["object"]), _cloze(first["prompt"], text_of(subject, "label"))
        except (KeyError, ValueError) as error:
            yield row.problem("suspect", f"neighbour {number} cannot be used: {error}")
            return
        same = old.text.casefold() == edit.old.text.casefold()
        fact = Fact(
            key=f"wikifactdiff/near/{_id(subject)}/{edit.relation.id}/{old.wikidata or slug(old.text)}",
            subject=Entity(text=text_of(subject, "label"), wikidata=wikidata(subject.get("id"))),
            relation=edit.relation,
            prompt=prompt,
            old=old,
            change="none",
            source=self.upstream.source(f"{_id(subject)}/{edit.relation.id}"),
        )
        yield NeighbourFact(fact)
        distance = near.get("dist", first.get("dist"))
        link = f"{edit.key}~{fact.key}"
        yield Neighbour(
            key=link,
            edit=edit.key,
            fact=fact.key,
            how="same_object" if same else "near_subject",
            distance=None if distance is None else float(distance),
            measure=None if distance is None else MEASURE,
        )
        if near["objects"][1:]:
            key = f"{link}/extra/objects"
            yield Extra.holding(
                key, near["objects"], subject_key=edit.key, depends_on=(fact.key,), name="neighbour_objects"
            )


def _prompts(data: dict[str, Any], label: str) -> tuple[list[str], list[str]]:
    """Prompts that end in the gap (the update prompt first where it does), gap removed; and those that do not."""
    fit, odd = [], []
    for prompt in [data["update_prompt"], *strings(data.get("generalization_prompts"))]:
        try:
            _cloze(prompt, label)
        except ValueError:
            odd.append(prompt)
        else:
            fit.append(_GAP.sub("", prompt).strip())
    if not fit:
        raise ValueError(f"no prompt holds the subject and ends in the gap ____: {data['update_prompt']!r}")
    return fit, odd


def _cloze(prompt: str, label: str) -> str:
    """A prompt with ``____`` at its end as a template; braces in the text become parentheses.

    Raises:
        ValueError: the gap is not at the end, stands twice, or the subject is not in the prompt.
    """
    if not _GAP.search(prompt) or len(re.findall("_{2,}", prompt)) != 1:
        raise ValueError(f"the gap ____ must stand once, at the end: {prompt!r}")
    return template(_GAP.sub("", prompt).strip(), label)


def _object(value: dict[str, Any]) -> Object:
    """An entity, or a literal whose description says its type; a date's leading ``+`` is dropped."""
    item, text = wikidata(value.get("id")), text_of(value, "label")
    kind = (value.get("description") or "").strip().casefold()
    if item is not None or kind not in _LITERALS:
        return Object(text=text, wikidata=item)
    return Object(text=text.removeprefix("+") if kind in _DATES else text, datatype=kind)


def _id(value: dict[str, Any]) -> str:
    item = value.get("id")
    return item if isinstance(item, str) and re.fullmatch(r"\S+", item) else slug(text_of(value, "label"))


load_wikifactdiff = Loader("wikifactdiff", WikiFactDiff)
