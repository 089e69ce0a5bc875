"""Which version of our prompts a construction goes on with: the one that its journal was begun with."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from construction.llm.reply_cache import ReplyCache
from construction.pipeline.on_record import questions_on_record
from construction.pipeline.pipeline import ConstructionPlan
from construction.prompts.prompt_file import FILES
from construction.scripts.question_step import QuestionStep
from curation.files.local_models import LOCAL, LOCAL_FILE
from curation.files.model_packages import EMBEDDED
from schemas.facts import Fact

SMALL = (EMBEDDED, LOCAL)
"""Profiles for small models; of their authors a journal notes the version."""
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


def small_profiles(cache: ReplyCache | None) -> dict[str, str]:
    """The profile of each small model where it writes scripts for another's questions, in the journal's version."""
    return {name: _in_version(name, _version(cache, name)) for name in SMALL}


def note_small_profiles(cache: ReplyCache) -> None:
    """Keep with a journal which version of those profiles is followed, before their models have answered there."""
    for name in SMALL:
        if cache.noted(_note(name)) is None and not _answered(cache, name):
            cache.note(_note(name), _VERSIONS[-1])


def _version(cache: ReplyCache | None, name: str) -> int:
    if cache is None:
        return _VERSIONS[-1]
    earlier = 1 if _answered(cache, name) else _VERSIONS[-1]
    return cache.begun_with(_note(name), _VERSIONS, earlier=earlier, present=_VERSIONS[-1])


def _answered(cache: ReplyCache, name: str) -> bool:
    """Whether a model may have written into the journal; of the embedded one every construction may hold replies."""
    if name == LOCAL:
        return any((stored.served or "").endswith(LOCAL_FILE) for _, stored in cache.replies())
    return cache.begun()


def _note(name: str) -> str:
    return f"prompts/{name}"


def _in_version(name: str, version: int) -> str:
    return name if version == _VERSIONS[-1] else f"{name}@{version}"
