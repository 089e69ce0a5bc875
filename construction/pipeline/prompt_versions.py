"""Which version of our prompts a construction goes on with: the one that its journal was begun with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from construction.llm.reply_cache import ReplyCache, request_key
from construction.pipeline.pipeline import ConstructionPlan
from construction.prompts.prompt_file import FILES
from construction.scripts.question_step import QuestionStep
from curation.files.journal import Journal
from schemas.facts import Fact


def begun_with(
    journal: Path, plans: Callable[[str], ConstructionPlan], profile: str, edits: Sequence[Fact], *, model: str
) -> str | None:
    """The earlier version of a profile under which a journal holds questions about these facts.

    None where there is no journal, where it holds questions under the current version, and where it holds none: the
    current version is asked then.

    Args:
        journal: Replies on record.
        plans: The plan as it is for a profile; versions may ask for different numbers of candidates.
        profile: A profile without a version.
        edits: The facts to be edited.
        model: Who is asked, as the journal names it.
    """
    if not journal.exists():
        return None
    with Journal(journal) as lines:
        cache = ReplyCache(lines)
        for name in FILES.versions("questions", profile):
            if _asked(cache, plans(name), edits, model=model):
                return None if name == profile else name
    return None


def _asked(cache: ReplyCache, plan: ConstructionPlan, edits: Sequence[Fact], *, model: str) -> bool:
    """Whether the first call for questions about any of the facts is on record."""
    step, count = QuestionStep(plan.wording().questions), plan.quota(edited=True).candidates
    for fact in edits:
        call = step.calls(fact, count=count, edited=True)[0]
        if cache.get(request_key(model, step.sample(call, fact.key, str(call.index), attempt=0))) is not None:
            return True
    return False
