"""What can be said of a split in numbers: its parts, its sources, how it was made, who and what judged it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from curation.splits.split_file import Split
from curation.splits.visible_texts import case_records
from curation.stats.agreement import Agreement, agreement
from curation.stats.intervals import binomial_interval
from curation.stats.rating_table import rating_table
from curation.store.store import Store
from schemas.cases import FACT, AnyCase, Case, EventCase
from schemas.events.event import Event
from schemas.facts import Fact, Neighbour
from schemas.ratings import SCALES, Rating
from schemas.scripts import Script, ScriptPrompt
from schemas.verdicts import Verdict


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

    Attributes:
        task: The task, or the aspect and its form.
        agreement: Between the people.
        labels: Judgements by label or value.
        acceptance: Of verdicts: the share that keeps, with its exact interval.
    """

    task: str
    agreement: Agreement
    labels: Mapping[str, int]
    acceptance: str = ""


@dataclass(frozen=True, kw_only=True)
class SplitSummary:
    """Counts of a split; what its store adds is empty where none was given (``from_store`` False).

    Attributes:
        counts: What the card counts, in its order.
        groups: Edits by relation (of facts), or by type or topic (of events), the most frequent first.
        steps: Script prompts by the step that was cut.
        lonely, repeated: Cases without a neighbour's script prompt; script prompts whose text another one has.
        letters: Tendency questions by scope and right letter.
        bare: Events with factual questions only, and with tendency questions only.
        sources: Edits (and neighbours) by name, licence and address of the source.
        languages: Edits by language.
        made: How the items came to be.
        checks: Verdicts of each check by label.
        people: What people said.
        judge_models: Ratings of each judge model.
    """

    counts: Mapping[str, int]
    groups: Mapping[str, int]
    sources: Mapping[tuple[str, str, str | None], int]
    languages: Mapping[str, int]
    steps: Mapping[int | None, int] = field(default_factory=dict)
    lonely: int = 0
    repeated: int = 0
    letters: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    bare: tuple[int, int] = (0, 0)
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


def survey(split: Split, store: Store | None = None) -> SplitSummary:
    """Count a split, and with its store also lineage, verdicts and ratings of the split's items.

    Memory holds what people said; checks and lineage are counted as they stream by, ids lie on the disk where they are
    many.
    """
    numbers = _fact_numbers(split.cases) if split.type == FACT else _event_numbers(split.all_cases)
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
        if verdict.judged_by is not None and verdict.label is None:
            continue  # a criterion of the quality sample, which the split's header reports
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


def _fact_numbers(cases: Sequence[Case]) -> SplitSummary:
    changes: Counter[str] = Counter()
    neighbours: Counter[str] = Counter()
    relations: Counter[str] = Counter()
    labels: dict[str, str] = {}
    steps: Counter[int | None] = Counter()
    texts: Counter[str] = Counter()
    languages: Counter[str] = Counter()
    sources: Counter[tuple[str, str, str | None]] = Counter()
    questions = near = lonely = 0
    for case in cases:
        beside = sum(len(n.prompts) for n in case.neighbours)
        questions, near, lonely = questions + len(case.questions), near + beside, lonely + (not beside)
        changes[f"cases, {case.fact.change}"] += 1
        neighbours.update(f"neighbours, {n.link.how.replace('_', ' ')}" for n in case.neighbours)
        relations[case.fact.relation.id] += 1
        labels.setdefault(case.fact.relation.id, case.fact.relation.label or case.fact.relation.id)
        languages[case.fact.language] += 1
        steps.update(p.step for p in case.prompts)
        texts.update(p.text for p in case.prompts)
        sources.update(_source(fact) for fact in (case.fact, *(n.fact for n in case.neighbours)))
    counts, shared = dict(sorted(changes.items())), Counter(labels.values())  # a label of two relations needs the ids
    counts |= {"relations": len(relations), "script questions": questions, "script prompts": texts.total()}
    return SplitSummary(
        counts={**counts, **dict(sorted(neighbours.items())), "neighbour script prompts": near},
        groups={
            labels[id_] if shared[labels[id_]] == 1 else f"{labels[id_]} ({id_})": n
            for id_, n in relations.most_common()
        },
        sources=dict(sources.most_common()),
        languages=dict(languages.most_common()),
        steps=dict(sorted(steps.items(), key=lambda x: (x[0] is None, x[0] or 0))),
        lonely=lonely,
        repeated=texts.total() - len(texts),
    )


def _event_numbers(cases: Iterable[AnyCase]) -> SplitSummary:
    events = [case for case in cases if isinstance(case, EventCase)]
    facts = [question for case in events for question in case.facts]
    tendencies = [question for case in events for question in case.tendencies]
    types = Counter(case.event.type for case in events)
    letters: dict[str, Counter[str]] = {"in": Counter(), "out": Counter()}
    for question in tendencies:
        letters[question.scope][question.answer] += 1
    counts = dict(sorted(Counter(f"events, {case.event.origin}" for case in events).items()))
    counts["event types and topics"] = len(types)
    counts |= sorted(Counter(f"factual questions {_SCOPES[q.scope]}" for q in facts).items())
    counts["of those in scope: answer becomes unknown"] = sum(q.unknown for q in facts)
    counts["of those in scope: background knowledge needed"] = sum(q.background for q in facts if q.scope == "in")
    counts |= sorted(Counter(f"tendency questions {_SCOPES[q.scope]}" for q in tendencies).items())
    return SplitSummary(
        counts=counts,
        groups=dict(types.most_common()),
        sources=dict(Counter(_source(case.event) for case in events).most_common()),
        languages=dict(Counter(case.event.language for case in events).most_common()),
        letters={scope: dict(sorted(of.items())) for scope, of in letters.items()},
        bare=(sum(not case.tendencies for case in events), sum(not case.facts for case in events)),
    )


_SCOPES = {"in": "in scope", "out": "out of scope"}


def _source(edit: Fact | Event) -> tuple[str, str, str | None]:
    return edit.source.name, edit.source.licence, edit.source.url


def _item_origins(store: Store, items: dict[str, str]) -> tuple[ItemOrigin, ...]:
    days: dict[tuple[str, str | None, str | None], list[str]] = {}
    counts: Counter[tuple[str, str | None, str | None]] = Counter()
    for line in store.lineages():
        if line.item_id in items:
            way, day = (line.stage, line.author, line.prompt), line.made_at[:10]
            first, last = days.get(way, [day, day])
            days[way] = [min(first, day), max(last, day)]
            counts[way] += 1
    ways = sorted(days, key=lambda w: (days[w][0], w[0], w[1] or "", w[2] or ""))
    return tuple(ItemOrigin(*way, counts[way], *days[way]) for way in ways)


def _verdicts(task: str, verdicts: list[Verdict], items: dict[str, str]) -> HumanJudgements:
    """Agreement on labels (names, so nominal); a judgement of an item beside another is a unit of its own."""
    rows: list[tuple[str, str, str | None]] = [
        ("~".join((v.item_id, *v.related)), v.by.rsplit("/", 1)[0], None if v.label == "unscored" else v.label)
        for v in verdicts
    ]
    cases = {unit: items[v.item_id] for (unit, _, _), v in zip(rows, verdicts, strict=True)}
    labels = Counter(label for _, _, label in rows if label is not None)
    accepted, judged = labels["keep"], sum(labels.values())
    share = binomial_interval(accepted, judged).text() if judged else "undefined, because nothing was judged"
    reliability = agreement(rating_table(rows, cases=cases), level="nominal")
    return HumanJudgements(task, reliability, dict(sorted(labels.items())), share)


def _ratings(task: str, ratings: list[Rating], items: dict[str, str]) -> HumanJudgements:
    last = {(r.item_id, r.rater): r for r in ratings}  # who rated a text again meant the later rating
    rows = [(item, rater, None if r.value is None else float(r.value)) for (item, rater), r in last.items()]
    low, high = SCALES[ratings[0].scale]
    labels = Counter(str(r.value) for r in last.values() if r.value is not None)
    cases = {r.item_id: items[r.item_id] for r in ratings}
    reliability = agreement(rating_table(rows, cases=cases, scale=range(low, high + 1)), level="ordinal")
    return HumanJudgements(task, reliability, dict(sorted(labels.items())))
