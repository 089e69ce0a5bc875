"""Events and documents made of facts, with questions and probes: what methods for them learn from, offline.

A fact that has changed in its time (the head of a government, a club, a currency) becomes an event in words; who asks
about its subject is in scope, who asks the same about another subject is not. Two facts with new objects become a
document; where both are about one subject, a question can take two steps (the official language of "the country with
Nairobi as its capital").
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from schemas.cases import DocumentCase, EventCase
from schemas.core.config import read_toml
from schemas.core.ids import canonical_json, digest, seed
from schemas.documents.document import BLANK, Document, DocumentProbe, Level, contains_words
from schemas.documents.tags import Tag
from schemas.events.event import Event, EventRole
from schemas.events.questions import LETTERS, UNKNOWN, FactQuestion, Scope, TendencyQuestion
from schemas.facts import Entity, Fact, Object, Source

EVENT_WORDINGS = Path(__file__).with_name("fact_events.toml")
WORDINGS = Path(__file__).with_name("fact_documents.toml")
_BESIDE = "beside"


class _Wording(NamedTuple):
    """How a relation's events and questions are worded; see ``fact_events.toml``."""

    type: str
    events: list[str]
    ask: list[str]
    back: list[str]
    likely: list[str]
    lost: bool = True


def events_from_facts(facts: Iterable[Fact]) -> tuple[EventCase, ...]:
    """Temporal facts whose relation has a wording, two thirds of them as events with questions.

    In scope: two questions about the subject, one about the new object, one about the old one (its answer becomes
    unknown), and tendencies. Out of scope: the same wordings about a bystander, and what the event leaves alone of the
    subject. Bystanders are a third of each relation's facts, of which no event is made: a question about one belongs to
    no event at all. Which facts they are, and which wordings are taken, is drawn from the keys.

    Args:
        facts: Any facts; those that are not temporal only answer questions about subjects of the others.
    """
    wordings = read_toml(EVENT_WORDINGS)
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
        texts = {"subject": with_article(fact), "old": fact.old.text, "new": fact.new_object.text}
        text = self._drawn(wording.events, "event", 1)[0].format(**texts)
        question_wordings = self._drawn(wording.ask, "ask", 2)
        back = self._drawn(wording.back, "back", 2)
        twins = [*self.others, *self.others][:2]
        for n, words in enumerate(question_wordings):
            self._ask(words.format(subject=with_article(fact)), fact.subject, fact.new_object, "in")
            for other in twins[n : n + 1]:
                self._ask(words.format(subject=with_article(other)), other.subject, other.new_object, "out")
        self._ask(back[0].format(object=fact.new_object.text), fact.new_object, fact.subject, "in")
        if wording.lost:
            self._ask(back[-1].format(object=fact.old.text), fact.old, Entity(text=UNKNOWN), "in")
        for words, other in zip(back, [t for t in twins if t.new_object.text not in self.taken], strict=False):
            self._ask(words.format(object=other.new_object.text), other.new_object, other.subject, "out")
        for other in known[:2]:
            words = self._drawn(beside[other.relation.id], other.key, 1)[0]
            self._ask(words.format(subject=with_article(other)), other.subject, other.old, "out", other)
        likely: list[TendencyQuestion] = []
        for n, words in enumerate(wording.likely):
            likely.append(self._likely(words, fact, "in", len(likely) + 1))
            if self.others:
                likely.append(self._likely(words, self.others[n % len(self.others)], "out", len(likely) + 1))
        roles = tuple(
            EventRole(role=role, entity=Entity(text=e.text, aliases=e.aliases))
            for role, e in (("subject", fact.subject), ("old", fact.old), ("new", fact.new_object))
        )
        source = Source(name=f"{fact.source.name}, worded as events", licence=fact.source.licence)
        text = text[0].upper() + text[1:]
        event = Event(key=self.key, text=text, type=wording.type, origin="fact", roles=roles, source=source)
        return EventCase(key=f"case/{self.key}", event=event, facts=tuple(self.questions), tendencies=tuple(likely))

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

    def _likely(self, words: str, about: Fact, scope: Scope, number: int) -> TendencyQuestion:
        """A tendency question, its options in a drawn order; out of scope nothing has happened: the last is right."""
        text, *options = (part.strip() for part in words.split("|"))
        right = options[0] if scope == "in" else options[-1]
        order = sorted(options, key=lambda option: seed(self.key, str(number), option))
        return TendencyQuestion(
            key=f"{self.key}/tendency/{number}",
            event=self.key,
            text=text.format(subject=with_article(about)),
            options=tuple(order),
            answer=LETTERS[order.index(right)],
            scope=scope,
        )

    def _drawn(self, texts: Sequence[str], what: str, count: int) -> list[str]:
        return sorted(texts, key=lambda text: seed(self.key, what, text))[:count]


class RelationQuestions(NamedTuple):
    """How a relation is asked for; see ``fact_documents.toml``."""

    ask: str
    back: str
    which: str

    def forward(self, fact: Fact, subject: str | None = None) -> str:
        """The question about a fact's subject, or about another name of it."""
        return self.ask.format(subject=subject or with_article(fact))

    def backward(self, fact: Fact) -> str:
        """The question about a fact's new object."""
        return self.back.format(object=_object(fact)).replace("the the ", "the ")

    def called(self, fact: Fact) -> str:
        """A fact's subject, called by its new object."""
        return self.which.format(object=_object(fact)).replace("the the ", "the ")


def _relation_questions() -> dict[str, RelationQuestions]:
    return {relation: RelationQuestions(**table) for relation, table in read_toml(WORDINGS).items()}


def with_article(fact: Fact) -> str:
    """The subject as it stands in a sentence: with its article, where the fact prompt has one ("the United States")."""
    return f"the {fact.subject.text}" if "the {}" in fact.prompt.casefold() else fact.subject.text


def _object(fact: Fact) -> str:
    """The new object, with the article that ends the fact prompt."""
    return f"the {fact.new_object.text}" if fact.prompt.endswith(" the") else fact.new_object.text


def documents_from_facts(facts: Iterable[Fact]) -> tuple[DocumentCase, ...]:
    """Documents of two facts each, with probes of three levels; every fact stands in one document at most.

    Facts about one subject come together, the rest two by two, and an odd one is left out; two facts of one relation
    are never one document, nor are facts whose new object is named by the other. Which facts meet is drawn from their
    keys.

    Args:
        facts: Those with a new object whose relation has a wording are used.
    """
    questions = _relation_questions()
    usable = {f.key: f for f in facts if f.new is not None and f.relation.id in questions}
    order = sorted(usable.values(), key=lambda f: (seed("fact-documents", f.key), f.key))
    by_subject: dict[str, list[Fact]] = defaultdict(list)
    for fact in order:
        by_subject[fact.subject.text.casefold()].append(fact)
    pairs, rest = list[tuple[Fact, Fact]](), list[Fact]()
    for group in by_subject.values():
        group_pairs, left = _paired(group)
        pairs += group_pairs
        rest += left
    pairs += _paired(sorted(rest, key=lambda f: (seed("fact-documents", f.key), f.key)))[0]
    return tuple(_case(pair, questions) for pair in sorted(pairs, key=lambda pair: pair[0].key))


def _paired(facts: list[Fact]) -> tuple[list[tuple[Fact, Fact]], list[Fact]]:
    """Each fact with the first later one that it may stand beside, and those without one."""
    pairs, left, waiting = list[tuple[Fact, Fact]](), list[Fact](), list(facts)
    while waiting:
        first, *waiting = waiting
        other = next((f for f in waiting if _compatible(first, f)), None)
        if other is None:
            left.append(first)
        else:
            waiting.remove(other)
            pairs.append((first, other))
    return pairs, left


def _compatible(one: Fact, other: Fact) -> bool:
    if one.relation.id == other.relation.id:
        return False
    texts = (one.fact_prompt, other.fact_prompt)
    objects = (one.new_object.text, other.new_object.text)
    crossed = contains_words(texts[0], objects[1]) or contains_words(texts[1], objects[0])
    return not crossed and objects[0].casefold() != objects[1].casefold()


def _case(pair: tuple[Fact, Fact], questions: Mapping[str, RelationQuestions]) -> DocumentCase:
    key = f"fact-documents/{digest([fact.key for fact in pair])[:10]}"
    one, other = pair
    source = Source(name=f"{one.source.name}, as documents", licence=one.source.licence)
    text = " ".join(f"{fact.fact_prompt} {fact.new_object.text}." for fact in pair)
    names = dict.fromkeys((*one.subject.names, *other.subject.names))
    further = tuple(name for name in names if name != one.subject.text)
    document = Document(key=key, text=text, entity=one.subject.text, further_names=further, source=source)
    probe_parts = list[tuple[Level, str, Fact, str, tuple[Tag, ...]]]()
    for fact in pair:
        probe_parts.append((1, f"{fact.fact_prompt} {BLANK}.", fact, "object", ()))
        probe_parts.append((2, questions[fact.relation.id].forward(fact), fact, "object", ()))
        probe_parts += [(2, f"{text} {BLANK}.", fact, "object", ()) for text in fact.paraphrases[-1:]]
        probe_parts.append((3, questions[fact.relation.id].backward(fact), fact, "subject", ("reverse",)))
    if one.subject.text.casefold() == other.subject.text.casefold():
        for fact, known in ((one, other), (other, one)):
            question = questions[fact.relation.id].forward(fact, questions[known.relation.id].called(known))
            probe_parts.append((3, question, fact, "object", ("multi_hop",)))
    probes = list[DocumentProbe]()
    for level, query, fact, side, tags in probe_parts:
        answer = fact.new_object if side == "object" else fact.subject
        if contains_words(query, answer.text):
            continue
        probes.append(
            DocumentProbe(
                key=f"{key}/{len(probes) + 1}",
                document=key,
                query=query,
                answer=answer.text,
                accepted=tuple(alias for alias in answer.aliases if not contains_words(query, alias)),
                level=level,
                tags=tags,
            )
        )
    return DocumentCase(key=f"case/{key}", document=document, probes=tuple(probes))


class PoolQuestion(NamedTuple):
    """A question that a model may answer.

    Attributes:
        item: Its name in the pool.
        query: A question, or a cloze with ``___``.
        answers: All accepted spellings, the first one first.
    """

    item: str
    query: str
    answers: tuple[str, ...]


def pool_from_facts(facts: Iterable[Fact]) -> tuple[PoolQuestion, ...]:
    """Each fact with its old object as a cloze, and as a question where its relation has a wording.

    Where facts about one subject and relation have several old objects (a change in time), only the first is taken, so
    that no query stands twice; a query that holds its answer is left out.

    Args:
        facts: Any facts.
    """
    questions = _relation_questions()
    by_query: dict[str, PoolQuestion] = {}
    for fact in facts:
        queries = {"cloze": f"{fact.fact_prompt} {BLANK}."}
        if fact.relation.id in questions:
            queries["question"] = questions[fact.relation.id].forward(fact)
        for kind, query in queries.items():
            if not any(contains_words(query, answer) for answer in fact.old.names):
                by_query.setdefault(query, PoolQuestion(f"{fact.key}/{kind}", query, tuple(fact.old.names)))
    return tuple(by_query.values())


def pool_digest(pool: Iterable[PoolQuestion]) -> str:
    """What tells a pool from others, whatever the order of its questions."""
    return digest(sorted(canonical_json(list(question)) for question in pool))
