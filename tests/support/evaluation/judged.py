"""What the tests of judging share."""

from __future__ import annotations

import asyncio

from construction.llm.client import Client, Endpoint
from construction.llm.reply_cache import ReplyCache
from curation.files.journal import Journal
from evaluation.judge.inputs import RatedScript
from evaluation.judge.judging import JudgeOptions, judge_aspect
from evaluation.judge.steps import JudgeStep
from tests.support.judge import ASK, rating


def given(item, value, rater="judge:x", **detail):
    entry = rating(item, "coherence", value, rater)
    score = None if value is None else float(detail.get("score", value))
    return RatedScript(entry, score, detail, None)


def ask(server, tmp_path, *, settings=None, aspect="coherence", item=ASK, **options):
    settings = settings or JudgeOptions(retest=0.0)

    async def run():
        endpoint = Endpoint(
            model="gpt-x", base_url=server.url, key_name="SCEDIT_NO_KEY", **{"backoff": 0.01, "tries": 2, **options}
        )
        with Journal(tmp_path / "j.jsonl", write=True) as journal:
            async with Client(endpoint, ReplyCache(journal)) as client:
                output = JudgeStep.load(aspect, settings.profile, model="gpt-x")
                return await judge_aspect(output, item, client, settings)

    return asyncio.run(run())


def step(aspect="coherence", profile="paper"):
    return JudgeStep.load(aspect, profile, model="gpt-x")
