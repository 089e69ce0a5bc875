"""The simple twin of ``curation.rules.selection``: lists of everything, looked through again for every fact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Set
from itertools import combinations

from curation.rules.rule import Decision, Outcome, SplitRule
from curation.rules.selection import Selection
from curation.splits.versions import Errata, Erratum
from curation.store.store import Store
from schemas.cases import Case, CaseNeighbour
from schemas.core.records import Record
from schemas.facts import Fact, Neighbour
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from tests.support.curation.slow.verdicts import SlowVerdicts, about, looked_at, outside


class SlowRuling:
    """A rule over all verdicts of a store."""

    def __init__(self, store: Store, rule: SplitRule, errata: Errata | None = None) -> None:
        self.rule, self.errata = rule, errata or Errata()
        all_ = list(store.verdicts())
        self.settled: dict[str, Decision] = {}
        self.verdicts = SlowVerdicts(all_, rule, self.settled)
        self.edges: list[dict[str, tuple[str, ...]]] = [{} for _ in rule.thresholds]
        for v in all_:
            for t, edge in zip(rule.thresholds, self.edges, strict=True):
                if not t.clusters or v.value is None or not about(t, v) or not looked_at(rule, v):
                    continue
                if outside(t, v.value):
                    edge[v.item_id] = (*edge.get(v.item_id, ()), *v.related)
        if any(t.clusters for t in rule.thresholds):
            resolve_clusters(store, self)

    def of(self, record: Record, *related: str) -> Decision:
        if not related and (erratum := self.errata.of(record.key, record.id)):
            return _by_erratum(erratum)
        return self.verdicts.judge(record.kind, record.id, *related)

    def of_fact(self, fact: Fact) -> Decision:
        if erratum := self.errata.of(f"case/{fact.key}", fact.id):
            return _by_erratum(erratum)
        return self.of(fact)

    def in_scope(self, fact: Fact) -> bool:
        return fact.change in self.rule.changes and fact.key.startswith(self.rule.prefix)


def slow_choose(store: Store, rule: SplitRule, *, errata: Errata | None = None) -> Selection:
    """What a rule selects, as the documentation has it: for every fact, a look at everything in the store."""
    ruling = SlowRuling(store, rule, errata)
    facts, links, prompts = list(store.all(Fact)), list(store.all(Neighbour)), list(store.all(ScriptPrompt))
    questions = {q.key: q for q in store.all(ScriptQuestion)}
    scripts = {s.key: s for s in store.all(Script)}
    tally: Counter[str] = Counter()

    def against(what: str, *decisions: Decision, silent: bool = False) -> bool:
        """Whether one of the decisions leaves it out; the first drop is the reason, without one the first hold."""
        for outcome, verb in (("drop", "dropped"), ("hold", "held")):
            for decision in decisions:
                if decision.outcome == outcome:
                    if not silent:
                        tally[f"{what}: {verb} by {decision.by}"] += 1
                    return True
        return False

    def chain(prompt: ScriptPrompt) -> list[Decision]:
        """What is said of a prompt, its question and its script, where they are there."""
        parents = (questions.get(prompt.question or ""), scripts.get(prompt.script or ""))
        return [ruling.of(prompt), *(ruling.of(one) for one in parents if one is not None)]

    passing = [p for p in prompts if not against("", *chain(p), silent=True)]

    def prompts_of(key: str) -> list[ScriptPrompt]:
        return [p for p in passing if p.fact == key]

    def questions_of(some: list[ScriptPrompt]) -> tuple[ScriptQuestion, ...]:
        return tuple({p.question: questions[p.question] for p in some if p.question in questions}.values())

    def beside(link: Neighbour) -> CaseNeighbour | None:
        (fact,) = [f for f in facts if f.key == link.fact] or [None]
        if fact is None or against("neighbour", ruling.of(link)):
            return None
        errata_of_fact = [ruling.errata.of(key, fact.id) for key in (fact.key, f"case/{fact.key}")]
        known_values = [_by_erratum(erratum) for erratum in errata_of_fact if erratum is not None][:1]
        people = ruling.verdicts.by_people(fact.id)
        if against("neighbour's fact", *(known_values or ([people] if people is not None else []))):
            return None
        passing_prompts = [
            p for p in prompts_of(link.fact)
            if not against("neighbour prompt", ruling.of(link, p.id), ruling.of(p, link.id))
        ]  # fmt: skip
        return CaseNeighbour(
            link=link, fact=fact, questions=questions_of(passing_prompts), prompts=tuple(passing_prompts)
        )

    for prompt in prompts:
        if prompt.fact.startswith(rule.prefix):
            against("prompt", *chain(prompt))
    question_keys = {prompt.question for prompt in prompts}
    for question in questions.values():
        if question.key not in question_keys and question.fact.startswith(rule.prefix):
            against("question", ruling.of(question))
    cases = []
    for fact in facts:
        if not ruling.in_scope(fact):
            continue
        tally["facts"] += 1
        if against("fact", ruling.of_fact(fact)):
            continue
        fact_prompts = prompts_of(fact.key)
        near = [one for link in links if link.edit == fact.key and (one := beside(link)) is not None]
        if len(fact_prompts) < rule.min_prompts:
            tally["fact: too few prompts"] += 1
        elif len([one for one in near if one.prompts]) < rule.min_neighbours:
            tally["fact: too few neighbours"] += 1
        else:
            case = Case(
                key=f"case/{fact.key}", fact=fact, questions=questions_of(fact_prompts), prompts=tuple(fact_prompts),
                neighbours=tuple(near),
            )  # fmt: skip
            if not against("case", ruling.verdicts.judge("case", case.id)):
                cases.append(case)
    tally["cases"] = len(cases)
    return Selection(cases, dict(sorted(tally.items())))


def resolve_clusters(store: Store, ruling: SlowRuling) -> None:
    """Settle every threshold with ``clusters`` in the order of the rule; what one takes out is out for the next."""
    verdicts = ruling.verdicts
    members = {i for edges in ruling.edges for item, others in edges.items() for i in (item, *others)}
    if not members:
        return
    standing = _standing(store, ruling, members)
    records = {i for i in members if verdicts.saved(i)}
    for threshold, edges in zip(ruling.rule.thresholds, ruling.edges, strict=True):
        for group in _groups(edges):
            groups = [i for i in group if i in standing]
            if not groups:
                continue
            stays = min(groups, key=lambda i: (i not in records, i in edges, standing[i], i))
            for item in groups:
                if item != stays and item not in records:
                    reason = f"in a cluster with '{standing[stays]}', which stays"
                    ruling.settled[item] = Decision(threshold.then, threshold.check, reason)
        for item in ruling.settled:
            standing.pop(item, None)


def _by_erratum(erratum: Erratum) -> Decision:
    """What applies drops or holds; a note applies to nothing and never comes here."""
    outcomes: dict[str, Outcome] = {"drop": "drop", "hold": "hold"}
    return Decision(outcomes[erratum.action], "erratum", erratum.what)


def _groups(edges: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Connected items: two groups that share an item are one, until no two do."""
    groups = [{item, *others} for item, others in edges.items() if others]
    while pair := next(((a, b) for a, b in combinations(groups, 2) if a & b), None):
        groups = [g for g in groups if g is not pair[0] and g is not pair[1]] + [pair[0] | pair[1]]
    return sorted(sorted(group) for group in groups)


def _standing(store: Store, ruling: SlowRuling, members: Set[str]) -> dict[str, str]:
    """Keys of the members that everything else lets in, by id: with their question, script and fact in scope."""
    facts = {link.fact for link in store.all(Neighbour)}
    standing: dict[str, str] = {}
    out: set[str] = set()  # keys of facts, questions and scripts; they carry what hangs on them
    for fact in store.all(Fact):
        if ruling.of_fact(fact).outcome != "keep" or not (ruling.in_scope(fact) or fact.key in facts):
            out.add(fact.key)
        elif fact.id in members:
            standing[fact.id] = fact.key
    for question in store.all(ScriptQuestion):
        if question.fact in out or ruling.of(question).outcome != "keep":
            out.add(question.key)
        elif question.id in members:
            standing[question.id] = question.key
    for script in store.all(Script):
        if script.question in out or ruling.of(script).outcome != "keep":
            out.add(script.key)
        elif script.id in members:
            standing[script.id] = script.key
    for prompt in store.all(ScriptPrompt):
        parents = {prompt.fact, prompt.question, prompt.script}
        if prompt.id in members and not parents & out and ruling.of(prompt).outcome == "keep":
            standing[prompt.id] = prompt.key
    return standing
