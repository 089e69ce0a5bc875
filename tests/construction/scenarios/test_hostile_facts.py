"""Hostile text in facts stays data: in mentions, cuts, checks, prompts, the store, tables, exports and the report."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from construction.checks import CheckInputs, judge
from construction.checks.fact_dates import days
from construction.llm.prompt_text import LONGEST
from construction.prompts.prompt_file import FILES
from construction.scripts.question_step import QuestionAsk, QuestionStep
from construction.scripts.script_step import Draft, ScriptAsk, ScriptStep, script_of
from construction.scripts.truncation import cut_script, first_cut, separator_of
from construction.verifier.steps import STEPS, VerifyAsk
from curation.export.formats import EXPORTERS, export
from curation.export.publish import publish
from curation.loaders import load
from curation.splits.split_file import load_split
from curation.store.store import Store
from schemas.facts import Fact, Object
from schemas.scripts import ScriptPrompt, ScriptQuestion
from schemas.text.escaping import escape_line
from schemas.text.mentions import find
from tests.support import forked_programs as programs
from tests.support.commands import command
from tests.support.facts import make_fact
from tests.support.hostile_text import MEGABYTE, NAMES, OBEYED, hostile_fact

LONG = {
    "letters": "a" * MEGABYTE,
    "accents": "\u00e9" * MEGABYTE,
    "spaces": "a" + " " * MEGABYTE + "b",
    "marks": "a" + "\u0301" * MEGABYTE,
    "brackets": "a" + "(" * MEGABYTE,
    "words": "Rome " * (MEGABYTE // 5) + "x",
    "quotes": "a'" * (MEGABYTE // 2),
    "line ends": "a" + "\n" * MEGABYTE + "b",
}


def bare(text: str) -> str:
    return "".join(c for c in text if c not in "\u202e\u202c\u2066\u2069")


@pytest.fixture(params=NAMES)
def made(request: pytest.FixtureRequest) -> tuple[Fact, ScriptQuestion, tuple[str, ...], ScriptPrompt]:
    """A fact, a question, its steps and the prompt; the old object has few enough words for a step or is cut down."""
    fact = hostile_fact(NAMES[request.param].strip())
    short = " ".join(fact.old.text.split()[:5])
    fact = fact.model_copy(update={"old": Object(text=short), "prompt": fact.prompt})
    question = ScriptQuestion(key="f/h/q", fact=fact.key, text=f"How to go to {fact.subject.text}?")
    script = script_of(question, Draft(["Pack", f"Ask {short}"]))
    prompt = cut_script(fact, question, script)
    assert prompt is not None
    return fact, question, script.steps, prompt


@pytest.mark.parametrize("name", NAMES)
def test_a_hostile_name_is_found_as_it_is(name: str) -> None:
    text = NAMES[name].strip()
    (mention, *_) = find(f"to {text}, now", Object(text=text))
    assert mention.start in (3, 4), "marks before a letter belong to the space before them"
    assert bare(text).startswith(bare(mention.text)) and not re.search(r"\w", text[mention.end - 3 :])
    assert find("to nowhere", Object(text=text)) == ()
    assert [m.text for m in find(f"to {text}, now", Object(text=text), literal=True)][:1] == [text]


def test_a_cut_before_a_hostile_object_is_exact(made) -> None:
    fact, question, _, prompt = made
    assert prompt.text == f"{question.text}\nStep 1: Pack\nStep 2: Ask" and prompt.step == 2
    assert bare(fact.old.text).startswith(bare(prompt.targets[0])) and prompt.targets[1] == fact.new.text


def test_checks_judge_hostile_text_and_say_it_in_plain_words(made) -> None:
    fact, question, steps, prompt = made
    material = CheckInputs(fact=fact, question=question, questions=(), draft=steps, prompt=prompt, facts=(fact,))
    verdicts = [v for stage in ("question", "draft", "prompt") for v in judge(stage, material)]
    assert {v.check: v.label for v in verdicts}["leak_in_question"] == "keep"
    for verdict in verdicts:
        assert verdict.reason == escape_line(verdict.reason, longest=1000)
    leaking = ScriptQuestion(key="q2", fact=fact.key, text=f"How to see {fact.old.text} from {fact.subject.text}?")
    assert {v.check: v.label for v in judge("question", CheckInputs(fact=fact, question=leaking))}[
        "leak_in_question"
    ] == "drop"


@pytest.mark.parametrize("profile", ["paper", "embedded"])
def test_prompts_hold_a_hostile_fact_once_and_as_data(made, profile: str) -> None:
    """Filled in one pass, in the last turn only: what looks like a placeholder in a name stays as it is."""
    fact, question, _, prompt = made
    plain = hostile_fact("Plain")
    asks = [
        (QuestionStep(FILES.load("questions", profile)), QuestionAsk(fact=fact), QuestionAsk(fact=plain)),
        (
            ScriptStep(FILES.load("scripts", profile)),
            ScriptAsk(questions=(question,), old=fact.old),
            ScriptAsk(questions=(question,), old=plain.old),
        ),
        (
            STEPS["prompt"].load(model="m"),
            [VerifyAsk(fact, prompt)],
            [VerifyAsk(plain, prompt)],
        ),
    ]
    for step, hostile, harmless in asks:
        a, b = step.prompt(hostile), step.prompt(harmless)
        assert [m.role for m in a] == [m.role for m in b]
        assert a[:-1] == b[:-1], "only the last turn holds the fact"
        json.dumps([m.model_dump() for m in a])


@pytest.mark.timeout(120)
@pytest.mark.parametrize("kind", LONG)
def test_a_megabyte_takes_no_minute(kind: str) -> None:
    """No step grows with the square of a text: the square would not end before the test is stopped."""
    text = LONG[kind]
    rome = Object(text="Rome", aliases=("New Rome", "R.O.M.E."))
    find(text, rome)
    assert text.endswith(separator_of(text)) and separator_of(text + "x (") == " ("
    first_cut(text, ("Pack", "Go to Rome"), make_fact("Italy", rome, None))
    fact = hostile_fact("x")
    question = ScriptQuestion(key="q", fact=fact.key, text=text)
    judge("question", CheckInputs(fact=fact, question=question, questions=()))
    prompt = ScriptPrompt(key="p", fact=fact.key, text=text, offset=len(text) + 1, targets=("x",))
    judge("prompt", CheckInputs(fact=fact, question=question, prompt=prompt))
    assert VerifyAsk(fact, prompt).too_long and len(text) > LONGEST


@pytest.mark.timeout(120)
@pytest.mark.parametrize("kind", ["letters", "spaces", "accents", "marks", "words"])
def test_an_object_of_a_megabyte_is_a_name_like_any_other(kind: str) -> None:
    name = LONG[kind].strip()
    match = find(f"to {name}, now", Object(text=name))
    assert [(m.start, m.end) for m in match] == [(3, 3 + len(name))]
    assert find("to Rome", Object(text=name)) == ()


def test_dates_of_a_hostile_kind_are_no_dates() -> None:
    for text in (*NAMES.values(), "9" * 5000, "\u0662\u0660\u0662\u0661", "2021-1-1", "0000", "2021\n"):
        assert days(text) is None


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Fact], list[ScriptPrompt]]:
    """A store with all hostile facts and a prompt of each, and one fact of a megabyte."""
    facts, prompts, records = [], [], []
    for n, text in enumerate([*NAMES.values(), "b" * MEGABYTE]):
        fact = hostile_fact(text.strip(), key=f"f/{n}")
        question = ScriptQuestion(key=f"f/{n}/q", fact=fact.key, text=f"How to go to {fact.subject.text}?")
        body = f"{question.text}\nStep 1: Pack\nStep 2: Ask"
        prompt = ScriptPrompt(
            key=f"f/{n}/p",
            fact=fact.key,
            question=question.key,
            text=body,
            offset=len(body) + 1,
            step=2,
            targets=(fact.old.text, fact.new.text),
        )
        facts.append(fact)
        prompts.append(prompt)
        records += [fact, question, prompt, *judge("question", CheckInputs(fact=fact, question=question))]
    path = tmp_path_factory.mktemp("hostile") / "s.duckdb"
    with Store.open(path, create=True) as store:
        store.put(records)
    return path, facts, prompts


def test_a_dump_gives_hostile_records_back(stored, tmp_path: Path) -> None:
    from curation.cli.items import dump, rebuild

    path, facts, _ = stored
    for writer, line in (
        (dump, ["--store", str(path), str(tmp_path / "d.jsonl")]),
        (rebuild, [str(tmp_path / "d.jsonl"), "--store", str(tmp_path / "r.duckdb")]),
    ):
        result = CliRunner().invoke(writer, line)
        assert result.exit_code == 0, result.output
    with Store.open(tmp_path / "r.duckdb") as store:
        assert sorted(f.id for f in store.all(Fact)) == sorted(f.id for f in facts)


def scedit(*line: str) -> str:
    code = "import sys; from scedit.commands import main; sys.argv = ['scedit', *sys.argv[1:]]; main()"
    process = programs.run(code, *line)
    return process.stdout + process.stderr


def test_no_command_sends_what_a_terminal_obeys(stored) -> None:
    path, facts, _ = stored
    out = scedit("store", "show", "f/4", "--store", str(path))
    assert "Rome\\u001b[2J" in out
    wild = "f/\x1b[2J\u202ekey"
    outs = [
        out,
        scedit("store", "show", "f/6", "--store", str(path)),
        scedit("store", "sql", "select chr(27) || '[2J' as a, chr(8238) as b", "--store", str(path)),
        scedit("store", "show", wild, "--store", str(path)),  # in an error
    ]
    for text in outs:
        assert text.strip() and not OBEYED.search(text), text[:400]
    assert all("\\u202e" in text for text in outs[1:])
    report = json.loads(scedit("store", "show", "f/4", "--store", str(path), "--json"))
    assert report["old"]["text"] == facts[4].old.text, "JSON means the same"


def frozen(path: Path, out: Path):
    result = CliRunner().invoke(
        command("split freeze"), ["h", "--store", str(path), "--out", str(out), "--set", "unsure=keep"]
    )
    assert result.exit_code == 0, result.output
    return load_split(out)


def test_a_frozen_split_and_its_exports_hold_hostile_cases(stored, tmp_path: Path) -> None:
    path, _, _ = stored
    split = frozen(path, tmp_path / "h.jsonl")
    fact_ids = {c.fact.id for c in split.cases}
    assert len(fact_ids) >= 12
    for name in EXPORTERS.names():
        if not EXPORTERS.get(name).holds(split):
            continue
        target = tmp_path / f"out-{name}"
        assert export(split, target, name) == len(split.cases), name
        files = [target] if target.is_file() else [p for p in target.rglob("*") if p.is_file()]
        assert files and all(tmp_path in p.parents for p in files)
        for file in files:
            if file.suffix == ".json":
                json.loads(file.read_text(encoding="utf-8"))
    reloaded = load(str(tmp_path / "out-facts")).require()
    assert {f.old for f in reloaded} == {c.fact.old for c in split.cases}


def test_a_release_of_hostile_cases_is_whole(stored, tmp_path: Path) -> None:
    """Card, metadata and checksums; a name in the card is text, no page of its own."""
    path, _, _ = stored
    release = publish(frozen(path, tmp_path / "h.jsonl"), tmp_path / "release")
    text = (release.folder / "README.md").read_text(encoding="utf-8")
    assert "<script>" not in text and "<img" not in text and "](javascript" not in text
    json.loads((release.folder / "croissant.json").read_text(encoding="utf-8"))
