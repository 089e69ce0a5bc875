"""What probes ask a model with instructions, thoughts and targets."""

from __future__ import annotations

import re

import pytest
from pydantic import ValidationError

from schemas.probes import GenerateProbe, ScoreProbe, ThoughtAsked, instructed
from tests.schemas.made_records import SCORE, WRITE


@pytest.mark.parametrize("probe", [SCORE, WRITE], ids=["score", "write"])
def test_an_edit_leaves_the_instruction_alone_and_may_call_for_another(probe: ScoreProbe | GenerateProbe) -> None:
    def with_event(prompt: str) -> str:
        return f"Event: Lima moved.\n{prompt}"

    variant = probe.model_copy(update={"instruction": "Answer."})
    assert instructed(probe, None) == probe.prompt
    assert instructed(variant, None) == f"Answer.\n\n{probe.prompt}"
    assert instructed(variant, with_event) == f"Answer.\n\nEvent: Lima moved.\n{probe.prompt}"
    other = variant.model_copy(update={"instruction_in_context": "Use the event."})
    assert instructed(other, with_event) == f"Use the event.\n\nEvent: Lima moved.\n{probe.prompt}"
    assert instructed(other, lambda prompt: prompt) == instructed(other, None) == f"Answer.\n\n{probe.prompt}"


def test_a_thought_makes_a_reply_longer() -> None:
    thinks = [WRITE.model_copy(update={"thought": ThoughtAsked(marks=(("<t>", "</t>"),), most=n)}) for n in (5, 6)]
    assert [p.longest for p in (WRITE, *thinks)] == [WRITE.most, WRITE.most + 5, WRITE.most + 6]


@pytest.mark.parametrize(
    ("prompt", "separator", "target", "problem"),
    [
        ("The capital of France is ", " ", "Paris", "the prompt 'The capital of France is ' ends with white space"),
        ("Paris is\n", "\n", "a city", "ends with white space"),
        ("The capital of France is", " ", " Paris", "the target ' Paris' begins with white space"),
        ("The capital of France is ", "", "Paris", ""),
        ("The capital of France is", "", " Paris", ""),
        ("The capital (", "", "Paris", ""),
        ("The capital is ", "(", "Paris", ""),
    ],
)
def test_white_space_between_prompt_and_target_is_given_once(
    prompt: str, separator: str, target: str, problem: str
) -> None:
    def make() -> ScoreProbe:
        return ScoreProbe(purpose="fact", item="f", prompt=prompt, separator=separator, targets=("Rome", target))

    if not problem:
        assert make().targets[1] == target
        return
    with pytest.raises(ValidationError, match=re.escape(problem) + ".*give separator=''"):
        make()
