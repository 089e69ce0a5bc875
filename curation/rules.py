"""From the store to the cases of a split: verdicts measure and describe, the rule decides, every loss is counted.

What comes out is a function of the store, the rule and the errata: changing a threshold measures nothing again.
Records are read in passes and only those that can be in a case are held.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from curation.clusters import settle
from curation.errata import Errata, Erratum
from curation.judging import KEPT, Judged, SplitRule, Threshold, Verdicts, matches, worst
from curation.store import Store
from schemas.cases import Case, CaseNeighbour
from schemas.facts import Fact, Neighbour
from schemas.records import Record
from schemas.registry import suggest
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion

__all__ = ["Chosen", "Ruling", "SplitRule", "Threshold", "choose"]

log = logging.getLogger(__name__)


class Chosen(NamedTuple):
    """The cases, and how many items were left out for which reason."""

    cases: list[Case]
    counts: dict[str, int]


class Ruling:
    """A rule over a store's verdicts, with near-duplicate clusters settled.

    Args:
        store: The store.
        rule: The rule.
        errata: Known faults; they outrank people.
        items: Read the verdicts on these items only (a rule with clusters reads all).
    """

    def __init__(
        self, store: Store, rule: SplitRule, *, errata: Errata | None = None, items: Iterable[str] | None = None
    ) -> None:
        self.rule, self.errata = rule, errata or Errata()
        named = [str(v["by"]) for v in store.stats()["verdicts"]]
        versions: dict[str, set[str]] = defaultdict(set)
        for by in named:
            check, _, version = by.rsplit("/", 1)[-1].partition("@")
            versions[check].add(version)
        several = {check for check, found in versions.items() if len(found) > 1}
        clusters = any(t.clusters for t in rule.thresholds)
        self.verdicts = Verdicts(store.verdicts(None if clusters else items), rule, several=several)
        for name in dict.fromkeys(rule.named()):
            if not any(matches(by, name) for by in named):
                near = suggest(name, sorted(versions))
                log.warning(
                    "the rule names '%s', of which the store holds no verdict%s",
                    name,
                    f"; did you mean '{near}'?" if near else "",
                )
        if clusters:
            settle(store, self)

    def of(self, record: Record, *related: str) -> Judged:
        """The outcome for one record by itself (or for a pair)."""
        if not related and (erratum := self.errata.of(record.key, record.id)):
            return _by_erratum(erratum)
        return self.verdicts.judge(record.kind, record.id, *related)

    def of_fact(self, fact: Fact) -> Judged:
        """The outcome for a fact; an erratum on its case is one on the fact."""
        if erratum := self.errata.of(f"case/{fact.key}", fact.id):
            return _by_erratum(erratum)
        return self.of(fact)

    def in_scope(self, fact: Fact) -> bool:
        """Whether the rule looks at a fact as an edit."""
        return fact.change in self.rule.changes and fact.key.startswith(self.rule.prefix)


def _by_erratum(erratum: Erratum) -> Judged:
    return Judged("drop" if erratum.action == "drop" else "hold", "erratum", erratum.what)


def choose(store: Store, rule: SplitRule, *, errata: Errata | None = None) -> Chosen:
    """Cases that the rule makes of the store's current records, in order of their keys.

    Memory grows with what is chosen and with the verdicts that are not plain keeps, not with the whole store.
    """
    return _Choice(store, Ruling(store, rule, errata=errata)).chosen()


class _Choice:
    """One evaluation of a rule: passes over the store, each leaving what the next needs."""

    def __init__(self, store: Store, ruling: Ruling) -> None:
        self._store, self._ruling, self._rule = store, ruling, ruling.rule
        self._counts: Counter[str] = Counter()
        self._links: dict[str, list[Neighbour]] = defaultdict(list)
        self._beside: dict[str, Fact] = {}
        self._prompts: dict[str, list[ScriptPrompt]] = defaultdict(list)
        self._questions: dict[str, ScriptQuestion] = {}

    def chosen(self) -> Chosen:
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
        return Chosen(cases, dict(sorted(self._counts.items())))

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

    def _passes(self, judged: Judged, what: str) -> bool:
        if judged.outcome != "keep":
            self._lose(judged, what)
        return judged.outcome == "keep"

    def _lose(self, judged: Judged, what: str, *, count: bool = True) -> None:
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
