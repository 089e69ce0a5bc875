"""From the store to the cases of a split: verdicts measure and describe, the rule decides, every loss is counted.

What comes out is a function of the store, the rule and the errata: changing a threshold measures nothing again.
Facts are decided block by block, so memory does not grow with the store.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from typing import NamedTuple

from curation.rules.clusters import resolve_clusters
from curation.rules.plain_verdicts import DecidedItems, plain_verdicts
from curation.rules.rule import KEPT, Decision, SplitRule, Threshold, Verdicts, check_units, matches, worst
from curation.splits.errata import Errata, Erratum
from curation.store.block_reader import FactHead, KeyRange
from curation.store.store import Store
from schemas.cases import Case, CaseNeighbour
from schemas.core.records import Record
from schemas.core.registry import suggest
from schemas.facts import Fact, Neighbour
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion

__all__ = ["Ruling", "Selection", "SelectionStream", "SplitRule", "Threshold", "choose"]

log = logging.getLogger(__name__)


BLOCK = 2000
"""Facts that are decided at a time."""


class Selection(NamedTuple):
    """The cases, and how many items were left out for which reason."""

    cases: list[Case]
    counts: dict[str, int]


class Ruling:
    """A rule over a store's verdicts, with near-duplicate clusters settled.

    Args:
        store: The store.
        rule: The rule.
        errata: Known faults; they outrank people.
        items: Read the verdicts on these items only, and settle the clusters they are in. None: all verdicts' units are
            checked, all clusters are settled, and ``over`` then reads the verdicts on some items.
    """

    def __init__(
        self, store: Store, rule: SplitRule, *, errata: Errata | None = None, items: Iterable[str] | None = None
    ) -> None:
        self.rule, self.errata, self._store = rule, errata or Errata(), store
        named = store.judges()
        versions: dict[str, set[str]] = defaultdict(set)
        for by in named:
            check, _, version = by.rsplit("/", 1)[-1].partition("@")
            versions[check].add(version)
        self._several = {check for check, with_version in versions.items() if len(with_version) > 1}
        for name in dict.fromkeys(rule.named()):
            if not any(matches(by, name) for by in named):
                near = suggest(name, sorted(versions))
                log.warning(
                    "the rule names '%s', of which the store holds no verdict%s",
                    name,
                    f"; did you mean '{near}'?" if near else "",
                )
        self._units = check_units(store.units(), rule) if items is None else None
        self._decided: DecidedItems | None = None
        if items is None:
            self._decided = DecidedItems(store, plain_verdicts(rule, named, several=self._several))
        chosen = list(dict.fromkeys(items or ()))
        self.settled: Mapping[str, Decision] = {}
        self.verdicts = self._read(chosen)
        if any(t.clusters for t in rule.thresholds):
            self.settled = resolve_clusters(store, self, named, items=None if items is None else chosen)
            self.verdicts = self._read(chosen)

    def over(self, items: Iterable[str]) -> Ruling:
        """The same ruling with the verdicts on other items."""
        copied = copy(self)
        copied.verdicts = self._read(items)
        return copied

    def _read(self, items: Iterable[str]) -> Verdicts:
        wanted = list(dict.fromkeys(items))
        if self._decided is not None:
            wanted = self._decided.among(wanted)
        verdicts = self._store.verdicts(wanted) if wanted else ()
        return Verdicts(verdicts, self.rule, several=self._several, units=self._units, settled=self.settled)

    def of(self, record: Record | FactHead, *related: str) -> Decision:
        """The outcome for one record by itself (or for a pair)."""
        if not related and (erratum := self.errata.of(record.key, record.id)):
            return decision_of_erratum(erratum)
        return self.verdicts.judge(record.kind, record.id, *related)

    def of_fact(self, fact: Fact | FactHead) -> Decision:
        """The outcome for a fact; an erratum on its case is one on the fact."""
        if erratum := self.errata.of(f"case/{fact.key}", fact.id):
            return decision_of_erratum(erratum)
        return self.of(fact)

    def of_neighbour(self, fact: Fact) -> Decision:
        """The outcome for a fact as a neighbour: errata and people. Checks and thresholds judge facts as edits."""
        erratum = self.errata.of(fact.key, fact.id) or self.errata.of(f"case/{fact.key}", fact.id)
        return decision_of_erratum(erratum) if erratum else self.verdicts.by_people(fact.id) or KEPT

    def in_scope(self, fact: Fact | FactHead) -> bool:
        """Whether the rule looks at a fact as an edit."""
        return fact.change in self.rule.changes and fact.key.startswith(self.rule.prefix)


def decision_of_erratum(erratum: Erratum) -> Decision:
    """What an erratum that applies comes to: out, or held until somebody has looked."""
    return Decision("drop" if erratum.action == "drop" else "hold", "erratum", erratum.what)


def choose(store: Store, rule: SplitRule, *, errata: Errata | None = None) -> Selection:
    """Cases that the rule makes of the store's current records, in order of their keys."""
    choice = SelectionStream(store, rule, errata=errata)
    return Selection(list(choice), choice.counts)


class SelectionStream:
    """The same, one case at a time and once; ``counts`` are whole when all cases have come.

    Facts are decided in blocks of neighbouring keys, each with its own records and verdicts, so memory holds a block.

    Attributes:
        unprompted: Questions that no check drops and that have no prompt, by reason; no part of a split's header.
        prompts: Script prompts that were looked at.
    """

    def __init__(self, store: Store, rule: SplitRule, *, errata: Errata | None = None, block: int = BLOCK) -> None:
        self._store, self._rule, self._size = store, rule, block
        self._ruling = Ruling(store, rule, errata=errata)
        self._counts: Counter[str] = Counter()
        self.unprompted: Counter[str] = Counter()
        self.prompts = 0
        self._elsewhere: set[str] | None = None

    @property
    def counts(self) -> dict[str, int]:
        """What was counted so far, by reason."""
        return dict(sorted({"cases": 0, **self._counts}.items()))

    def __iter__(self) -> Iterator[Case]:
        for keys in self._store.ranges(self._rule.prefix, self._size):
            block = _Block(self._store, self._ruling, keys, self._counts, self._asked_elsewhere)
            cases = block.cases()
            self._counts["cases"] += len(cases)
            self.unprompted.update(block.unprompted)
            self.prompts += block.prompts
            yield from cases

    def _asked_elsewhere(self) -> set[str]:
        if self._elsewhere is None:
            self._elsewhere = self._store.asked_elsewhere()
        return self._elsewhere


class _Block:
    """The facts of a range of keys with everything that decides about them."""

    def __init__(
        self, store: Store, ruling: Ruling, keys: KeyRange, counts: Counter[str], elsewhere: Callable[[], set[str]]
    ) -> None:
        self._rule, self._keys, self._counts, self._elsewhere = ruling.rule, keys, counts, elsewhere
        self._facts = store.in_range(Fact, keys)
        links = store.in_range(Neighbour, keys, parent=True)
        targets = {link.fact for link in links}
        self._beside = {f.key: f for f in store.by_keys(Fact, targets)}
        cut = store.in_range(ScriptPrompt, keys, parent=True)
        cut += store.of_parents(ScriptPrompt, (t for t in targets if t not in keys))
        questions = {q.key: q for q in store.in_range(ScriptQuestion, keys, parent=True)}
        questions |= {q.key: q for q in store.by_keys(ScriptQuestion, {p.question for p in cut} - questions.keys())}
        written = store.by_keys(Script, {p.script for p in cut})
        judged = (self._facts, links, self._beside.values(), cut, questions.values(), written)
        self._ruling = ruling.over(record.id for records in judged for record in records)
        self._all = ruling
        self._links: dict[str, list[Neighbour]] = defaultdict(list)
        for link in links:
            self._links[link.edit].append(link)
        self._questions, self._prompts = questions, defaultdict[str, list[ScriptPrompt]](list)
        self.prompts = sum(p.fact in keys for p in cut)
        self._sort(sorted(cut, key=lambda p: p.key), {s.key: s for s in written})
        self.unprompted = self._count_without_prompt(store, {p.question for p in cut})

    def cases(self) -> list[Case]:
        """The cases, in order of their keys."""
        cases = []
        for fact in self._facts:
            if self._ruling.in_scope(fact):
                self._counts["facts"] += 1
                if self._passes(self._ruling.of_fact(fact), "fact") and (case := self._case(fact)):
                    cases.append(case)
        whole = self._all.over(c.id for c in cases).verdicts  # people can judge whole cases; of exactly this content
        return [c for c in cases if self._passes(whole.judge(c.kind, c.id), "case")]

    def _sort(self, prompts: Iterable[ScriptPrompt], written: Mapping[str, Script]) -> None:
        """Prompts that pass with their question and script, by their fact; what is lost is counted."""
        of = self._ruling.of
        questions = {key: judged for key, q in self._questions.items() if (judged := of(q)) != KEPT}
        scripts = {key: judged for key, s in written.items() if (judged := of(s)) != KEPT}
        unasked = {key for key in questions if self._questions[key].fact in self._keys}
        for prompt in prompts:
            unasked.discard(prompt.question or "")
            beside = [questions.get(prompt.question or "", KEPT), scripts.get(prompt.script or "", KEPT)]
            judged = worst([of(prompt), *beside])
            if judged.outcome != "keep":
                self._lose(judged, "prompt", count=prompt.fact in self._keys)
            else:
                self._prompts[prompt.fact].append(prompt)
        for key in unasked - self._elsewhere() if unasked else ():  # without a prompt: counted for their reason only
            self._lose(questions[key], "question")

    def _count_without_prompt(self, store: Store, prompted: set[str | None]) -> Counter[str]:
        """Why questions that nothing drops have no prompt: no script, or what became of their scripts."""
        waiting = {q.key for q in self._questions.values() if q.fact in self._keys and q.key not in prompted}
        waiting -= {key for key in waiting if self._ruling.of(self._questions[key]) != KEPT}
        if not waiting or not (waiting := waiting - self._elsewhere()):
            return Counter()
        scripts = store.of_parents(Script, waiting)
        ruling = self._all.over(s.id for s in scripts)
        reasons = dict.fromkeys(waiting, "question without a prompt: no script")
        for script in scripts:
            judged = ruling.of(script)
            verb = "dropped" if judged.outcome == "drop" else "held"
            why = "none was cut of its script" if judged == KEPT else f"its script was {verb} by {judged.by}"
            reasons[script.question] = f"question without a prompt: {why}"
        return Counter(reasons.values())

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
        neighbours = [neighbour for link in self._links.get(fact.key, ()) if (neighbour := self._neighbour(link))]
        if len(prompts) < self._rule.min_prompts:
            self._counts["fact: too few prompts"] += 1
            return None
        if sum(bool(n.prompts) for n in neighbours) < self._rule.min_neighbours:
            self._counts["fact: too few neighbours"] += 1
            return None
        return Case(
            key=f"case/{fact.key}",
            fact=fact,
            questions=_questions_of(prompts, self._questions),
            prompts=tuple(prompts),
            neighbours=tuple(neighbours),
        )

    def _neighbour(self, link: Neighbour) -> CaseNeighbour | None:
        of = self._ruling.of
        fact = self._beside.get(link.fact)
        if fact is None or not self._passes(of(link), "neighbour"):
            return None
        if not self._passes(self._ruling.of_neighbour(fact), "neighbour's fact"):
            return None
        prompts = [
            p
            for p in self._prompts.get(link.fact, ())
            if self._passes(worst([of(link, p.id), of(p, link.id)]), "neighbour prompt")
        ]
        questions = _questions_of(prompts, self._questions)
        return CaseNeighbour(link=link, fact=fact, questions=questions, prompts=tuple(prompts))


def _questions_of(
    prompts: Iterable[ScriptPrompt], questions: Mapping[str, ScriptQuestion]
) -> tuple[ScriptQuestion, ...]:
    """The questions of the prompts, each once, in order."""
    keys = dict.fromkeys(p.question for p in prompts)
    return tuple(questions[k] for k in keys if k is not None and k in questions)
