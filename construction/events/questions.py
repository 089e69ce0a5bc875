"""Factual questions of an event: what its template changes, and some of what it leaves alone."""

from __future__ import annotations

import random
from collections import Counter
from typing import NamedTuple

from construction.events.defaults import UNTOUCHED
from construction.events.draw import FilledTemplate
from construction.events.templates import FactTable, TemplateFile, as_object
from curation.loaders.formats.elken import question_key
from schemas.core.ids import seed
from schemas.events.questions import UNKNOWN, BackgroundQuestion, FactQuestion, Scope
from schemas.events.template import ImpactedTriplet, UntouchedRelation
from schemas.facts import Entity, Object


class AskedFacts(NamedTuple):
    """The factual questions of an event.

    Attributes:
        questions: In scope, then out of scope.
        missing: Triplets that gave no question, by reason.
    """

    questions: tuple[FactQuestion, ...]
    missing: dict[str, int]


def ask_facts(
    filled: FilledTemplate, lists: TemplateFile, table: FactTable, *, untouched: int = UNTOUCHED
) -> AskedFacts:
    """The questions about an event.

    In scope is every triplet that changes for certain and whose new object is known (a role, the end of a path) or
    unknown. Out of scope are up to ``untouched`` relations, drawn from those of which the table has one object. Of two
    questions that are worded alike the first is asked.

    Args:
        filled: The event.
        lists: How questions are worded.
        table: What holds before the event, and where paths lead.
        untouched: Out-of-scope questions at most.
    """
    missing: Counter[str] = Counter()
    questions: dict[str, FactQuestion] = {}
    for triplet in filled.template.impacted:
        if not triplet.definite:
            missing["does not change for certain"] += 1
            continue
        answer = _new_object(triplet, filled, table)
        if answer is None:
            missing["path without a fact"] += 1
        elif _holds_already(triplet, answer, filled, table):
            missing["already so before the event"] += 1
        else:
            question = _question(triplet, answer, filled, lists, scope="in")
            if question.text.casefold() in questions:
                missing["worded as another question"] += 1
                continue
            background = _background_questions(triplet, question, filled, lists, table)
            questions[question.text.casefold()] = (
                question.model_copy(update={"background_questions": background}) if background else question
            )
    for untouched_relation, answer in _drawn(filled, table, missing, untouched):
        question = _question(untouched_relation, answer, filled, lists, scope="out")
        earlier = questions.setdefault(question.text.casefold(), question)
        if earlier is not question:
            missing["asked in scope, too" if earlier.scope == "in" else "worded as another question"] += 1
    return AskedFacts(tuple(questions.values()), dict(sorted(missing.items())))


def _new_object(triplet: ImpactedTriplet, filled: FilledTemplate, table: FactTable) -> Object | None:
    if triplet.unknown:
        return Object(text=UNKNOWN)
    start = filled.roles[triplet.path.role]
    return table.follow(start, triplet.path.relations) if triplet.path.relations else as_object(start)


def _holds_already(triplet: ImpactedTriplet, answer: Object, filled: FilledTemplate, table: FactTable) -> bool:
    """Whether the event would change nothing: the relation has the new object before it."""
    before = table.objects(filled.roles[triplet.role], triplet.relation)
    return not triplet.unknown and any(answer.compared_names & one.compared_names for one in before)


def _drawn(
    filled: FilledTemplate, table: FactTable, missing: Counter[str], most: int
) -> list[tuple[UntouchedRelation, Object]]:
    """Some untouched relations with their objects."""
    known: list[tuple[UntouchedRelation, Object]] = []
    for relation in filled.template.untouched:
        objects = table.objects(filled.roles[relation.role], relation.relation)
        if len(objects) == 1:
            known.append((relation, objects[0]))
        else:
            missing[f"untouched, with {'several objects' if objects else 'no fact'}"] += 1
    rng = random.Random(seed("untouched", filled.key))
    return rng.sample(known, min(most, len(known)))


def _background_questions(
    triplet: ImpactedTriplet, question: FactQuestion, filled: FilledTemplate, lists: TemplateFile, table: FactTable
) -> tuple[BackgroundQuestion, ...]:
    """One question for each step of a path; none where a step has no wording, or asks what the question asks."""
    if not question.path:
        return ()
    place: Entity = filled.roles[triplet.path.role]
    asked: dict[str, BackgroundQuestion] = {}
    for relation in question.path:
        wording, end = lists.wording(relation), table.follow(place, [relation])
        if wording is None or not wording.background or end is None:
            return ()
        rng = random.Random(seed("background", question.key, relation, place.text))
        text = rng.choice(wording.background).replace("{subject}", place.text)
        asked.setdefault(text.casefold(), BackgroundQuestion(text=text, answer=end))
        place = end
    return () if question.text.casefold() in asked else tuple(asked.values())


def _question(
    triplet: ImpactedTriplet | UntouchedRelation,
    answer: Object,
    filled: FilledTemplate,
    lists: TemplateFile,
    *,
    scope: Scope,
) -> FactQuestion:
    subject, wording = filled.roles[triplet.role], lists.wording(triplet.relation)
    assert wording is not None  # the file of templates was checked
    rng = random.Random(seed("wording", filled.key, triplet.role, triplet.relation))
    text = rng.choice(wording.questions).replace("{subject}", subject.text)
    path: tuple[str, ...] = ()
    if isinstance(triplet, ImpactedTriplet) and not triplet.unknown:
        path = triplet.path.relations
    return FactQuestion(
        key=question_key(filled.key, "fact", text),
        event=filled.key,
        text=text,
        subject=subject,
        relation=wording.relation,
        answer=answer,
        scope=scope,
        background=bool(path),
        path=path,
    )
