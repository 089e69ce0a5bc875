"""Which facts a construction was begun for: those with a call for questions on record."""

from __future__ import annotations

from construction.llm.reply_cache import ReplyCache, request_key
from construction.scripts.question_step import QuestionStep
from schemas.facts import Fact


def questions_on_record(
    cache: ReplyCache, step: QuestionStep, fact: Fact, *, model: str, count: int, edited: bool
) -> bool:
    """Whether any of a fact's calls for questions is on record, as this step, model and number make them.

    Args:
        cache: The journal's replies.
        step: Asks for questions.
        fact: The fact.
        model: Who is asked, as the journal names it.
        count: How many questions are asked for.
        edited: Whether the new object is shown.
    """
    calls = step.calls(fact, count=count, edited=edited)
    requests = (step.sample(call, fact.key, str(call.index), attempt=0) for call in calls)
    return any(cache.get(request_key(model, request)) is not None for request in requests)
