"""What a store's construction came to: the funnel from facts to prompts, why the rest was left out, what it cost.

Everything is counted from records, verdicts and lineage, so it holds for a store of many runs, and for one that was
killed half-way. What came whole from a file or a split is not counted: nobody constructed it here.

Labels are read as the construction reads them: a lead's decision outranks people, who outrank the checks; of a check
the newest version counts, any ``drop`` drops, any ``unsure`` or ``unscored`` waits for people; measurements decide
nothing here (a split's rule may give them a bound).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import mean

from construction.authoring.diversity import CHECK as SURPLUS
from construction.authoring.outcome import MARK, Standing, better, overall_label, worse
from construction.report.records import (
    PAPER_TABLE,
    AuthorLine,
    CheckFindings,
    Length,
    Stage,
    StoreYield,
    Table1,
    answering_models,
    sum_spending,
)
from curation.checks.store_checks import STORE_CHECKS
from curation.store.store import Store
from schemas.core.errors import UserError
from schemas.facts import Fact, Neighbour
from schemas.lineage import Lineage
from schemas.scripts import MAX_STEPS, Script, ScriptPrompt, ScriptQuestion
from schemas.verdicts import Verdict, verdicts_of_people

MADE = {"questions", "scripts", "truncate", "neighbours", "adopt"}  # stages that construction writes
EXAMPLES = 3
CLIP = 240
"""Characters of a reason or an example that are shown."""


def clip_text(text: str) -> str:
    """A text as a page shows it: marked where its end is left out.

    Example:
        >>> clip_text("short"), len(clip_text("x" * 500)), clip_text("x" * 500)[-5:]
        ('short', 240, 'x ...')
    """
    return text if len(text) <= CLIP else f"{text[: CLIP - 4]} ..."


def store_yield(path: Path, *, prices: Path | None = None) -> StoreYield:
    """The yield of a store.

    Args:
        path: The store.
        prices: A price table that goes before ours, for calls whose cost was not noted when they were made.

    Raises:
        UserError: there is no such store, or no construction in it.
    """
    with Store.open(path) as store:
        return _Count(store).result(path.name, prices)


class JudgedItems:
    """How every item stands, and the verdict that decided."""

    def __init__(self, verdicts: Iterable[Verdict]) -> None:
        self._said: dict[str, dict[tuple[str, str | None, tuple[str, ...]], tuple[int, Verdict]]] = defaultdict(dict)
        for verdict in verdicts:
            if verdict.label is None:
                continue
            name, _, version = verdict.by.rpartition("@")
            place = (name, verdict.model, _relative(verdict))
            known = self._said[verdict.item_id].get(place)
            if known is None or known[0] < int(version):
                self._said[verdict.item_id][place] = (int(version), verdict)

    def label(self, item: str, check: str) -> str | None:
        """What one check says of an item, if anything."""
        return next((v.label for _, v in self._said.get(item, {}).values() if v.check == check), None)

    def deciding(self, item: str, related: str | None = None) -> list[Verdict]:
        """The verdicts on an item that count: people's where there are any, of each check those of its newest version.

        Args:
            item: Its content id.
            related: In relation to this other item; left out, by itself.
        """
        verdicts = [
            v
            for (name, _, to), (_, v) in self._said.get(item, {}).items()
            if name != MARK and (to == (related,) if related else not to)
        ]
        return verdicts_of_people(verdicts) or verdicts

    def of(self, item: str, related: str | None = None) -> tuple[Standing, Verdict | None]:
        """How an item stands by itself, or in relation to another; the mark of a fact is no judgement of it."""
        verdicts = self.deciding(item, related)
        for label in ("drop", "unscored", "unsure"):
            if said := [verdict for verdict in verdicts if verdict.label == label]:
                return overall_label(said), said[0]
        return "keep", None


def _imported_ids(lineage: Iterable[Lineage]) -> set[str]:
    """Ids of items that came whole from a file or a split, as their lineage says: they are no yield of ours."""
    stages: dict[str, set[str]] = defaultdict(set)
    for line in lineage:
        stages[line.item_id].add(line.stage)
    return {item for item, of in stages.items() if not of & MADE}


def _relative(verdict: Verdict) -> tuple[str, ...]:
    """The items in relation to which a verdict holds; others are only named in it."""
    return verdict.related if all(f"~{item}" in verdict.key for item in verdict.related) else ()


class _Count:
    """One pass over each kind of record."""

    def __init__(self, store: Store) -> None:
        self._store, self._judged = store, JudgedItems(store.verdicts())
        self._why: dict[tuple[str, str, str], list[tuple[str, str, str]]] = defaultdict(list)
        self._counts: Counter[tuple[str, str, str]] = Counter()

    def result(self, name: str, prices: Path | None) -> StoreYield:
        lineage = list(self._store.lineages())
        elsewhere = _imported_ids(lineage)
        facts = {f.key: f for f in self._store.all(Fact)}
        questions = {q.key: q for q in self._store.all(ScriptQuestion) if q.id not in elsewhere}
        worked = {q.fact for q in questions.values()} | {f.key for f in facts.values() if self._edit_mark(f)}
        if not worked:
            fix = "fill it with: scedit construct"
            raise UserError("there is no construction in the store", where=name, fix=fix)
        edits = {
            k for k in worked if k in facts and facts[k].new is not None and self._edit_mark(facts[k]) is not False
        }
        scripts = {s.key: s for s in self._store.all(Script) if s.id not in elsewhere}
        cut = list(self._store.all(ScriptPrompt))
        prompts = [p for p in cut if p.id not in elsewhere]
        links = [link for link in self._store.all(Neighbour) if link.id not in elsewhere]
        fact_standings = {
            k: self.stand("fact", k, facts[k].id, facts[k].fact_prompt)[0] for k in sorted(worked & facts.keys())
        }
        standings = _Standings(self, fact_standings, questions, scripts, prompts)
        fitting = self._kept_links(links, standings)
        return StoreYield(
            store=name,
            funnel=tuple(self._funnel(worked, edits, standings, links, fitting)),
            reasons=self._reasons(),
            table=tuple(_table(facts, edits, standings, fitting)),
            lengths=tuple(_lengths(standings)),
            steps=dict(sorted(Counter(p.step for p in prompts if p.step is not None).items())),
            authors=tuple(_authors(lineage, standings)),
            spending=tuple(sum_spending(lineage, prices)),
            elsewhere=len(cut) - len(prompts),
            quality=next((str(x.detail["quality"]) for x in lineage if x.detail.get("quality")), None),
            answered=answering_models(lineage),
        )

    def _edit_mark(self, fact: Fact) -> bool | None:
        """Whether a fact was worked on as an edit, as the mark says; None where there is no mark."""
        label = self._judged.label(fact.id, MARK)
        return None if label is None else label == "keep"

    def stand(self, kind: str, key: str, item: str, text: str, related: str | None = None) -> tuple[Standing, str]:
        """How an item stands and by which check; counts the reason."""
        standing, verdict = self._judged.of(item, related)
        if verdict is not None:
            place = (kind, verdict.check, str(verdict.label))
            self._counts[place] += 1
            if len(self._why[place]) < EXAMPLES:
                self._why[place].append((key, clip_text(verdict.reason), clip_text(text)))
        return standing, verdict.check if verdict else ""

    def _reasons(self) -> tuple[CheckFindings, ...]:
        # what was good but not needed comes last: nothing is wrong with it
        ordered = sorted(self._counts.items(), key=lambda item: (item[0][1] == SURPLUS, -item[1], item[0]))
        return tuple(
            CheckFindings(
                kind=k[0],
                check=k[1],
                label=k[2],
                about=STORE_CHECKS.get(k[1]).about if k[1] in STORE_CHECKS.names() else "",
                count=n,
                examples=tuple(self._why[k]),
            )
            for k, n in ordered
        )

    def _funnel(
        self,
        worked: set[str],
        edits: set[str],
        standings: _Standings,
        links: list[Neighbour],
        fitting: list[tuple[Neighbour, ScriptPrompt]],
    ) -> Iterator[Stage]:
        best = standings.of_facts()
        for name, keys in (("edited facts", edits), ("neighbour facts", worked - edits)):
            yield _stage(name, (best.get(k, "drop") for k in keys))
        for name, of_edits in (("questions", True), ("questions of neighbours", False)):
            chosen = [q.key for q in standings.questions.values() if (q.fact in edits) == of_edits]
            yield _stage(name, ("surplus" if k in standings.surplus else standings.outcome[k] for k in chosen))
        cut = ("keep" if k in standings.cut else "drop" for k in standings.scripts)
        yield _stage("scripts (kept: with a place to cut)", cut)
        yield _stage("prompts", standings.prompt.values())
        if links:
            fit = {link.key for link, _ in fitting}
            name = "neighbour links (kept: with a prompt that fits)"
            yield _stage(name, ("keep" if link.key in fit else "drop" for link in links))

    def _kept_links(self, links: list[Neighbour], standings: _Standings) -> list[tuple[Neighbour, ScriptPrompt]]:
        """Links with each of their kept prompts that is also kept in relation to the edit."""
        by_fact: dict[str, list[ScriptPrompt]] = defaultdict(list)
        for prompt in standings.prompts:
            if standings.prompt[prompt.key] == "keep":
                by_fact[prompt.fact].append(prompt)
        return [
            (link, prompt)
            for link in links
            for prompt in by_fact[link.fact]
            if self.stand("link", link.key, link.id, prompt.text, prompt.id)[0] == "keep"
        ]


def _stage(name: str, standings: Iterable[str]) -> Stage:
    """A step of the funnel, from how its items stand."""
    n = Counter(standings)
    return Stage(name=name, total=n.total(), kept=n["keep"], unsure=n["unsure"], surplus=n["surplus"])


class _Standings:
    """How questions, scripts and prompts stand, each with what it hangs on; a fact's own standing is apart."""

    def __init__(
        self,
        count: _Count,
        facts: dict[str, Standing],
        questions: dict[str, ScriptQuestion],
        scripts: dict[str, Script],
        prompts: list[ScriptPrompt],
    ) -> None:
        self.facts, self.questions, self.scripts, self.prompts = facts, questions, scripts, prompts
        self.surplus: set[str] = set()
        question_standings: dict[str, Standing] = {}
        for q in questions.values():
            question_standings[q.key], by = count.stand("question", q.key, q.id, q.text)
            if by == SURPLUS:
                self.surplus.add(q.key)
        written = {s.key: count.stand("script", s.key, s.id, " / ".join(s.steps))[0] for s in scripts.values()}
        self.cut = {p.script for p in prompts if p.script is not None}
        scripted = {s.question for s in scripts.values()} | {p.question for p in prompts}
        self.outcome: dict[str, Standing] = {  # a question that nobody wrote a script for stands by itself
            key: "drop" if key in scripted else standing for key, standing in question_standings.items()
        }
        self.prompt: dict[str, Standing] = {}
        for p in prompts:
            alone, _ = count.stand("prompt", p.key, p.id, p.text)
            standing = worse(
                alone, written.get(p.script or "", "keep"), question_standings.get(p.question or "", "keep")
            )
            self.prompt[p.key] = standing
            if p.question in self.outcome:
                self.outcome[p.question] = better(self.outcome[p.question], standing)

    def of_facts(self) -> dict[str, Standing]:
        """The best prompt of each fact, and no better than what is said of the fact itself."""
        best: dict[str, Standing] = {}
        for p in self.prompts:
            best[p.fact] = better(best.get(p.fact, "drop"), self.prompt[p.key])
        return {k: worse(standing, self.facts.get(k, "keep")) for k, standing in best.items()}


def _table(
    facts: dict[str, Fact], edits: set[str], standings: _Standings, fitting: list[tuple[Neighbour, ScriptPrompt]]
) -> Iterator[Table1]:
    stand = standings.of_facts()
    prompts_by_fact = Counter(
        p.fact for p in standings.prompts if standings.prompt[p.key] == "keep" and p.fact in edits
    )
    prompts_by_fact = Counter({fact: n for fact, n in prompts_by_fact.items() if stand[fact] == "keep"})
    beside = Counter(link.edit for link, _ in fitting)
    for change, paper in PAPER_TABLE.items():
        cases = [k for k in prompts_by_fact if facts[k].change == change]
        yield Table1(
            change=change,
            cases=len(cases),
            efficacy=sum(prompts_by_fact[k] for k in cases),
            specificity=sum(beside[k] for k in cases),
            paper=paper,
        )


def _lengths(standings: _Standings) -> Iterator[Length]:
    prompts = [p for p in standings.prompts if standings.prompt[p.key] == "keep"]
    questions = [standings.questions[k] for k in dict.fromkeys(p.question for p in prompts) if k in standings.questions]
    scripts = [standings.scripts[k] for k in dict.fromkeys(p.script for p in prompts) if k in standings.scripts]
    for name, values in (
        ("words of a question", [len(q.text.split()) for q in questions]),
        (f"steps of a script (at most {MAX_STEPS})", [len(s.steps) for s in scripts]),
        ("words of a step (at most 7)", [len(step.split()) for s in scripts for step in s.steps]),
        ("words of a prompt", [len(p.text.split()) for p in prompts]),
        ("characters before the cut", [p.offset for p in prompts]),
    ):
        if values:
            yield Length(name=name, mean=mean(values), least=min(values), most=max(values))


def _authors(lineage: Iterable[Lineage], standings: _Standings) -> Iterator[AuthorLine]:
    by_id = {s.id: k for k, s in standings.scripts.items()}
    stands = {p.script: standings.prompt[p.key] for p in standings.prompts}
    wrote: dict[str, set[str]] = defaultdict(set)
    for line in lineage:
        if line.stage == "scripts" and line.model and line.item_id in by_id:
            wrote[line.model].add(by_id[line.item_id])
    for author, keys in sorted(wrote.items()):
        by_standing = Counter(stands.get(k, "drop") for k in keys)
        keep, unsure, dropped = by_standing["keep"], by_standing["unsure"], by_standing["drop"]
        yield AuthorLine(author=author, scripts=len(keys), kept=keep, unsure=unsure, dropped=dropped)
