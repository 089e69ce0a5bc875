"""What decides whether a reply on record is taken again: the wording's version, the attempt, and a seed of the item."""

from __future__ import annotations

import pytest

from construction.llm.prompt_file import SAMPLES
from construction.llm.reply_cache import request_key
from construction.prompts.prompt_file import FILES
from construction.scripts.script_step import ScriptAsk, ScriptStep
from schemas.facts import Object
from tests.support.construction.prompt_questions import QUESTION

ASK = ScriptAsk(questions=(QUESTION,), old=Object(text="Lima"))


def step_of(profile="paper", **changes):
    return ScriptStep(FILES.load("scripts", profile).model_copy(update=changes))


def test_what_version_1_asked_keeps_its_key_and_a_raised_version_asks_anew():
    requests = [step_of(version=v).sample(ASK, "q", attempt=a) for v in (1, 2, 3) for a in (0, 1)]
    assert [r.sample for r in requests] == [0, 1, SAMPLES, SAMPLES + 1, 2 * SAMPLES, 2 * SAMPLES + 1]
    assert len({request_key("m", r) for r in requests}) == 6
    assert len({r.messages for r in requests}) == 1, "the words are the same: only the sample tells them apart"


def test_a_name_of_ones_own_does_not_change_what_is_asked():
    assert step_of(name="mine").sample(ASK, "q", attempt=0) == step_of().sample(ASK, "q", attempt=0)
    assert step_of(name="mine").label == f"mine@{step_of().version}"


@pytest.mark.parametrize("seeded", [True, False])
def test_a_seed_is_drawn_from_prompt_item_and_attempt_where_it_is_asked_for(seeded):
    step = step_of(seeded=seeded)
    pairs = [("q1", 0), ("q1", 1), ("q2", 0)]
    seeds = [step.sample(ASK, name, attempt=n).parameters.get("seed") for name, n in pairs]
    repeat = [step.sample(ASK, name, attempt=n).parameters.get("seed") for name, n in pairs]
    assert seeds == repeat and len(set(seeds)) == (3 if seeded else 1)
    other = step_of(seeded=seeded, version=step.version + 1).sample(ASK, "q1", attempt=0)
    assert (other.parameters.get("seed") == seeds[0]) == (not seeded)


def test_parameters_of_a_request_are_its_own():
    step = step_of()
    step.sample(ASK, "q", attempt=0).parameters["temperature"] = 99
    assert step.sample(ASK, "q", attempt=0).parameters["temperature"] != 99
