"""Which generation of questions and scripts counts where a fact has several; verdicts say so, nothing is deleted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from construction.authoring.outcome import FactOutcome
from curation.store.store import Store
from schemas.core.records import Record
from schemas.scripts import Script, ScriptQuestion
from schemas.verdicts import Verdict, verdict_key

Choice = Literal["add", "replace"]
CHECK = "replaced"
BY = f"{CHECK}@1"


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
    yield from (_verdict(now[item], "keep") for item in sorted(back))
    if choice == "add" or not whole:
        return
    questions = store.of_parents(ScriptQuestion, {one.fact.key for one in whole})
    before: list[Record] = [*questions, *store.of_parents(Script, {q.key for q in questions})]
    for item in before:
        if item.id not in now and any(line.request for line in store.lineage(item.id)):
            yield _verdict(item, "drop")


def _verdict(item: Record, label: Literal["keep", "drop"]) -> Verdict:
    reason = "a later construction took its place (--replace)" if label == "drop" else ""
    return Verdict(key=verdict_key(item_id=item.id, by=BY), item_id=item.id, by=BY, label=label, reason=reason)
