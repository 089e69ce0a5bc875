"""The simple twin of ``curation.rules.selection``: the whole store in memory, clusters over everything."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Set

from curation.rules.clusters import _components
from curation.rules.rule import KEPT, Decision, SplitRule, Verdicts, counts, worst
from curation.rules.selection import Selection, _by_erratum
from curation.splits.errata import Errata
from curation.store.store import Store
from schemas.cases import Case, CaseNeighbour
from schemas.core.records import Record
from schemas.facts import Fact, Neighbour
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion


class SlowRuling:
    """A rule over all verdicts of a store."""

    def __init__(self, store: Store, rule: SplitRule, errata: Errata | None = None) -> None:
        self.rule, self.errata = rule, errata or Errata()
        versions: dict[str, set[str]] = defaultdict(set)
        all_ = list(store.verdicts())
        for v in all_:
            versions[v.check].add(v.by.rpartition("@")[2])
        several = {check for check, found in versions.items() if len(found) > 1}
        self.settled: dict[str, Decision] = {}
        self.verdicts = Verdicts(all_, rule, several=several, settled=self.settled)
        self.edges: list[dict[str, tuple[str, ...]]] = [{} for _ in rule.thresholds]
        for v in all_:
            for t, found in zip(rule.thresholds, self.edges, strict=True):
                if not t.clusters or v.value is None or not t.on(v.by, v.model) or not counts(rule, v.by, v.model):
                    continue
                if t.out(v.value):
                    found[v.item_id] = (*found.get(v.item_id, ()), *v.related)
        if any(t.clusters for t in rule.thresholds):
            settle(store, self)

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
    return SlowChoice(store, SlowRuling(store, rule, errata)).chosen()


class SlowChoice:
    """One evaluation of a rule: passes over the store, everything in memory."""

    def __init__(self, store: Store, ruling: SlowRuling) -> None:
        self._store, self._ruling, self._rule = store, ruling, ruling.rule
        self._counts: Counter[str] = Counter()
        self._links: dict[str, list[Neighbour]] = defaultdict(list)
        self._beside: dict[str, Fact] = {}
        self._prompts: dict[str, list[ScriptPrompt]] = defaultdict(list)
        self._questions: dict[str, ScriptQuestion] = {}

    def chosen(self) -> Selection:
        for link in self._store.all(Neighbour):
            if link.edit.startswith(self._rule.prefix):
                self._links[link.edit].append(link)
        targets = {link.fact for links in self._links.values() for link in links}
        self._read_prompts(targets)
        for fact in self._store.all(Fact) if targets else ():
            if fact.key in targets:
                self._beside[fact.key] = fact
        cases = []
        for fact in self._store.all(Fact):
            if self._ruling.in_scope(fact):
                self._counts["facts"] += 1
                if self._passes(self._ruling.of_fact(fact), "fact") and (case := self._case(fact)):
                    cases.append(case)
        self._counts["cases"] = len(cases)
        return Selection(cases, dict(sorted(self._counts.items())))

    def _read_prompts(self, targets: set[str]) -> None:
        """Prompts that pass with their question and script, and those questions."""
        prefix, of = self._rule.prefix, self._ruling.of
        questions = {q.key: (j, q.fact) for q in self._store.all(ScriptQuestion) if (j := of(q)) != KEPT}
        scripts = {s.key: j for s in self._store.all(Script) if (j := of(s)) != KEPT}
        unasked, wanted = set(questions), set()
        for prompt in self._store.all(ScriptPrompt):
            unasked.discard(prompt.question or "")
            asked, written = questions.get(prompt.question or ""), scripts.get(prompt.script or "")
            judged = worst([of(prompt), asked[0] if asked else KEPT, written or KEPT])
            own = prompt.fact.startswith(prefix)
            if judged.outcome != "keep":
                self._lose(judged, "prompt", count=own)
            elif own or prompt.fact in targets:
                self._prompts[prompt.fact].append(prompt)
                wanted.add(prompt.question)
        for key in sorted(unasked):  # without a prompt; counted for their reason only
            judged, fact = questions[key]
            self._lose(judged, "question", count=fact.startswith(prefix))
        for question in self._store.all(ScriptQuestion):
            if question.key in wanted:
                self._questions[question.key] = question

    def _passes(self, judged: Decision, what: str) -> bool:
        if judged.outcome != "keep":
            self._lose(judged, what)
        return judged.outcome == "keep"

    def _lose(self, judged: Decision, what: str, *, count: bool = True) -> None:
        if count and judged.outcome != "keep":
            verb = "dropped" if judged.outcome == "drop" else "held"
            self._counts[f"{what}: {verb} by {judged.by}"] += 1

    def _case(self, fact: Fact) -> Case | None:
        prompts = self._prompts.get(fact.key, [])
        neighbours = [made for link in self._links.get(fact.key, ()) if (made := self._neighbour(link))]
        if len(prompts) < self._rule.min_prompts:
            self._counts["fact: too few prompts"] += 1
            return None
        if sum(bool(n.prompts) for n in neighbours) < self._rule.min_neighbours:
            self._counts["fact: too few neighbours"] += 1
            return None
        case = Case(
            key=f"case/{fact.key}",
            fact=fact,
            questions=_asked(prompts, self._questions),
            prompts=tuple(prompts),
            neighbours=tuple(neighbours),
        )  # people can judge whole cases (quality samples); that holds for exactly this content
        return case if self._passes(self._ruling.verdicts.judge(case.kind, case.id), "case") else None

    def _neighbour(self, link: Neighbour) -> CaseNeighbour | None:
        of = self._ruling.of
        if link.fact not in self._beside or not self._passes(of(link), "neighbour"):
            return None
        kept = [
            p
            for p in self._prompts.get(link.fact, ())
            if self._passes(worst([of(link, p.id), of(p, link.id)]), "neighbour prompt")
        ]
        asked = _asked(kept, self._questions)
        return CaseNeighbour(link=link, fact=self._beside[link.fact], questions=asked, prompts=tuple(kept))


def _asked(prompts: Iterable[ScriptPrompt], questions: Mapping[str, ScriptQuestion]) -> tuple[ScriptQuestion, ...]:
    """The questions of the prompts, each once, in order."""
    keys = dict.fromkeys(p.question for p in prompts)
    return tuple(questions[k] for k in keys if k is not None and k in questions)


def settle(store: Store, ruling: SlowRuling) -> None:
    """Settle every threshold with ``clusters`` in the order of the rule; what one takes out is out for the next."""
    verdicts = ruling.verdicts
    members = {i for edges in ruling.edges for item, others in edges.items() for i in (item, *others)}
    if not members:
        return
    standing = _standing(store, ruling, members)
    saved = {i for i in members if verdicts.saved(i)}
    for threshold, edges in zip(ruling.rule.thresholds, ruling.edges, strict=True):
        for group in _components(edges):
            here = [i for i in group if i in standing]
            if not here:
                continue
            stays = min(here, key=lambda i: (i not in saved, i in edges, standing[i], i))
            for item in here:
                if item != stays and item not in saved:
                    reason = f"in a cluster with '{standing[stays]}', which stays"
                    ruling.settled[item] = Decision(threshold.then, threshold.check, reason)
        for item in ruling.settled:
            standing.pop(item, None)


def _standing(store: Store, ruling: SlowRuling, members: Set[str]) -> dict[str, str]:
    """Keys of the members that everything else lets in, by id: with their question, script and fact in scope."""
    beside = {link.fact for link in store.all(Neighbour)}
    standing: dict[str, str] = {}
    out: set[str] = set()  # keys of facts, questions and scripts; they carry what hangs on them
    for fact in store.all(Fact):
        if ruling.of_fact(fact).outcome != "keep" or not (ruling.in_scope(fact) or fact.key in beside):
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
