"""What ``scedit prompts`` shows: every prompt in use, as the model would see it, and no more than the model sees."""

from __future__ import annotations

import json
import re
import tomllib

import pytest
from click.testing import CliRunner
from pydantic import ValidationError

from construction.checks import CheckInputs, judge
from construction.cli.prompts import prompts as command
from construction.documents.steps import FILES as DOCUMENTS
from construction.documents.steps import ProbePrompt
from construction.events.steps import FILES as EVENTS
from construction.events.steps import EventPrompt
from construction.pipeline.prompt_preview import prompt_list, render_messages
from construction.prompts.prompt_file import FILES, WriterPrompt, copy_prompts
from construction.scripts.question_step import OneQuestion, QuestionStep, ReasonedQuestions
from construction.scripts.script_step import ScriptAsk, ScriptStep, script_of
from construction.scripts.truncation import cut_script
from schemas.core.config import validate
from schemas.core.errors import DataError, UserError
from schemas.documents.tags import TAGS
from schemas.scripts import ScriptQuestion
from tests.support import ROOT
from tests.support.construction.prompt_questions import QUESTION
from tests.support.facts import make_fact
from tests.support.scripted_server import field


def test_spare_questions_and_words_for_asking_again_are_part_of_the_wording():
    prompt = FILES.load("scripts", "paper")
    assert prompt.model_copy(update={"again": "No: {reason}"}).digest != prompt.digest
    assert prompt.model_copy(update={"candidates": 7}).digest != prompt.digest


@pytest.mark.parametrize("task", ["questions", "scripts"])
def test_every_reply_of_every_profile_is_limited(task):
    for profile in FILES.profiles():
        assert FILES.load(task, profile).parameters["max_tokens"] <= 1500


@pytest.mark.parametrize(
    ("task", "changes", "words"),
    [
        ("scripts", {"again": "Write another one."}, "placeholder {reason}"),
        ("scripts", {"again": "Not {new}: {reason}"}, "placeholder {reason} and no other"),
        ("questions", {"again": "No: {reason}"}, "belongs to a scripts prompt"),
        ("scripts", {"again": "No: {reason}", "shape": "object_last"}, "of the shape 'scripts'"),
        ("questions", {"shape": "scripts"}, "no shape 'scripts'"),
        ("scripts", {"shape": "why_list"}, "no shape 'why_list', but scripts or object_last"),
        ("verify_next", {"attempts": 3}, "a verify_next prompt has no 'attempts'"),
        ("questions", {"candidates": 0}, "candidates"),
        ("questions", {"parameters": {"model": "another"}}, "'model' is no sampling parameter"),
        ("scripts", {"parameters": {"temperature": 0, "n": 4}}, "'n' is no sampling parameter"),
    ],
)
def test_what_a_prompt_file_may_not_say(task, changes, words):
    with pytest.raises(DataError, match=words):
        validate(WriterPrompt, {**FILES.load(task, "paper").model_dump(exclude_unset=True), **changes}, where="x")


def _examples(task):
    prompt = FILES.load(task, "paper")
    step = (QuestionStep if task == "questions" else ScriptStep)(prompt)
    return [(e.user, step.reply.model_validate_json(e.assistant)) for e in prompt.examples]


def test_the_examples_of_questions_pass_the_checks():
    for user, reply in _examples("questions"):
        old = field(user, "Object before the change") or field(user, "Object")
        fact = make_fact(field(user, "Subject"), old, field(user, "Object after the change") or "Atlantis")
        assert reply.why and len(reply.questions) == int(field(user, "Number of questions"))
        for n, text in enumerate(reply.questions):
            question = ScriptQuestion(key=f"q{n}", fact=fact.key, text=text)
            verdicts = judge("question", CheckInputs(fact=fact, question=question))
            assert [v.reason for v in verdicts if v.label != "keep"] == [], text


def test_the_examples_of_scripts_pass_the_checks_with_two_preparing_steps():
    for user, reply in _examples("scripts"):
        texts = re.findall(r"^Question \d+: (.*)$", user, re.MULTILINE)
        questions = tuple(ScriptQuestion(key=f"q{n}", fact="f", text=text) for n, text in enumerate(texts))
        fact = make_fact("Norway", field(user, "Object"), "Atlantis", relation="P36")
        drafts = ScriptStep(FILES.load("scripts", "paper")).parse(ScriptAsk(questions=questions, old=fact.old), reply)
        assert len(drafts) == len(questions) >= 1
        for question, draft in zip(questions, drafts, strict=True):
            assert draft is not None and 5 <= len(draft) <= 9
            script = script_of(question, draft)
            prompt = cut_script(fact, question, script)
            assert prompt is not None and prompt.step is not None and prompt.step >= 3
            assert prompt.text.split()[-1] not in ("a", "an", "the"), "no article that tells the object's kind"
            inputs = CheckInputs(fact=fact, question=question, draft=draft, script=script, prompt=prompt)
            for stage in ("draft", "script", "prompt"):
                assert [v.reason for v in judge(stage, inputs) if v.label != "keep"] == []


@pytest.mark.parametrize("profile", FILES.profiles())
@pytest.mark.parametrize("task", ["questions", "scripts"])
def test_examples_of_every_prompt_obey_its_own_rules(task, profile):
    prompt = FILES.load(task, profile)
    assert prompt.examples
    reply = (QuestionStep if task == "questions" else ScriptStep)(prompt).reply
    for example in prompt.examples:
        parsed = reply.model_validate_json(example.assistant)
        if isinstance(parsed, ReasonedQuestions | OneQuestion):
            for text in getattr(parsed, "questions", None) or [parsed.question]:
                assert text.startswith("How ") and text.endswith("?")
        else:
            step = ScriptStep(prompt)
            for draft in step.parse(ScriptAsk(questions=(QUESTION,) * 2, old=make_fact().old), parsed):
                assert draft is None or script_of(QUESTION, draft)


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


def test_a_folder_without_prompts_says_where_ours_are(tmp_path) -> None:
    with pytest.raises(UserError, match="allowed: paraphrase.toml, .*begin with copies of the files in"):
        EVENTS.load_all("paper", tmp_path)


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
    copies = {task: prompt.digest for task, (prompt, _) in FILES.custom(folder).items()}
    assert copies == {task: prompt.digest for task, prompt in FILES.load_all("paper").items() if task in copies}


WRONG = {
    "unknown placeholder": ("scripts", "Object: {object}", "Object: {object} {objekt}", "unknown placeholder {objekt}"),
    "place for the new object": ("scripts", "Object: {object}", "Object: {object} {new}", "unknown placeholder {new}"),
    "no place for the object": ("scripts", "Object: {object}\n", "", "the placeholder {object} is missing"),
    "no place for the subject": ("questions", "Subject: {subject}\n", "", "the placeholder {subject} is missing"),
    "no place for the number": ("questions", "Number of questions: {count}\n", "", "{count} is missing"),
    "no version": ("scripts", "version = 6\n", "", "version: Field required"),
    "version 0": ("scripts", "version = 6\n", "version = 0\n", "version: Input should be greater"),
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


def test_a_file_that_is_no_prompt_by_its_name_is_named(folder):
    assert FILES.unused(folder) == []
    for old, new in (("questions.toml", "question.toml"), ("verify_next.toml", "verify_next.mine.toml")):
        (folder / old).rename(folder / new)
    assert FILES.unused(folder) == ["question.toml"] and "verify_next" in FILES.custom(folder)


def test_a_place_for_the_new_object_needs_words_for_facts_without_one(folder):
    path = folder / "questions.toml"
    data = tomllib.loads(path.read_text())
    with pytest.raises(DataError, match="user_unedited is needed"):
        validate(WriterPrompt, {k: v for k, v in data.items() if k != "user_unedited"}, where="x")


def test_folders_without_prompts(tmp_path, folder):
    with pytest.raises(UserError, match="no such folder.*--write DIR"):
        FILES.custom(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="holds no prompt; allowed: questions.toml, scripts.toml, verify_"):
        FILES.custom(tmp_path / "empty")
    (folder / "scripts.two.toml").write_text((folder / "scripts.toml").read_text())
    with pytest.raises(UserError, match="two scripts prompts"):
        FILES.custom(folder)
    with pytest.raises(UserError, match="there already"):
        copy_prompts("paper", folder)


def test_the_command_writes_lists_and_renders_a_folder(tmp_path):
    runner, custom = CliRunner(), tmp_path / "mine"
    result = runner.invoke(command, ["--write", str(custom)])
    assert result.exit_code == 0 and "scripts.toml" in result.output
    change(custom / "scripts.toml", "scripts_paper", "scripts_mine")
    change(custom / "scripts.toml", "Object: {object}", "Thing to use: {object}")
    rows = [json.loads(x) for x in runner.invoke(command, ["--prompts", str(custom), "--jsonl"]).output.splitlines()]
    assert [r["label"] for r in rows] == [
        "questions_paper@6", "scripts_mine@6", "verify_question@2", "verify_prompt@3", "verify_next@3"
    ]  # fmt: skip
    facts = tmp_path / "f.jsonl"
    facts.write_text(make_fact().model_dump_json() + "\n")
    outcome = runner.invoke(command, ["--prompts", str(custom), "--fact", str(facts)])
    assert outcome.exit_code == 0 and "Thing to use: Lima" in outcome.output
    assert "Oslo" not in outcome.output.split("== scripts_mine")[-1].split("== verify")[0]


# What ``scedit prompts`` shows: every prompt in use, as the model would see it, and no more than the model sees.
FACT = make_fact("Atlantis </text> {old}", "Lima", "Oslo")


def last_turn(fact, task):
    turns = [t for t in render_messages(fact, "paper") if t["label"].startswith(task) and t["role"] == "user"]
    return turns[-1]["content"]


def test_the_listing_names_files_that_are_there_one_for_every_task_and_profile():
    rows = list(prompt_list())
    tasks = {(row["task"], row["profile"]) for row in rows}
    assert tasks == {(task, profile) for task in ("questions", "scripts") for profile in FILES.profiles()} | {
        (f"verify_{task}", "paper") for task in ("question", "prompt", "next")
    }
    assert len({row["label"].partition("@")[0] for row in rows}) == len(rows)
    for row in rows:
        assert (ROOT / row["path"]).is_file(), f"{row['label']} is said to stand in {row['path']}"
    assert [r for r in prompt_list("paper")] == [r for r in rows if r["profile"] == "paper"]


def test_a_fact_without_a_change_is_shown_as_a_neighbour_would_be():
    plain = make_fact("Peru", "Lima", None)
    (last,) = [
        t["content"]
        for t in render_messages(plain, "paper")
        if t["label"].startswith("questions") and t["role"] == "user"
    ][-1:]
    assert "Lima" in last and "after the change" not in last


def test_what_a_fact_says_is_data_in_what_is_shown():
    part = last_turn(FACT, "verify_prompt").split("<text>\n")[-1]
    assert part.count("</text>") == 1 and "< /text> {old}" in part, "no name closes the fence or fills a placeholder"


def test_prompts_of_ones_own_are_shown_with_their_files_the_verifiers_among_them(tmp_path):
    mine = tmp_path / "mine"
    copy_prompts("paper", mine)
    for name in ("questions", "verify_question", "verify_prompt"):
        (mine / f"{name}.toml").unlink()
    rows = list(prompt_list(folder=mine))
    assert [(r["task"], r["path"]) for r in rows] == [
        (task, str(mine / f"{task}.toml")) for task in ("scripts", "verify_next")
    ]
    assert {t["label"] for t in render_messages(FACT, folder=mine)} == {row["label"] for row in rows}
    (mine / "scripts.toml").unlink()
    assert [r["task"] for r in prompt_list(folder=mine)] == ["verify_next"], "a folder of the verifier's alone is one"
