from __future__ import annotations

import pytest
from pydantic import ValidationError

from construction.documents.prompt_file import FILES, TASKS, ProbePrompt, load_probe_prompts
from schemas.documents.tags import TAGS


def test_both_profiles_have_every_task_and_names_of_their_own() -> None:
    assert FILES.profiles() == ["embedded", "paper"]
    prompts = [prompt for profile in FILES.profiles() for prompt in load_probe_prompts(profile)]
    assert [p.task for p in prompts] == [*TASKS, *TASKS] and len({p.name for p in prompts}) == 4
    assert load_probe_prompts("embedded").write_probes.quality_of("any") == "plumbing"
    assert load_probe_prompts("paper").write_probes.quality_of("gpt-4.1") is None


def test_the_prompt_names_every_tag_of_the_closed_list() -> None:
    assert ", ".join(TAGS) in load_probe_prompts("paper").write_probes.system


@pytest.mark.parametrize(
    ("user", "said"),
    [("{document} {most}", r"\{fewest\} is missing"), ("{document} {most} {fewest} {x}", r"unknown placeholder \{x\}")],
)
def test_a_prompt_names_what_it_is_told_and_nothing_else(user: str, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        ProbePrompt(name="x", version=1, task="write_probes", profile="p", system="s", user=user)
