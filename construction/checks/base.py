"""What a rule check is: a name, a version, and a pure function from its inputs to one verdict."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from construction.mentions import find_object
from curation.checks.store_checks import CheckContext, ItemCheck
from schemas.core.records import Record
from schemas.facts import Entity, Fact, Neighbour, Relation
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from schemas.text.escaping import escape_line
from schemas.text.mentions import Mention, find
from schemas.verdicts import Label, Span, Verdict, verdict_key

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


if TYPE_CHECKING:
    from curation.checks.store_checks import CheckContext

ItemInputs = Iterator[tuple[Record, CheckInputs]]


def store_inputs(kind: str, items: Sequence[Record], around: CheckContext) -> ItemInputs:
    """Items with what a check looks at; an item whose fact or question is not in the store is left out.

    Args:
        kind: Kind of all items: ``fact``, ``question``, ``script``, ``prompt`` or ``neighbour``.
        items: Current items of the store.
        around: The store, and its facts by key.

    Returns:
        One pair an item; a neighbour link comes once for each prompt of the neighbour.
    """
    return _LOOKUPS[kind](items, around)


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
    questions = [q for q in items if isinstance(q, ScriptQuestion) and q.fact in around.facts]
    siblings: dict[str, list[ScriptQuestion]] = defaultdict(list)
    for sibling in around.store.of_parents(ScriptQuestion, {q.fact for q in questions}):
        siblings[sibling.fact].append(sibling)
    for question in questions:
        earlier = tuple(q for q in siblings[question.fact] if q.key < question.key)
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
        """Items whose fact and question are there, each with its inputs by its kind."""
        return store_inputs(self.on, items, around)

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


class LeakCheck(RuleCheck):
    """Base of the checks for texts that should name neither object of an edit.

    Attributes:
        text_name: What the text is called in reasons.
        order: Which object is looked for first; its place is told where both are named.
    """

    text_name: ClassVar[str]
    order: ClassVar[tuple[str, str]]

    def leak_verdict(self, item: Record, text: str, fact: Fact) -> Verdict:
        """``drop`` where an object is named, ``unsure`` where it may be, else ``keep``."""
        objects = {"old object": fact.old, "new object": fact.new}
        all_leaks = Leaks()
        for what, other in (self.order, self.order[::-1]):
            all_leaks += leaks(
                text,
                what,
                objects[what],
                other=objects[other],
                subject=fact.subject,
                relation=fact.relation,
            )
        if all_leaks.named:
            first = all_leaks.named[0]
            reason = f"the {self.text_name} names the {first.what} ('{first.text}')"
            return self.verdict(item, "drop", reason, spans=all_leaks.named)
        if all_leaks.doubtful:
            return self.verdict(
                item, "unsure", all_leaks.doubtful[0][1], spans=[place for place, _ in all_leaks.doubtful]
            )
        return self.verdict(item, "keep")


def span(mention: Mention, what: str) -> Span:
    """A mention as a verdict's span."""
    return Span(start=mention.start, end=mention.end, text=mention.text, what=what)


class Leaks(NamedTuple):
    """Where objects are named in a text that should name none.

    Attributes:
        named: Places that name one.
        doubtful: Places that may, each with why it is for people to decide.
    """

    named: tuple[Span, ...] = ()
    doubtful: tuple[tuple[Span, str], ...] = ()

    def __add__(self, more: object) -> Leaks:
        """Both together, in order."""
        if not isinstance(more, Leaks):
            return NotImplemented
        return Leaks(self.named + more.named, self.doubtful + more.doubtful)


def leaks(
    text: str,
    what: str,
    entity: Entity | None,
    *,
    subject: Entity,
    other: Entity | None = None,
    relation: Relation | None = None,
    whose: str = "the subject's",
) -> Leaks:
    """Mentions of an object in a text that should not name it.

    Args:
        text: Where to look.
        what: What the object is called in spans and reasons ("old object").
        entity: The object that must not be named; None where there is none.
        subject: Whose name cannot be avoided: an object that is only part of it is for people to decide.
        other: The other object of the edit; what is only part of its longer name is its mention, not the entity's.
        relation: The relation of the object's fact; it may say that the object is a person.
        whose: Whose name the subject's is, for reasons.
    """
    if entity is None:
        return Leaks()
    mentions = find_object(text, entity, beside=(other,), relation=relation)
    hosts = find(text, subject) if mentions else ()
    named, doubtful = [], []
    for one in mentions:
        place = span(one.mention, what)
        host = next((h for h in hosts if h.start <= place.start and place.end <= h.end), None)
        if host is not None and host.text == place.text and not one.fits:
            continue  # the object's name is derived from the subject's
        if host is not None:
            doubtful.append((place, f"the {what} ('{place.text}') is part of {whose} name"))
        elif one.doubt:
            doubtful.append((place, f"the {what}? {one.doubt}"))
        else:
            named.append(place)
    return Leaks(tuple(named), tuple(doubtful))
