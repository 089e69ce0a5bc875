"""Which version of the judge's prompts a judging goes on with: the one that its journal was begun with."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from construction.llm.reply_cache import ReplyCache, request_key
from evaluation.judge.judging import JudgeOptions, judge_request, judge_steps
from evaluation.judge.prompt_files import ASPECTS, FILES
from evaluation.judge.steps import JudgeInput

logger = logging.getLogger(__name__)


def options_on_record(
    cache: ReplyCache, options: JudgeOptions, asks: Sequence[JudgeInput], *, model: str
) -> JudgeOptions:
    """The options of a judging; with an earlier version of the prompts where the journal holds replies to it.

    A journal that was begun with the parsed steps is finished with them: one judging never mixes two prompts. A version
    that is named (``paper@2``) is asked as it stands.

    Args:
        cache: The journal's replies.
        options: As wanted.
        asks: The scripts.
        model: Who is asked, as the journal names it.
    """
    if "@" in options.profile:
        return options
    present, *earlier = FILES.versions(ASPECTS[0], options.profile)
    for name in (present, *earlier):
        tried = options.model_copy(update={"profile": name})
        if _any_on_record(cache, tried, asks, model):
            if name != present:
                logger.warning(
                    "the journal was begun with the prompts '%s', which show a script's parsed steps: this judging "
                    "goes on with them (a new --journal, or --profile %s, shows the text that the model wrote)",
                    name,
                    _profile_name(present),
                )
            return options if name == present else tried
    return options


def _profile_name(profile: str) -> str:
    return f"{profile}@{FILES.load(ASPECTS[0], profile).version}"


def _any_on_record(cache: ReplyCache, options: JudgeOptions, asks: Sequence[JudgeInput], model: str) -> bool:
    steps = judge_steps(options, model=model)
    for logprobs in (options.logprobs, not options.logprobs):
        asked_options = options.model_copy(update={"logprobs": logprobs})
        for ask in asks:
            for step in steps:
                request = judge_request(step, ask, asked_options)
                if cache.get(request_key(model, request)) is not None:
                    return True
    return False
