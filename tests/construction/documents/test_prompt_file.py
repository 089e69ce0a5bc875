from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from construction.documents.prompt_file import FILES, TASKS, ProbePrompt, load_probe_prompts
from schemas.core.errors import UserError
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


def test_a_folder_of_one_s_own_replaces_what_it_holds(tmp_path: Path) -> None:
    text = FILES.file("write_probes", "paper").read_text(encoding="utf-8")
    renamed = re.sub(r'(?m)^name = ".*"$', 'name = "mine"', text)
    (tmp_path / "write_probes.toml").write_text(renamed, encoding="utf-8")
    mine = load_probe_prompts("paper", tmp_path)
    assert mine.write_probes.name == "mine" and mine.answer_probe == load_probe_prompts("paper").answer_probe


def test_an_unknown_profile_is_answered_with_the_near_one() -> None:
    with pytest.raises(UserError, match="did you mean 'paper'"):
        load_probe_prompts("papre")
