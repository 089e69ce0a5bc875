"""Whether a fact was begun: any of its calls for questions counts, as this model, number and wording make them."""

from __future__ import annotations

from pathlib import Path

import pytest

from construction.llm.reply_cache import ReplyCache, StoredOutcome, request_key
from construction.pipeline.on_record import questions_on_record
from construction.prompts.prompt_file import load_prompt
from construction.scripts.question_step import QuestionStep
from curation.files.journal import Journal
from tests.support.facts import make_fact

FACT = make_fact()


@pytest.mark.parametrize("on_record", [0, 2])
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, True),
        ({"model": "another"}, False),
        ({"count": 2}, None),  # the third of four calls is none of two
        ({"edited": False}, True),  # this prompt shows no object at all
        ({"profile": "local"}, False),
        ({"fact": make_fact("Chile", "Santiago", "Rome")}, False),
    ],
)
def test_any_call_of_this_kind_counts(tmp_path: Path, on_record: int, change: dict, expected: bool | None) -> None:
    record = {"profile": "embedded", "fact": FACT, "model": "m", "count": 4, "edited": True} | change
    step = QuestionStep(load_prompt("questions", "embedded"))
    call = step.calls(FACT, count=4, edited=True)[on_record]
    with Journal(tmp_path / "j", write=True) as lines:
        cache = ReplyCache(lines)
        key = request_key("m", step.sample(call, FACT.key, str(call.index), attempt=0))
        cache.put(key, StoredOutcome(kind="reply", raw="{}", at="2026-11-21T00:00:00+00:00"))
        step = QuestionStep(load_prompt("questions", record.pop("profile")))
        want = expected if expected is not None else on_record < 2
        assert questions_on_record(cache, step, record.pop("fact"), **record) == want
