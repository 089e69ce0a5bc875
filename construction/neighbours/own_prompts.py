"""Neighbours that a fact brings as plain prompts: CounterFact names other subjects that have the same old object.

The prompts are whole sentences ("The native language of Montesquieu is"), worded with the templates of their relation.
Held against the templates of the table, most of them name their subject, and with it a fact to ask about.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from construction.neighbours.same_object import names, norm
from schemas.core.ids import content_id, seed
from schemas.facts import Entity, Fact, Object

_SHORTEST = 6  # letters that a template has beside its gap; fewer would fit anything
_LONGEST = 12  # words of a subject


class PromptTemplates:
    """The templates of a table's facts by relation, to find the subject of a sentence.

    Args:
        table: All facts known.
    """

    def __init__(self, table: Iterable[Fact]) -> None:
        affixes: dict[str, set[tuple[str, str]]] = defaultdict(set)
        for fact in table:
            before, _, after = fact.prompt.partition("{}")
            if sum(map(str.isalpha, before + after)) >= _SHORTEST:
                affixes[fact.relation.id].add((before, after))
        every = set[tuple[str, str]]().union(*affixes.values())
        self._by_relation = {relation: _longest_first(some) for relation, some in affixes.items()}
        self._every = _longest_first(every)

    def subject_of(self, text: str, relation: str) -> tuple[str, str] | None:
        """The template and the subject of a sentence; None where no template fits.

        Templates of the relation come first, longer ones before shorter ones. Data whose relations are named by their
        one template have no other of the same relation; there those of all relations are looked through.

        Args:
            text: The sentence.
            relation: Id of its relation.
        """
        for templates in (self._by_relation.get(relation, []), self._every):
            for before, after in templates:
                if not (text.startswith(before) and text.endswith(after)):
                    continue
                subject = text[len(before) : len(text) - len(after)].strip()
                if subject and len(subject.split()) <= _LONGEST:
                    return f"{before}{{}}{after}", subject
        return None


def own_neighbours(edits: Iterable[Fact], table: Sequence[Fact], *, k: Mapping[str, int]) -> dict[str, list[Fact]]:
    """Up to so many facts for each edit, from its own neighbourhood prompts.

    Left out are prompts whose subject is not found, is the edit's, or has the new object according to the table. The
    draw depends on the edit's key alone.

    Args:
        edits: Facts that are edited.
        table: All facts known.
        k: Facts for each edit, by its key.

    Returns:
        Facts that are not edited, by key of the edit; subject and object decide a fact's key, so one that serves
        several edits is one fact.
    """
    templates, true_objects = PromptTemplates(table), defaultdict[tuple[str, str], set[str]](set)
    for fact in table:
        true_objects[fact.relation.id, norm(fact.subject.text)] |= names(fact.old)
    drawn: dict[str, list[Fact]] = {}
    for edit in edits:
        by_subject: dict[str, Fact] = {}
        for text in edit.neighbour_prompts:
            worded = templates.subject_of(text, edit.relation.id)
            if worded is None:
                continue
            template, subject = worded
            others = true_objects[edit.relation.id, norm(subject)]
            if norm(subject) not in names(edit.subject) and not names(edit.new) & others:
                by_subject.setdefault(norm(subject), _fact(edit, template, subject))
        places = sorted(by_subject)
        random.Random(seed("own neighbours", edit.key)).shuffle(places)
        drawn[edit.key] = [by_subject[place] for place in places[: k[edit.key]]]
    return drawn


def _fact(edit: Fact, template: str, subject: str) -> Fact:
    words = content_id("neighbour", [edit.relation.id, norm(subject), norm(edit.old.text)])
    return Fact(
        key=f"near/{words[:16]}",
        subject=Entity(text=subject),
        relation=edit.relation,
        prompt=template,
        old=Object(text=edit.old.text, aliases=edit.old.aliases, wikidata=edit.old.wikidata),
        change="none",
        source=edit.source.model_copy(update={"item": None}),
    )


def _longest_first(templates: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return sorted(templates, key=lambda t: (-len(t[0]) - len(t[1]), t))
