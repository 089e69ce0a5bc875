"""Events made of temporal facts, with questions in and out of scope: what a router of events learns from, offline.

A fact that has changed in its time (the head of a government, a club, a currency) becomes an event in words; who asks
about its subject is in scope, who asks the same about another subject is not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from schemas.cases import EventCase
from schemas.core.config import read_toml
from schemas.core.ids import seed
from schemas.events.event import Event, EventRole
from schemas.events.questions import LETTERS, UNKNOWN, FactQuestion, Scope, TendencyQuestion
from schemas.facts import Entity, Fact, Object, Source

WORDINGS = Path(__file__).with_name("fact_events.toml")
_BESIDE = "beside"


class _Wording(NamedTuple):
    """How a relation's events and questions are worded; see ``fact_events.toml``."""

    type: str
    events: list[str]
    ask: list[str]
    back: list[str]
    likely: list[str]
    lost: bool = True


def events_from_facts(facts: Iterable[Fact], wordings: Mapping[str, Any] | None = None) -> tuple[EventCase, ...]:
    """Temporal facts whose relation has a wording, two thirds of them as events with questions.

    In scope: two questions about the subject, one about the new object, one about the old one (its answer becomes
    unknown), and tendencies. Out of scope: the same wordings about a bystander, and what the event leaves alone of the
    subject. Bystanders are a third of each relation's facts, of which no event is made: a question about one belongs to
    no event at all. Which facts they are, and which wordings are taken, is drawn from the keys.

    Args:
        facts: Any facts; those that are not temporal only answer questions about subjects of the others.
        wordings: By relation, and under ``beside`` the questions about what an event leaves alone; ours where they are
            not given.
    """
    wordings = read_toml(WORDINGS) if wordings is None else wordings
    facts = sorted(facts, key=lambda f: f.key)
    changed: dict[str, list[Fact]] = defaultdict(list)
    known: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        if fact.change == "temporal" and fact.relation.id in wordings:
            changed[fact.relation.id].append(fact)
        elif fact.change != "temporal" and fact.relation.id in wordings.get(_BESIDE, {}):
            known[fact.subject.text].append(fact)
    cases = []
    for relation, group in changed.items():
        names = sorted({f.subject.text for f in group}, key=lambda name: (seed(relation, name, "bystander"), name))
        beside_all = set(names[: max(1, len(names) // 3)])  # by subject: one who changes twice is on one side
        bystanders = [f for f in group if f.subject.text in beside_all]
        edited = [f for f in group if f.subject.text not in beside_all]
        for fact in sorted(edited, key=lambda f: f.key):
            maker = _Maker(fact, _Wording(**wordings[relation]), bystanders, edited)
            cases.append(maker.case(known[fact.subject.text], wordings.get(_BESIDE, {})))
    return tuple(cases)


class _Maker:
    """Makes the case of one fact.

    Args:
        fact: What has changed.
        wording: Of its relation.
        bystanders: Changed facts of the relation of which no event is made.
        edited: Those of which events are made.
    """

    def __init__(self, fact: Fact, wording: _Wording, bystanders: Sequence[Fact], edited: Sequence[Fact]) -> None:
        self.fact, self.wording, self.key = fact, wording, f"fact-events/{fact.key}"
        names = {fact.subject.text, fact.old.text, fact.new_object.text}
        others = [f for f in bystanders if not names & {f.subject.text, f.new_object.text}]
        self.others = sorted(others, key=lambda f: (seed(fact.key, f.key, "twin"), f.key))
        self.taken = {name for f in edited for name in (f.old.text, f.new_object.text)}
        self.questions: list[FactQuestion] = []

    def case(self, known: Sequence[Fact], beside: Mapping[str, list[str]]) -> EventCase:
        """The event with its questions.

        Args:
            known: Other facts about the subject.
            beside: Wordings by relation for them.
        """
        fact, wording = self.fact, self.wording
        texts = {"subject": subject_in_sentence(fact), "old": fact.old.text, "new": fact.new_object.text}
        text = self._drawn(wording.events, "event", 1)[0].format(**texts)
        question_wordings = self._drawn(wording.ask, "ask", 2)
        back = self._drawn(wording.back, "back", 2)
        twins = [*self.others, *self.others][:2]
        for n, words in enumerate(question_wordings):
            self._ask(words.format(subject=subject_in_sentence(fact)), fact.subject, fact.new_object, "in")
            for other in twins[n : n + 1]:
                self._ask(words.format(subject=subject_in_sentence(other)), other.subject, other.new_object, "out")
        self._ask(back[0].format(object=fact.new_object.text), fact.new_object, fact.subject, "in")
        if wording.lost:
            self._ask(back[-1].format(object=fact.old.text), fact.old, Entity(text=UNKNOWN), "in")
        for words, other in zip(back, [t for t in twins if t.new_object.text not in self.taken], strict=False):
            self._ask(words.format(object=other.new_object.text), other.new_object, other.subject, "out")
        for other in known[:2]:
            words = self._drawn(beside[other.relation.id], other.key, 1)[0]
            self._ask(words.format(subject=subject_in_sentence(other)), other.subject, other.old, "out", other)
        return EventCase(key=f"case/{self.key}", event=self._event(text), **self._both())

    def _event(self, text: str) -> Event:
        fact = self.fact
        roles = tuple(
            EventRole(role=role, entity=Entity(text=e.text, aliases=e.aliases))
            for role, e in (("subject", fact.subject), ("old", fact.old), ("new", fact.new_object))
        )
        source = Source(name=f"{fact.source.name}, worded as events", licence=fact.source.licence)
        return Event(
            key=self.key,
            text=text[0].upper() + text[1:],
            type=self.wording.type,
            origin="fact",
            roles=roles,
            source=source,
        )

    def _ask(
        self, text: str, subject: Entity, answer: Entity, scope: Literal["in", "out"], about: Fact | None = None
    ) -> None:
        """Add a factual question; one that asks what another one asks is left out."""
        if any(q.text.casefold() == text.casefold() for q in self.questions):
            return
        self.questions.append(
            FactQuestion(
                key=f"{self.key}/fact/{len(self.questions) + 1}",
                event=self.key,
                text=text,
                subject=Entity(text=subject.text, aliases=subject.aliases),
                relation=(about or self.fact).relation,
                answer=Object(text=answer.text, aliases=answer.aliases),
                scope=scope,
            )
        )

    def _both(self) -> dict[str, Any]:
        """The questions of the case."""
        likely: list[TendencyQuestion] = []
        for n, words in enumerate(self.wording.likely):
            likely.append(self._likely(words, self.fact, "in", len(likely) + 1))
            if self.others:
                likely.append(self._likely(words, self.others[n % len(self.others)], "out", len(likely) + 1))
        return {"facts": tuple(self.questions), "tendencies": tuple(likely)}

    def _likely(self, words: str, about: Fact, scope: Scope, number: int) -> TendencyQuestion:
        """A tendency question, its options in a drawn order; out of scope nothing has happened: the last is right."""
        text, *options = (part.strip() for part in words.split("|"))
        right = options[0] if scope == "in" else options[-1]
        order = sorted(options, key=lambda option: seed(self.key, str(number), option))
        return TendencyQuestion(
            key=f"{self.key}/tendency/{number}",
            event=self.key,
            text=text.format(subject=subject_in_sentence(about)),
            options=tuple(order),
            answer=LETTERS[order.index(right)],
            scope=scope,
        )

    def _drawn(self, texts: Sequence[str], what: str, count: int) -> list[str]:
        return sorted(texts, key=lambda text: seed(self.key, what, text))[:count]


def subject_in_sentence(fact: Fact) -> str:
    """The subject as it stands in a sentence: with its article, where the fact prompt has one ("the United States")."""
    return f"the {fact.subject.text}" if "the {}" in fact.prompt else fact.subject.text
