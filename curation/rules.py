"""From the store to the cases of a split: verdicts measure and describe, the rule decides, every loss is counted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from curation.store import Store
from schemas.cases import Case, CaseNeighbour
from schemas.config import Options
from schemas.facts import Fact, Neighbour
from schemas.records import Record
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from schemas.verdicts import Verdict


class SplitRule(Options):
    """What goes into a split.

    Attributes:
        prefix: Only facts whose key begins so ("facts/cf/"); empty for all.
        changes: Kinds of edits.
        unsure: ``hold`` leaves out what a check is unsure of until a person has judged it; ``keep`` takes it.
        ignore: Checks whose verdicts do not count.
        min_prompts: A case has at least this many script prompts.
        min_neighbours: A case has at least this many neighbours with a script prompt.
        people_outrank: A person's verdict replaces those of the checks.
    """

    prefix: str = ""
    changes: tuple[Literal["counterfactual", "temporal"], ...] = ("counterfactual", "temporal")
    unsure: Literal["hold", "keep"] = "hold"
    ignore: tuple[str, ...] = ()
    min_prompts: int = 1
    min_neighbours: int = 0
    people_outrank: bool = True


class Chosen(NamedTuple):
    """The cases, and how many items were left out for which reason."""

    cases: list[Case]
    counts: dict[str, int]


class Judged(NamedTuple):
    """What the verdicts on an item come to; ``by`` names the deciding check."""

    label: Literal["keep", "drop", "unsure"]
    by: str = ""


class Verdicts:
    """All verdicts by item, and by item and related item."""

    def __init__(self, verdicts: Iterable[Verdict], rule: SplitRule) -> None:
        self._rule = rule
        self._of: dict[tuple[str, ...], list[Verdict]] = defaultdict(list)
        for verdict in verdicts:
            if verdict.check not in rule.ignore:
                self._of[(verdict.item_id, *verdict.related)].append(verdict)

    def judge(self, item: str, *related: str) -> Judged:
        """Drop before unsure before keep; a person outranks the checks where the rule says so."""
        verdicts = [v for v in self._of.get((item, *related), ()) if v.label not in (None, "unscored")]
        if self._rule.people_outrank and (people := [v for v in verdicts if v.by.startswith("person:")]):
            verdicts = people
        for label in ("drop", "unsure"):
            for verdict in verdicts:
                if verdict.label == label:
                    return Judged(label, verdict.check)
        return Judged("keep")


def choose(store: Store, rule: SplitRule) -> Chosen:
    """Cases that the rule makes of the store's current records, in order of their keys."""
    verdicts = Verdicts(store.verdicts(), rule)
    counts: Counter[str] = Counter()
    facts = {f.key: f for f in store.all(Fact)}
    questions = {q.key: q for q in store.all(ScriptQuestion)}
    scripts = {s.key: s for s in store.all(Script)}
    prompts: dict[str, list[ScriptPrompt]] = defaultdict(list)
    asked = set(questions)
    for prompt in store.all(ScriptPrompt):
        asked.discard(prompt.question or "")
        chain = [prompt, questions.get(prompt.question or ""), scripts.get(prompt.script or "")]
        own = counts if prompt.fact.startswith(rule.prefix) else Counter()
        if _passes(chain, verdicts, rule, own, "prompt"):
            prompts[prompt.fact].append(prompt)
    for key in sorted(asked):  # without a prompt; counted for their reason only
        if questions[key].fact.startswith(rule.prefix):
            _passes([questions[key]], verdicts, rule, counts, "question")
    links: dict[str, list[Neighbour]] = defaultdict(list)
    for link in store.all(Neighbour):
        links[link.edit].append(link)
    cases = []
    for fact in facts.values():
        if fact.change not in rule.changes or not fact.key.startswith(rule.prefix):
            continue
        counts["facts"] += 1
        if not _passes([fact], verdicts, rule, counts, "fact"):
            continue
        neighbours = [
            made
            for link in links[fact.key]
            if (made := _neighbour(link, facts, questions, prompts, verdicts, rule, counts))
        ]
        if len(prompts[fact.key]) < rule.min_prompts:
            counts["fact: too few prompts"] += 1
        elif sum(bool(n.prompts) for n in neighbours) < rule.min_neighbours:
            counts["fact: too few neighbours"] += 1
        else:
            cases.append(_case(fact, prompts[fact.key], neighbours, questions))
    counts["cases"] = len(cases)
    return Chosen(cases, dict(sorted(counts.items())))


def _passes(
    items: Iterable[Record | None], verdicts: Verdicts, rule: SplitRule, counts: Counter[str], what: str, *related: str
) -> bool:
    held = None
    for item in items:
        if item is None:
            continue
        judged = verdicts.judge(item.id, *related)
        if judged.label == "drop":
            counts[f"{what}: dropped by {judged.by}"] += 1
            return False
        if judged.label == "unsure" and rule.unsure == "hold":
            held = held or judged
    if held:
        counts[f"{what}: held by {held.by}"] += 1
    return held is None


def _neighbour(
    link: Neighbour,
    facts: Mapping[str, Fact],
    questions: Mapping[str, ScriptQuestion],
    prompts: Mapping[str, list[ScriptPrompt]],
    verdicts: Verdicts,
    rule: SplitRule,
    counts: Counter[str],
) -> CaseNeighbour | None:
    if link.fact not in facts or not _passes([link], verdicts, rule, counts, "neighbour"):
        return None
    kept = [
        p
        for p in prompts.get(link.fact, ())
        if _passes([link], verdicts, rule, counts, "neighbour prompt", p.id)
        and _passes([p], verdicts, rule, counts, "neighbour prompt", link.id)
    ]
    asked = _asked(kept, questions)
    return CaseNeighbour(link=link, fact=facts[link.fact], questions=asked, prompts=tuple(kept))


def _case(
    fact: Fact, prompts: list[ScriptPrompt], neighbours: list[CaseNeighbour], questions: Mapping[str, ScriptQuestion]
) -> Case:
    return Case(
        key=f"case/{fact.key}",
        fact=fact,
        questions=_asked(prompts, questions),
        prompts=tuple(prompts),
        neighbours=tuple(neighbours),
    )


def _asked(prompts: Iterable[ScriptPrompt], questions: Mapping[str, ScriptQuestion]) -> tuple[ScriptQuestion, ...]:
    """The questions of the prompts, each once, in order."""
    keys = dict.fromkeys(p.question for p in prompts)
    return tuple(questions[k] for k in keys if k is not None and k in questions)
