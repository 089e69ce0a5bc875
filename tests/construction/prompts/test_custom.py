"""Prompts of the user's own, their versions, and what is wrong with them in one sentence."""

from __future__ import annotations

import json
import tomllib

import pytest
from click.testing import CliRunner

from construction.cli.prompts import prompts as command
from construction.llm.reply_cache import request_key
from construction.prompts.prompt_file import FILES, WriterPrompt, copy_prompts
from construction.scripts.question_step import QuestionStep
from schemas.core.config import validate
from schemas.core.errors import DataError, UserError
from tests.support.facts import make_fact


@pytest.fixture
def folder(tmp_path):
    copy_prompts("paper", tmp_path / "mine")
    return tmp_path / "mine"


def change(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_a_copy_is_the_same_prompt(folder):
    assert FILES.load_all("paper", folder) == FILES.load_all("paper")
    assert all(FILES.is_shipped(prompt) for prompt, _ in FILES.custom(folder).values())


def test_own_words_replace_ours(folder):
    change(folder / "scripts.toml", "scripts_paper", "scripts_mine")
    change(folder / "scripts.toml", "You write scripts: each", "You are a planner. Each")
    wording = FILES.load_all("paper", folder)
    scripts = wording["scripts"]
    assert scripts.system.strip().startswith("You are a planner.") and not FILES.is_shipped(scripts)
    assert wording["questions"] == FILES.load("questions", "paper")
    (folder / "questions.toml").unlink()
    assert FILES.load_all("embedded", folder)["questions"] == FILES.load("questions", "embedded")


WRONG = {
    "unknown placeholder": ("scripts", "Object: {object}", "Object: {object} {objekt}", "unknown placeholder {objekt}"),
    "place for the new object": ("scripts", "Object: {object}", "Object: {object} {new}", "unknown placeholder {new}"),
    "no place for the object": ("scripts", "Object: {object}\n", "", "the placeholder {object} is missing"),
    "no place for the subject": ("questions", "Subject: {subject}\n", "", "the placeholder {subject} is missing"),
    "no place for the number": ("questions", "Number of questions: {count}\n", "", "{count} is missing"),
    "no version": ("scripts", "version = 4\n", "", "version: Field required"),
    "version 0": ("scripts", "version = 4\n", "version = 0\n", "version: Input should be greater"),
    "another task": ("scripts", 'task = "scripts"', 'task = "questions"', "task = 'questions' in a file"),
    "unknown field": ("scripts", "[parameters]", "[parametres]", "did you mean 'parameters'?"),
    "not TOML": ("scripts", 'shape = "scripts"', "shape = steps", "not readable as TOML"),
    "our name": ("scripts", "nine at most", "Three steps.", "is that of our own prompt"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_wrong_is_said_in_one_sentence(folder, kind):
    task, old, new, words = WRONG[kind]
    change(folder / f"{task}.toml", old, new)
    with pytest.raises(UserError) as error:
        FILES.custom(folder)
    assert words in str(error.value) and f"{task}.toml" in str(error.value) and "\n" not in str(error.value)


def test_a_place_for_the_new_object_needs_words_for_facts_without_one(folder):
    path = folder / "questions.toml"
    data = tomllib.loads(path.read_text())
    with pytest.raises(DataError, match="user_unedited is needed"):
        validate(WriterPrompt, {k: v for k, v in data.items() if k != "user_unedited"}, where="x")


def test_folders_without_prompts(tmp_path, folder):
    with pytest.raises(UserError, match="no such folder.*--write DIR"):
        FILES.custom(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="holds no prompt; allowed: questions.toml, scripts.toml"):
        FILES.custom(tmp_path / "empty")
    (folder / "scripts.two.toml").write_text((folder / "scripts.toml").read_text())
    with pytest.raises(UserError, match="two scripts prompts"):
        FILES.custom(folder)
    with pytest.raises(UserError, match="there already"):
        copy_prompts("paper", folder)


def keys(prompt):
    step = QuestionStep(prompt)
    (call,) = step.calls(make_fact(), count=4, edited=True)
    return [request_key("m", step.sample(call, "k", attempt=n)) for n in range(3)]


def test_a_raised_version_asks_anew_with_a_key_for_every_sample():
    prompt = FILES.load("questions", "paper")
    raised = prompt.model_copy(update={"version": prompt.version + 1})
    assert not set(keys(prompt)) & set(keys(raised)) and len(set(keys(prompt))) == 3


def test_the_command_writes_lists_and_renders_a_folder(tmp_path):
    runner, custom = CliRunner(), tmp_path / "mine"
    result = runner.invoke(command, ["--write", str(custom)])
    assert result.exit_code == 0 and "scripts.toml" in result.output
    change(custom / "scripts.toml", "scripts_paper", "scripts_mine")
    change(custom / "scripts.toml", "Object: {object}", "Thing to use: {object}")
    rows = [json.loads(x) for x in runner.invoke(command, ["--prompts", str(custom), "--jsonl"]).output.splitlines()]
    assert [r["label"] for r in rows] == ["questions_paper@5", "scripts_mine@4"]
    facts = tmp_path / "f.jsonl"
    facts.write_text(make_fact().model_dump_json() + "\n")
    outcome = runner.invoke(command, ["--prompts", str(custom), "--fact", str(facts)])
    assert outcome.exit_code == 0 and "Thing to use: Lima" in outcome.output
    assert "Oslo" not in outcome.output.split("== scripts_mine")[-1]
