"""The prompt files of events and of documents, as far as they are not like those of questions and scripts."""

from __future__ import annotations

import re

import pytest
from pydantic import ValidationError

from construction.documents.steps import FILES as DOCUMENTS
from construction.documents.steps import ProbePrompt
from construction.events.steps import FILES as EVENTS
from construction.events.steps import EventPrompt
from schemas.core.errors import UserError
from schemas.documents.tags import TAGS


@pytest.mark.parametrize("files", [EVENTS, DOCUMENTS])
def test_both_profiles_have_every_task_and_names_of_their_own(files) -> None:
    assert files.profiles() == ["embedded", "paper"]
    prompts = [prompt for profile in files.profiles() for prompt in files.load_all(profile).values()]
    assert [p.task for p in prompts] == [*files.tasks, *files.tasks]
    assert len({p.name for p in prompts}) == len(prompts)
    assert {p.quality_of("gpt-4.1") for p in prompts} == {"plumbing", None}


def test_the_prompt_names_every_tag_of_the_closed_list() -> None:
    assert ", ".join(TAGS) in DOCUMENTS.load("write_probes", "paper").system


@pytest.mark.parametrize(
    ("kind", "task", "user", "message"),
    [
        (EventPrompt, "paraphrase", "{event}", r"\{names\} is missing"),
        (EventPrompt, "paraphrase", "{event} {names} {old}", r"unknown placeholder \{old\}"),
        (ProbePrompt, "write_probes", "{document} {most}", r"\{fewest\} is missing"),
        (ProbePrompt, "write_probes", "{document} {most} {fewest} {x}", r"unknown placeholder \{x\}"),
    ],
)
def test_a_prompt_names_what_it_is_told_and_nothing_else(kind, task, user, message) -> None:
    with pytest.raises(ValidationError, match=message):
        kind(name="x", version=1, task=task, profile="p", system="s", user=user)


def test_a_folder_of_one_s_own_replaces_what_it_holds(tmp_path) -> None:
    text = EVENTS.file("paraphrase", "paper").read_text(encoding="utf-8")
    variant = re.sub(r'(?m)^name = ".*"$', 'name = "mine"', text)
    (tmp_path / "paraphrase.toml").write_text(variant, encoding="utf-8")
    custom, shipped = EVENTS.load_all("paper", tmp_path), EVENTS.load_all("paper")
    assert custom.pop("paraphrase").name == "mine" != shipped.pop("paraphrase").name
    assert custom == shipped


def test_a_folder_without_prompts_says_where_ours_are(tmp_path) -> None:
    with pytest.raises(UserError, match="allowed: paraphrase.toml, .*begin with copies of the files in"):
        EVENTS.load_all("paper", tmp_path)
