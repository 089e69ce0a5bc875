from __future__ import annotations

import pytest
from pydantic import ValidationError

from construction.events.prompt_file import FILES, TASKS, EventPrompt, load_event_prompts
from schemas.core.errors import UserError


def test_both_profiles_have_every_task_and_names_of_their_own() -> None:
    assert FILES.profiles() == ["embedded", "paper"]
    prompts = [prompt for profile in FILES.profiles() for prompt in load_event_prompts(profile)]
    assert [p.task for p in prompts] == [*TASKS, *TASKS] and len({p.name for p in prompts}) == 6
    assert load_event_prompts("embedded").paraphrase.quality_of("any") == "plumbing"
    assert load_event_prompts("paper").paraphrase.quality_of("gpt-4.1") is None


@pytest.mark.parametrize(
    ("user", "said"), [("{event}", r"\{names\} is missing"), ("{event} {names} {old}", r"unknown placeholder \{old\}")]
)
def test_a_prompt_names_what_it_is_told_and_nothing_else(user: str, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        EventPrompt(name="x", version=1, task="paraphrase", profile="p", system="s", user=user)


def test_an_unknown_profile_is_answered_with_the_near_one() -> None:
    with pytest.raises(UserError, match="did you mean 'paper'"):
        load_event_prompts("papre")
