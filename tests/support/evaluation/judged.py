"""What the tests of judging share."""

from __future__ import annotations

import asyncio

from construction.llm.client import Client, Reply
from construction.llm.endpoint import Access
from construction.llm.replies import read as read_outcome
from construction.llm.reply_cache import ReplyCache, StoredOutcome
from curation.files.journal import Journal
from evaluation.judge.judging import JudgeOptions, judge_steps, judge_text, read_reply
from evaluation.judge.ratings import RatedScript
from evaluation.judge.steps import judge_name
from schemas.ratings import SCRIPT
from tests.support.judge import ASK, rating


def given(item, value, rater="judge:x", **detail):
    entry = rating(item, "coherence", value, rater)
    return RatedScript(entry, detail, None)


def ask(server, tmp_path, *, settings=None, aspect="coherence", item=ASK, **options):
    settings = settings or JudgeOptions(retest=0.0)

    async def run():
        endpoint = Access(
            model="gpt-x", base_url=server.url, key_name="SCEDIT_NO_KEY", **{"backoff": 0.01, "tries": 2, **options}
        )
        with Journal(tmp_path / "j.jsonl", write=True) as journal:
            async with Client(endpoint, ReplyCache(journal)) as client:
                (rating,) = await judge_text(step(aspect, settings.profile), item, client, settings)
                return rating

    return asyncio.run(run())


def step(aspect="coherence", profile="paper", *, rubric=SCRIPT, model="gpt-x"):
    options = JudgeOptions(profile=profile, aspects=(aspect,))
    return judge_steps(rubric, options, rater=judge_name(model, profile))[0]


def read(judge_step, item, raw):
    """What a reply in these words comes to, by aspect."""
    at = "2026-01-01T00:00:00Z"
    status, value, message = read_outcome(StoredOutcome(kind="reply", raw=raw, at=at), judge_step.reply)
    reply = Reply(status, value, raw, message, "request", 10, 5, at, 1, 0.5)
    return read_reply(judge_step, item, reply)
