"""What can be said of a split in numbers: its parts, its sources, how it was made, who and what judged it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from curation.splits.split_file import Split
from curation.splits.visible_texts import case_records
from curation.store.store import Store
from schemas.cases import FACT, Case, EventCase
from schemas.facts import Neighbour
from schemas.ratings import SCALES, Rating
from schemas.scripts import Script, ScriptPrompt
from schemas.verdicts import Verdict

if TYPE_CHECKING:
    from curation.stats.agreement import Level
    from curation.stats.rating_table import Category


@dataclass(frozen=True)
class ItemOrigin:
    """One way in which items were made: stage, model and prompt, number of items, first and last UTC date."""

    stage: str
    model: str | None
    prompt: str | None
    items: int
    first: str
    last: str


@dataclass(frozen=True)
class HumanJudgements:
    """What people said in one task or on one aspect.

    ``acceptance`` (share of judgements that keep, with its exact interval) is given for verdicts; ``alpha``, ``ac1``
    (AC2 with quadratic weights for ordinal ratings) and ``exact`` are estimates in words, an undefined one with its
    reason.
    """

    task: str
    raters: int
    items: int
    judgements: int
    alpha: str
    ac1: str
    exact: str
    labels: Mapping[str, int]
    acceptance: str = ""
    level: str = "nominal"


@dataclass(frozen=True, kw_only=True)
class JudgedSummary:
    """Sources of a split; what the store adds is empty where none was given (``from_store`` False)."""

    sources: Mapping[tuple[str, str, str | None], int]
    languages: Mapping[str, int] = field(default_factory=dict)
    from_store: bool = False
    made: tuple[ItemOrigin, ...] = ()
    checks: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    people: tuple[HumanJudgements, ...] = ()
    judge_models: Mapping[str, int] = field(default_factory=dict)

    @property
    def licences(self) -> list[str]:
        """Licences of the edits, most frequent first."""
        counts: Counter[str] = Counter()
        for (_, licence, _), n in self.sources.items():
            counts[licence] += n
        return [licence for licence, _ in counts.most_common()]


@dataclass(frozen=True, kw_only=True)
class SplitSummary(JudgedSummary):
    """Counts of a split of facts."""

    changes: Mapping[str, int]
    relations: Mapping[str, int]
    questions: int
    prompts: int
    steps: Mapping[int | None, int]
    neighbours: Mapping[str, int]
    neighbour_prompts: int
    lonely: int
    repeated: int

    def counts(self) -> list[tuple[str, int]]:
        """What the card counts."""
        rows = [(f"cases, {change}", n) for change, n in self.changes.items()]
        rows += [("relations", len(self.relations)), ("script questions", self.questions)]
        rows += [("script prompts", self.prompts)]
        rows += [(f"neighbours, {link.replace('_', ' ')}", n) for link, n in self.neighbours.items()]
        return [*rows, ("neighbour script prompts", self.neighbour_prompts)]


@dataclass(frozen=True, kw_only=True)
class EventSummary(JudgedSummary):
    """Counts of a split of events.

    Attributes:
        types: Events by type or topic.
        origins: By where they come from.
        facts, tendencies: Questions by scope.
        unknown, background: Factual questions in scope whose answer becomes unknown, and that need world knowledge.
        letters: Tendency questions by scope and right letter.
        bare: Events with factual questions only, and with tendency questions only.
    """

    types: Mapping[str, int]
    origins: Mapping[str, int]
    facts: Mapping[str, int]
    tendencies: Mapping[str, int]
    unknown: int
    background: int
    letters: Mapping[tuple[str, str], int]
    bare: tuple[int, int]

    def counts(self) -> list[tuple[str, int]]:
        """What the card counts."""
        scopes = {"in": "in scope", "out": "out of scope"}
        rows = [(f"events, {origin}", n) for origin, n in self.origins.items()]
        rows += [("event types and topics", len(self.types))]
        rows += [(f"factual questions {scopes[scope]}", n) for scope, n in self.facts.items()]
        rows += [("of those in scope: answer becomes unknown", self.unknown)]
        rows += [("of those in scope: background knowledge needed", self.background)]
        return rows + [(f"tendency questions {scopes[scope]}", n) for scope, n in self.tendencies.items()]

    def letters_of(self, scope: str) -> dict[str, int]:
        """Right letters of the tendency questions in or out of scope."""
        return {letter: n for (of, letter), n in self.letters.items() if of == scope}


def survey(split: Split, store: Store | None = None) -> SplitSummary | EventSummary:
    """Count a split, and with its store also lineage, verdicts and ratings of the split's items.

    Memory holds what people said; checks and lineage are counted as they stream by, ids lie on the disk where they are
    many.
    """
    events = (case for case in split.all_cases if isinstance(case, EventCase))
    numbers = _numbers(split.cases) if split.type == FACT else event_numbers(events)
    languages = Counter(case.request.language for case in split.all_cases)
    numbers = replace(numbers, languages=dict(languages.most_common()))
    if store is None:
        return numbers
    items, links = _items(split, store)
    checks: dict[str, Counter[str]] = defaultdict(Counter)
    people: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in store.verdicts():
        if verdict.item_id not in items:
            continue
        if verdict.item_id in links and any(r not in items for r in verdict.related):
            continue  # about a neighbour beside a prompt that is not in the split
        if verdict.judged_by is not None:
            people[verdict.by.rsplit("/", 1)[-1]].append(verdict)
        else:
            checks[verdict.by][verdict.label or "measured"] += 1
    rated: dict[str, list[Rating]] = defaultdict(list)
    judges: Counter[str] = Counter()
    for rating in store.all(Rating):
        if rating.item_id not in items:
            continue
        if rating.rated_by.is_judge:
            judges[rating.rated_by.name] += 1
        else:
            rated[f"{rating.aspect} ({rating.form})"].append(rating)
    judgements = [_verdicts(task, rows, items) for task, rows in sorted(people.items())]
    judgements += [_ratings(task, rows, items) for task, rows in sorted(rated.items())]
    return replace(
        numbers,
        from_store=True,
        made=_item_origins(store, items),
        checks={by: dict(sorted(labels.items())) for by, labels in sorted(checks.items())},
        people=tuple(judgements),
        judge_models=dict(judges.most_common()),
    )


def _items(split: Split, store: Store) -> tuple[dict[str, str], dict[str, str]]:
    """The (first) case of every item of a split by its id, scripts included; and that of every neighbour's link."""
    items, links, scripts = dict[str, str](), dict[str, str](), dict[str, str]()
    for case in split.all_cases:
        for record in case_records(case):
            items.setdefault(record.id, case.key)
            if isinstance(record, Neighbour):
                links.setdefault(record.id, case.key)
            elif isinstance(record, ScriptPrompt) and record.script:
                scripts.setdefault(record.script, case.key)
    for script in store.all(Script) if scripts else ():
        if script.key in scripts:
            items.setdefault(script.id, scripts[script.key])
    return items, links


def _numbers(cases: Iterable[Case]) -> SplitSummary:
    changes: Counter[str] = Counter()
    relations: Counter[str] = Counter()
    steps: Counter[int | None] = Counter()
    neighbours: Counter[str] = Counter()
    sources: Counter[tuple[str, str, str | None]] = Counter()
    texts = set[str]()
    questions = prompts = near = lonely = 0
    for case in cases:
        changes[case.fact.change] += 1
        relations[case.fact.relation.label or case.fact.relation.id] += 1
        questions, prompts = questions + len(case.questions), prompts + len(case.prompts)
        steps.update(p.step for p in case.prompts)
        neighbours.update(n.link.how for n in case.neighbours)
        near += sum(len(n.prompts) for n in case.neighbours)
        lonely += not any(n.prompts for n in case.neighbours)
        for fact in (case.fact, *(n.fact for n in case.neighbours)):
            sources[fact.source.name, fact.source.licence, fact.source.url] += 1
        texts.update(p.text for p in case.prompts)
    return SplitSummary(
        changes=dict(sorted(changes.items())),
        relations=dict(relations.most_common()),
        questions=questions,
        prompts=prompts,
        steps=dict(sorted(steps.items(), key=lambda x: (x[0] is None, x[0] or 0))),
        neighbours=dict(sorted(neighbours.items())),
        neighbour_prompts=near,
        lonely=lonely,
        repeated=prompts - len(texts),
        sources=dict(sources.most_common()),
    )


def _item_origins(store: Store, items: dict[str, str]) -> tuple[ItemOrigin, ...]:
    days: dict[tuple[str, str | None, str | None], list[str]] = {}
    counts: Counter[tuple[str, str | None, str | None]] = Counter()
    for line in store.lineages():
        if line.item_id in items:
            way, day = (line.stage, line.model, line.prompt), line.made_at[:10]
            first, last = days.get(way, [day, day])
            days[way] = [min(first, day), max(last, day)]
            counts[way] += 1
    ways = sorted(days, key=lambda w: (days[w][0], w[0], w[1] or "", w[2] or ""))
    return tuple(ItemOrigin(*way, counts[way], *days[way]) for way in ways)


def _people(
    task: str,
    rows: Sequence[tuple[str, str, Category | None]],
    cases: Mapping[str, str],
    *,
    labels: Mapping[str, int],
    level: Level,
    scale: Sequence[Category] | None = None,
    acceptance: str = "",
) -> HumanJudgements:
    from curation.stats.agreement import agreement
    from curation.stats.rating_table import rating_table

    reliability = agreement(rating_table(rows, cases=cases, scale=scale), level=level)
    weighted = reliability.ac2 if level == "ordinal" else reliability.ac1
    return HumanJudgements(
        task=task,
        raters=reliability.raters,
        items=reliability.units,
        judgements=reliability.ratings,
        alpha=reliability.alpha.text(),
        ac1=weighted.text(),
        exact=reliability.exact.text(),
        labels=dict(sorted(labels.items())),
        acceptance=acceptance,
        level=level,
    )


def _verdicts(task: str, verdicts: list[Verdict], items: dict[str, str]) -> HumanJudgements:
    """Agreement on labels (names, so nominal); a judgement of an item beside another is a unit of its own."""
    from curation.stats.intervals import binomial_interval

    rows: list[tuple[str, str, str | None]] = [
        ("~".join((v.item_id, *v.related)), v.by.rsplit("/", 1)[0], None if v.label == "unscored" else v.label)
        for v in verdicts
    ]
    cases = {unit: items[v.item_id] for (unit, _, _), v in zip(rows, verdicts, strict=True)}
    labels = Counter(label for _, _, label in rows if label is not None)
    accepted, judged = labels["keep"], sum(labels.values())
    share = binomial_interval(accepted, judged).text() if judged else "undefined, because nothing was judged"
    return _people(task, rows, cases, labels=labels, level="nominal", acceptance=share)


def _ratings(task: str, ratings: list[Rating], items: dict[str, str]) -> HumanJudgements:
    last = {(r.item_id, r.rater): r for r in ratings}  # who rated a text again meant the later rating
    rows = [(item, rater, None if r.value is None else float(r.value)) for (item, rater), r in last.items()]
    low, high = SCALES[ratings[0].scale]
    labels = Counter(str(r.value) for r in last.values() if r.value is not None)
    cases = {r.item_id: items[r.item_id] for r in ratings}
    return _people(task, rows, cases, labels=labels, level="ordinal", scale=tuple(range(low, high + 1)))


def event_numbers(cases: Iterable[EventCase]) -> EventSummary:
    """Count the cases of a split of events."""
    types: Counter[str] = Counter()
    origins: Counter[str] = Counter()
    facts: Counter[str] = Counter()
    tendencies: Counter[str] = Counter()
    letters: Counter[tuple[str, str]] = Counter()
    sources: Counter[tuple[str, str, str | None]] = Counter()
    unknown = background = no_tendency = no_fact = 0
    for case in cases:
        event = case.event
        types[event.type] += 1
        origins[event.origin] += 1
        sources[event.source.name, event.source.licence, event.source.url] += 1
        facts.update(q.scope for q in case.facts)
        tendencies.update(q.scope for q in case.tendencies)
        letters.update((q.scope, q.answer) for q in case.tendencies)
        unknown += sum(q.unknown for q in case.facts)
        background += sum(q.background for q in case.facts if q.scope == "in")
        no_tendency, no_fact = no_tendency + (not case.tendencies), no_fact + (not case.facts)
    return EventSummary(
        types=dict(types.most_common()),
        origins=dict(origins.most_common()),
        facts=dict(sorted(facts.items())),
        tendencies=dict(sorted(tendencies.items())),
        unknown=unknown,
        background=background,
        letters=dict(sorted(letters.items())),
        bare=(no_tendency, no_fact),
        sources=dict(sources.most_common()),
    )
