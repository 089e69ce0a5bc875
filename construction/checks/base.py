"""What a rule check is: a name, a version, and a pure function from its inputs to one verdict."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal, TypeVar

from construction.mentions import find_object
from curation.checks.store_checks import CheckContext, ItemCheck
from curation.similarity.texts import rouge1_f
from schemas.core.records import Record
from schemas.core.registry import Registry
from schemas.facts import Entity, Fact, Neighbour, Relation
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from schemas.text.escaping import escape_line
from schemas.text.mentions import Mention, find
from schemas.verdicts import Label, Span, Verdict, verdict_key

R = TypeVar("R", bound=Record)
Stage = Literal["fact", "reply", "question", "draft", "script", "prompt", "neighbour"]
"""What a check looks at; the stages come in this order. All but ``reply`` and ``draft`` are kinds of stored items."""


@dataclass(frozen=True, kw_only=True)
class CheckInputs:
    """What a check may look at; each stage fills in more.

    Attributes:
        fact: The fact that question, script and prompt are about.
        facts: Other facts of the same subject and relation, at stage ``fact``; None where they are not known.
        question: From stage ``question`` on.
        questions: Questions of the fact that came before this one, at stage ``question``; None where they are not
            known, and then no check compares them.
        draft: Steps as the model wrote them, at stage ``draft``.
        script: From stage ``script`` on.
        prompt: From stage ``prompt`` on; None at stage ``script``, where it may turn out that there is nothing to cut.
        edit: The edited fact, at stage ``neighbour``, where ``fact`` is the neighbour fact.
        link: The link between the two, at stage ``neighbour``.
        failure: Why no usable reply came, at stage ``reply``.
    """

    fact: Fact
    facts: tuple[Fact, ...] | None = None
    question: ScriptQuestion | None = None
    questions: tuple[ScriptQuestion, ...] | None = None
    draft: tuple[str, ...] = ()
    script: Script | None = None
    prompt: ScriptPrompt | None = None
    edit: Fact | None = None
    link: Neighbour | None = None
    failure: str = ""


ItemInputs = Iterator[tuple[Record, CheckInputs]]


def _facts(items: Sequence[Record], around: CheckContext) -> ItemInputs:
    """Facts; temporal ones with the other temporal facts of their subject and relation."""
    groups: dict[tuple[str, str], list[Fact]] = defaultdict(list)
    for fact in around.facts.values():
        if fact.change == "temporal":
            groups[fact.subject.text.casefold(), fact.relation.id].append(fact)
    for item in items:
        fact = around.facts[item.key]
        group = groups.get((fact.subject.text.casefold(), fact.relation.id), [])
        yield item, CheckInputs(fact=fact, facts=tuple(f for f in group if f.key != fact.key))


def _questions(items: Sequence[Record], around: CheckContext) -> ItemInputs:
    """Questions with their facts, and those of the same fact that come before them by key."""
    for question, earlier in with_earlier(around, ScriptQuestion, items, lambda one: one.fact):
        if question.fact in around.facts:
            yield question, CheckInputs(fact=around.facts[question.fact], question=question, questions=earlier)


def _scripts(items: Sequence[Record], around: CheckContext) -> ItemInputs:
    """Scripts with their questions and facts."""
    scripts = [s for s in items if isinstance(s, Script)]
    questions = {q.key: q for q in around.store.by_keys(ScriptQuestion, {s.question for s in scripts})}
    for script in scripts:
        question = questions.get(script.question)
        if question is not None and question.fact in around.facts:
            yield script, CheckInputs(fact=around.facts[question.fact], question=question, script=script)


def _prompts(items: Sequence[Record], around: CheckContext) -> ItemInputs:
    """Prompts with their facts."""
    for prompt in items:
        if isinstance(prompt, ScriptPrompt) and prompt.fact in around.facts:
            yield prompt, CheckInputs(fact=around.facts[prompt.fact], prompt=prompt)


def _neighbours(items: Sequence[Record], around: CheckContext) -> ItemInputs:
    """Links with both facts, once for each prompt of the neighbour; a link without any stays due."""
    links = [x for x in items if isinstance(x, Neighbour) and {x.edit, x.fact} <= around.facts.keys()]
    prompts: dict[str, list[ScriptPrompt]] = defaultdict(list)
    for prompt in around.store.of_parents(ScriptPrompt, {link.fact for link in links}):
        prompts[prompt.fact].append(prompt)
    for link in links:
        edit, fact = around.facts[link.edit], around.facts[link.fact]
        for prompt in prompts[link.fact]:
            yield link, CheckInputs(fact=fact, edit=edit, link=link, prompt=prompt)


_LOOKUPS: Mapping[str, Callable[[Sequence[Record], CheckContext], ItemInputs]] = {
    "fact": _facts,
    "question": _questions,
    "script": _scripts,
    "prompt": _prompts,
    "neighbour": _neighbours,
}


class RuleCheck(ItemCheck[CheckInputs]):
    """Base of all rule checks on questions, scripts and prompts.

    Attributes:
        on: The stage it belongs to.
    """

    on: ClassVar[Stage]

    def inputs_of(self, items: Sequence[Record], around: CheckContext) -> Iterable[tuple[Record, CheckInputs]]:
        """Items whose fact and question are there, each with its inputs; a link once for each of its prompts."""
        return _LOOKUPS[self.on](items, around)

    def verdict(
        self,
        item: Record,
        label: Label | None,
        reason: str = "",
        *,
        value: float | None = None,
        unit: str | None = None,
        spans: Iterable[Span] = (),
        related: tuple[str, ...] = (),
    ) -> Verdict:
        """A verdict by this check on an item, in relation to other items where some are named."""
        verdict = super().verdict(item, label, escape_line(reason), value=value, unit=unit, spans=spans)
        if not related:
            return verdict
        key = verdict_key(item_id=item.id, by=self.by, related=related)
        return verdict.model_copy(update={"key": key, "related": related})


def judge_all(checks: Registry, on: str, inputs: Any) -> list[Verdict]:
    """The verdicts of every registered check that applies, in order of registration.

    Args:
        checks: The registry.
        on: Kind of the items, or stage, that the checks are about.
        inputs: What they look at.
    """
    return [
        check.judge_one(inputs)
        for check in _checks(tuple(map(checks.get, checks.names())), on)
        if check.applies(inputs)
    ]


@lru_cache(maxsize=64)
def _checks(classes: tuple[type[ItemCheck[Any]], ...], on: str) -> list[ItemCheck[Any]]:
    """The checks of a stage; a check keeps nothing between items."""
    return [cls() for cls in classes if cls.on == on]


def with_earlier(
    around: CheckContext, kind: type[R], items: Iterable[Record], parent: Callable[[R], str]
) -> Iterator[tuple[R, tuple[R, ...]]]:
    """Items of a kind, each with those of its parent whose keys come before its own, in order of their keys.

    Args:
        around: The store.
        kind: Type of the items.
        items: Some of them.
        parent: Gives the key of an item's parent.
    """
    some = [item for item in items if isinstance(item, kind)]
    siblings: dict[str, list[R]] = defaultdict(list)
    for sibling in around.store.of_parents(kind, {parent(item) for item in some}):
        siblings[parent(sibling)].append(sibling)
    for item in some:
        earlier = (sibling for sibling in siblings[parent(item)] if sibling.key < item.key)
        yield item, tuple(sorted(earlier, key=lambda sibling: sibling.key))


def likeness(
    check: ItemCheck[Any],
    item: R,
    others: Sequence[R],
    text: Callable[[R], str],
    *,
    alone: str,
    among: str,
    most: float = 1.0,
) -> Verdict:
    """The greatest ROUGE-1 F of an item with others, and which one that is.

    Args:
        check: Who says so.
        item: What is judged.
        others: What it is compared with.
        text: Gives the text of an item.
        alone: The reason where there is nothing to compare with.
        among: What the others are called.
        most: Above it the item is dropped.
    """
    if not others:
        return check.verdict(item, "keep", alone, value=0.0, unit="rouge1_f")
    value, nearest = max(((rouge1_f(text(item), text(other)), other) for other in others), key=lambda pair: pair[0])
    label: Label = "drop" if value > most else "keep"
    reason = f"most like '{nearest.key}' of {len(others)} {among}"
    verdict = check.verdict(item, label, reason, value=round(value, 6), unit="rouge1_f")
    return verdict.model_copy(update={"related": (nearest.id,)})  # not in its key: one verdict an item


class LeakCheck(RuleCheck):
    """Base of the checks for texts that should not name somebody.

    Attributes:
        text_name: What the text is called in reasons.
        whose: Whose name cannot be avoided, for reasons.
    """

    text_name: ClassVar[str]
    whose: ClassVar[str] = "the subject's"

    def leak_verdict(
        self,
        item: Record,
        text: str,
        unwanted: Mapping[str, Entity | None],
        subject: Entity,
        *,
        relation: Relation | None = None,
        related: tuple[str, ...] = (),
    ) -> Verdict:
        """``drop`` where somebody is named, ``unsure`` where that may be, else ``keep``.

        Args:
            item: What is judged.
            text: Where to look.
            unwanted: Who must not be named, by what they are called ("old object"); what is only part of the longer
                name of another is that one's mention.
            subject: Whose name cannot be avoided: what is only part of it is for people to decide.
            relation: The relation of the fact; it may say that the objects are persons.
            related: Items in relation to which the verdict holds.
        """
        named: list[Span] = []
        doubtful: list[tuple[Span, str]] = []
        for what, entity in unwanted.items():
            beside = [other for other in unwanted.values() if other is not entity]
            mentions = find_object(text, entity, beside=beside, relation=relation) if entity is not None else ()
            hosts = find(text, subject) if mentions else ()
            for one in mentions:
                place = span(one.mention, what)
                host = next((h for h in hosts if h.start <= place.start and place.end <= h.end), None)
                if host is not None and host.text == place.text and not one.fits:
                    continue  # the name is derived from the subject's
                if host is not None:
                    doubtful.append((place, f"the {what} ('{place.text}') is part of {self.whose} name"))
                elif one.doubt:
                    doubtful.append((place, f"the {what}? {one.doubt}"))
                else:
                    named.append(place)
        if named:
            reason = f"the {self.text_name} names the {named[0].what} ('{named[0].text}')"
            return self.verdict(item, "drop", reason, spans=named, related=related)
        if doubtful:
            spans = [place for place, _ in doubtful]
            return self.verdict(item, "unsure", doubtful[0][1], spans=spans, related=related)
        return self.verdict(item, "keep", related=related)


def span(mention: Mention, what: str) -> Span:
    """A mention as a verdict's span."""
    return Span(start=mention.start, end=mention.end, text=mention.text, what=what)
