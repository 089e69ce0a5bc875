from __future__ import annotations

import re
from pathlib import Path

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
    ("user", "message"),
    [("{event}", r"\{names\} is missing"), ("{event} {names} {old}", r"unknown placeholder \{old\}")],
)
def test_a_prompt_names_what_it_is_told_and_nothing_else(user: str, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        EventPrompt(name="x", version=1, task="paraphrase", profile="p", system="s", user=user)


def test_a_folder_of_one_s_own_replaces_what_it_holds(tmp_path: Path) -> None:
    shipped = load_event_prompts("paper")
    text = FILES.file("paraphrase", "paper").read_text(encoding="utf-8")
    variant = re.sub(r'(?m)^name = ".*"$', 'name = "mine"', text)
    (tmp_path / "paraphrase.toml").write_text(variant, encoding="utf-8")
    custom = load_event_prompts("paper", tmp_path)
    assert (custom.paraphrase.name, custom.paraphrase.user) == ("mine", shipped.paraphrase.user)
    assert custom[1:] == shipped[1:]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("notes.md", "", "holds no prompt; allowed: paraphrase.toml, topic_events.toml, tendency_questions.toml"),
        ("paraphrase.toml", 'task = "topic_events"', "task = 'topic_events' in a file called 'paraphrase.toml'"),
        ("paraphrase.toml", None, "is that of our own prompt, and this one differs from it; give it another name"),
    ],
)
def test_a_folder_that_cannot_be_used_is_one_sentence(
    tmp_path: Path, name: str, text: str | None, message: str
) -> None:
    variant = FILES.file("paraphrase", "paper").read_text(encoding="utf-8").replace("{event}", "{event} !")
    (tmp_path / name).write_text(variant if text is None else text, encoding="utf-8")
    with pytest.raises(UserError, match=re.escape(message)):
        load_event_prompts("paper", tmp_path)


def test_an_unknown_profile_is_answered_with_the_near_one() -> None:
    with pytest.raises(UserError, match="did you mean 'paper'"):
        load_event_prompts("papre")
