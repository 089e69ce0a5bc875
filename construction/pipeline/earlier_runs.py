"""What earlier runs left in a store: generations of another model, prompt or number, and what was dropped since.

Asking anew is paid for and leaves two generations side by side, so a person is told before the first call and chooses:
``add`` keeps both, ``replace`` lets the new one take the place of the earlier, which stays in the store, dropped.
Questions that people dropped get no scripts, and a dropped prompt is replaced.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from construction.authoring.diversity import CHECK as CHOSEN
from construction.authoring.outcome import MARK, FactOutcome
from construction.checks import CHECKS
from construction.llm.reply_cache import ReplyCache, request_key
from construction.pipeline.author_models import ScriptAuthor
from construction.pipeline.plan import Choice, ConstructionPlan, ConstructionWork
from construction.prompts.prompt_file import FILES
from construction.scripts.question_step import QuestionStep
from construction.verifier.steps import READ, STEPS
from curation.rules.rule import SplitRule, Verdicts
from curation.store.store import Store
from schemas.core.records import Record
from schemas.facts import Fact
from schemas.lineage import Lineage
from schemas.scripts import Script, ScriptQuestion
from schemas.verdicts import Verdict, verdict_key, verdicts_of_people

REPLACED = "replaced"
BY = f"{REPLACED}@1"
SCREEN = "screen_question"
"""The task of people whose verdicts on questions count here."""
SCREENED = (SCREEN, f"{SCREEN}_adjudicated")
OWN_CHECKS = frozenset(
    {*CHECKS.names(), *(step.check for step in STEPS.values()), READ.partition("@")[0], CHOSEN, REPLACED, MARK}
)
"""Checks whose verdicts construct makes itself, and makes again in every run."""


def earlier_generations(
    store: Store,
    work: ConstructionWork,
    plan: ConstructionPlan,
    model: str,
    writers: Iterable[ScriptAuthor],
    cache: ReplyCache | None,
) -> list[str]:
    """What stands in a store for facts about which this construction would ask anew: "120 questions of m (prompt@2)".

    A fact goes on where one of its calls for questions is cached, as an edit or as a neighbour, and where one of the
    authors has written a script for a question of this model and prompt. Facts that nothing was written for are new,
    not asked anew.

    Args:
        store: The store.
        work: The facts.
        plan: What to construct.
        model: Who is asked for questions.
        writers: Who is asked for scripts.
        cache: The journal, where there is one.
    """
    counts: Counter[tuple[str, str, str]] = Counter()
    facts = {f.key: f for f in (*work.edits, *work.others)}
    questions = _written_items(store, ScriptQuestion, "questions", facts)
    going_on = {key for key in questions if cache and _is_cached(facts[key], plan, model, cache)}
    for key in questions.keys() - going_on:
        counts.update(("questions", *_author(line)) for _, line in questions[key])
    label = plan.wording()["questions"].label
    fact_of_question = {q.key: key for key in going_on for q, line in questions[key] if _author(line) == (model, label)}
    writers_now = {(w.access.label, FILES.load_all(w.profile, plan.prompts)["scripts"].label) for w in writers}
    wrote: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    for question, lines in _written_items(store, Script, "scripts", fact_of_question).items():
        wrote[fact_of_question[question]].update(_author(line) for _, line in lines)
    for pairs in wrote.values():
        if not pairs.keys() & writers_now:
            counts.update({("scripts", *pair): n for pair, n in pairs.items()})
    return [f"{n:,} {stage} of {who} ({prompt})" for (stage, who, prompt), n in sorted(counts.items())]


def _author(line: Lineage) -> tuple[str, str]:
    return line.model or "", line.prompt or ""


def sentence(earlier: Sequence[str]) -> str:
    """What stands in the store, in words."""
    return f"{' and '.join(earlier)} stand here; asking anew makes a second generation"


def _written_items(
    store: Store, kind: type[ScriptQuestion] | type[Script], stage: str, parents: Iterable[str]
) -> dict[str, list[tuple[Record, Lineage]]]:
    """Items that a model wrote with their lines, by the key of their parent; replaced and stale ones are left out."""
    stale = {item.id for item in store.stale()}  # of an earlier version of the fact: asked anew without a question
    items = {item.id: item for item in store.of_parents(kind, set(parents)) if item.id not in stale}
    replaced_ids = {v.item_id for v in store.verdicts(items) if is_replaced(v)} if items else set()
    written: dict[str, list[tuple[Record, Lineage]]] = defaultdict(list)
    for line in store.lineages(stage=stage) if items else ():
        item = items.get(line.item_id)
        if item is not None and line.request and line.item_id not in replaced_ids:
            written[item.fact if isinstance(item, ScriptQuestion) else item.question].append((item, line))
    return written


def _is_cached(fact: Fact, plan: ConstructionPlan, model: str, cache: ReplyCache) -> bool:
    """Whether any of a fact's calls for questions is cached, as this model, prompt and number make them."""
    step = QuestionStep(plan.wording()["questions"])
    requests = (
        step.sample(call, fact.key, str(call.index), attempt=0)
        for edited in (True, False)
        for call in step.calls(fact, count=plan.quota(edited=edited).candidates, edited=edited)
    )
    return any(cache.get(request_key(model, request)) is not None for request in requests)


def is_replaced(verdict: Verdict) -> bool:
    """Whether a verdict says that a later construction took an item's place."""
    return verdict.by == BY and verdict.label == "drop"


def generation_verdicts(store: Store, outcomes: Sequence[FactOutcome], choice: Choice) -> Iterator[Verdict]:
    """Verdicts that say which generation counts, for facts that were just made.

    What was made now counts, also where an earlier run had replaced it. With ``replace``, questions and scripts that
    earlier constructions wrote for these facts do not; what was imported or written by hand is left alone.

    Args:
        store: With what stands there already.
        outcomes: Outcomes of facts; one that is unfinished, or brought nothing, replaces nothing.
        choice: Whether earlier generations stay beside the new one.
    """
    whole = [one for one in outcomes if not one.unfinished and any(one.questions())]
    now: dict[str, Record] = {}
    for one in whole:
        for question in one.questions():
            now |= {item.id: item for item in (question.question, *(s.script for s in question.scripts))}
    back = {v.item_id for v in store.verdicts(now) if is_replaced(v)} if now else set()
    yield from (_replaced_verdict(now[item], "keep") for item in sorted(back))
    if choice == "add" or not whole:
        return
    questions = store.of_parents(ScriptQuestion, {one.fact.key for one in whole})
    before: list[Record] = [*questions, *store.of_parents(Script, {q.key for q in questions})]
    for item in before:
        if item.id not in now and any(line.request for line in store.lineage(item.id)):
            yield _replaced_verdict(item, "drop")


def _replaced_verdict(item: Record, label: Literal["keep", "drop"]) -> Verdict:
    reason = "a later construction took its place (--replace)" if label == "drop" else ""
    return Verdict(key=verdict_key(item_id=item.id, by=BY), item_id=item.id, by=BY, label=label, reason=reason)


def dropped_in(store: Store) -> dict[str, Verdict]:
    """What people, readers and other checks dropped in a store, by content id, with a verdict that says why.

    A question among it gets no script; a prompt's place is taken by another question. People screen questions by a rule
    of their own.
    """
    others = [v for v in store.verdicts() if v.check not in OWN_CHECKS]
    later = dropped_later([v for v in others if not v.check.startswith(SCREEN)])
    return {**later, **dropped_by_people(others)}


def dropped_by_people(verdicts: Iterable[Verdict]) -> dict[str, Verdict]:
    """The questions that people dropped, by content id, with the verdict that says why.

    A lead's decision counts before all others; else more people must have dropped the question than kept it. Programs
    that stand in for people decide nothing.

    Example:
        >>> drop = Verdict(key="v/1", item_id="q", by="person:ann/screen_question@1", label="drop", reason="changes")
        >>> keep = Verdict(key="v/2", item_id="q", by="person:bob/screen_question@1", label="keep")
        >>> list(dropped_by_people([drop])), list(dropped_by_people([drop, keep]))
        (['q'], [])
    """
    said: dict[str, list[Verdict]] = defaultdict(list)
    for v in verdicts:
        rater = v.judged_by
        if rater is not None and not rater.is_program and v.label in ("keep", "drop") and v.check in SCREENED:
            said[v.item_id].append(v)
    out = {}
    for item in sorted(said):
        counting = verdicts_of_people(said[item])
        drops = [v for v in counting if v.label == "drop"]
        if 2 * len(drops) > len(counting):
            out[item] = min(drops, key=lambda v: v.key)
    return out


def dropped_later(verdicts: Sequence[Verdict]) -> dict[str, Verdict]:
    """What a default split leaves out for these verdicts, by content id, each with a verdict that drops it."""
    drops = [v for v in verdicts if v.label == "drop" and not v.related]
    said = Verdicts(verdicts, SplitRule())
    dropping = {v.item_id: v for v in sorted(drops, key=lambda v: v.key)}
    return {item: v for item, v in dropping.items() if said.judge("prompt", item).outcome == "drop"}
