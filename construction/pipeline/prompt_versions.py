"""Which version of our prompts a construction goes on with: the one that its journal was begun with."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from construction.llm.reply_cache import ReplyCache
from construction.pipeline.on_record import questions_on_record
from construction.pipeline.pipeline import ConstructionPlan
from construction.prompts.prompt_file import FILES
from construction.scripts.question_step import QuestionStep
from schemas.facts import Fact

SMALL = "embedded"  # the profile whose authors a journal notes the version of
_NOTE = "prompts/embedded"
_VERSIONS = (1, 2)


def begun_with(
    cache: ReplyCache | None,
    plans: Callable[[str], ConstructionPlan],
    profile: str,
    edits: Sequence[Fact],
    *,
    model: str,
) -> str | None:
    """The earlier version of a profile under which a journal holds questions about these facts.

    None where there is no journal, where it holds questions under the current version, and where it holds none: the
    current version is asked then.

    Args:
        cache: The journal's replies, where there is one.
        plans: The plan as it is for a profile; versions may ask for different numbers of candidates.
        profile: A profile without a version.
        edits: The facts to be edited.
        model: Who is asked, as the journal names it.
    """
    if cache is None:
        return None
    for name in FILES.versions("questions", profile):
        plan = plans(name)
        step, count = QuestionStep(plan.wording().questions), plan.quota(edited=True).candidates
        if any(questions_on_record(cache, step, fact, model=model, count=count, edited=True) for fact in edits):
            return None if name == profile else name
    return None


def small_profile(cache: ReplyCache | None) -> str:
    """The profile of the embedded model where it writes scripts for another's questions, in the journal's version."""
    if cache is None:
        return SMALL
    version = cache.begun_with(_NOTE, _VERSIONS, earlier=1, present=_VERSIONS[-1])
    return SMALL if version == _VERSIONS[-1] else f"{SMALL}@{version}"


def note_small_profile(cache: ReplyCache) -> None:
    """Keep with a new journal which version of that profile it is begun with."""
    if cache.noted(_NOTE) is None and not cache.begun():
        cache.note(_NOTE, _VERSIONS[-1])
