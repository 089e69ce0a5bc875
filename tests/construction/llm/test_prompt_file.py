"""Prompt files of any kind: profiles, rendering, seeds."""

from __future__ import annotations

import pytest

from construction.llm import prompt_file
from construction.llm.prompt_file import PromptFile, PromptFolder, read_prompt
from schemas.core.errors import UserError

TEXT = """
name = "greet"
version = 2
seeded = true
system = "Be kind to {name}."
user = "Greet {name} {unknown}"
parameters = { temperature = 0.5 }
examples = [{ user = "Greet {name}", assistant = "Hello" }]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "prompts").mkdir()
    for name in ("greet.paper", "leave.paper", "greet.half"):
        (tmp_path / "prompts" / f"{name}.toml").write_text(TEXT)
    monkeypatch.setattr(prompt_file, "files", lambda package: tmp_path)
    return PromptFolder(PromptFile, package="x", folder="prompts", tasks=("greet", "leave"), reader="the greeter")


def test_a_profile_has_a_file_for_every_task(folder):
    assert folder.profiles() == ["paper"]
    with pytest.raises(UserError, match="the greeter has no profile 'papr'; allowed: paper; did you mean 'paper'"):
        folder.load("greet", "papr")


def test_a_broken_file_is_named(folder):
    path = folder.path() / "greet.half.toml"
    path.write_text(TEXT.replace("seeded", "seded"))
    with pytest.raises(UserError, match=r"greet\.half\.toml.*did you mean 'seeded'"):
        read_prompt(PromptFile, path)


def test_placeholders_are_filled_once_and_examples_stay_as_they_are(folder):
    turns = folder.load("greet", "paper").chat({"name": "{unknown}"})
    assert [(t.role, t.content) for t in turns] == [
        ("system", "Be kind to {unknown}."),
        ("user", "Greet {name}"),
        ("assistant", "Hello"),
        ("user", "Greet {unknown} {unknown}"),
    ]
    assert folder.load("greet", "paper").chat({"name": "Ann"}, user="Bye {name}")[-1].content == "Bye Ann"


def test_a_seed_hangs_on_label_and_names_and_is_sent_only_where_asked_for(folder):
    prompt = folder.load("greet", "paper")
    assert prompt.sampling("a") == prompt.sampling("a") != prompt.sampling("b")
    assert prompt.sampling("a") != prompt.model_copy(update={"version": 3}).sampling("a")
    assert prompt.model_copy(update={"seeded": False}).sampling("a") == {"temperature": 0.5}
    assert prompt.parameters == {"temperature": 0.5}, "the file itself stays"
