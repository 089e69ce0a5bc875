"""A second generation: questions or scripts asked anew for facts that have some already, by another model or prompt.

Asking anew is paid for and leaves both generations side by side, so a person is told before the first call and chooses:
``add`` keeps both, ``replace`` lets the new one take the place of the earlier, which stays in the store, dropped.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from construction.authoring.replacement import is_replaced
from construction.llm.reply_cache import ReplyCache, request_key
from construction.pipeline.author_models import ScriptAuthor
from construction.pipeline.pipeline import ConstructionPlan, ConstructionWork
from construction.prompts.prompt_file import FILES
from construction.scripts.question_step import QuestionStep
from curation.store.store import Store
from schemas.core.errors import UserError
from schemas.core.records import Record
from schemas.facts import Fact
from schemas.lineage import Lineage
from schemas.scripts import Script, ScriptQuestion


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


def refuse_second_generation(earlier: Sequence[str], *, where: str) -> None:
    """Say what stands there, before anything is asked.

    Raises:
        UserError: there is an earlier generation.
    """
    if earlier:
        raise UserError(
            sentence(earlier),
            where=where,
            fix="--add keeps both, --replace puts the new one in the place of the earlier; the model, prompts, numbers "
            "and journal of before go on with what is there",
        )


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
