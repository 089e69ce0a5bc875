"""The rule checks over a store say what they say during construction, and judge items that came in another way."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from construction.checks import CHECKS, CheckInputs, RuleCheck, judge
from construction.pipeline.adopt import adopt
from curation.checks.store_checks import STORE_CHECKS, run_check
from curation.cli.check import check as check_command
from curation.store.store import Store
from schemas.facts import Source
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from schemas.verdicts import Verdict
from tests.support.facts import make_fact
from tests.support.small import SMALL

RULES = [n for n in STORE_CHECKS.names() if n in CHECKS.names()]
SOURCE = Source(name="tests", licence="CC0-1.0")


def test_every_rule_on_items_of_the_store_can_run_over_it():
    # the other two speak of a reply that became no item
    assert set(CHECKS.names()) - set(RULES) == {"reply_usable", "script_format"}
    for name in RULES:
        assert STORE_CHECKS.get(name) is CHECKS.get(name)


class Shouting(RuleCheck):
    """A check as an outsider writes it: one class, one function."""

    name, version, on, about = "shouting", 3, "question", "is the question in capitals?"

    def applies(self, inputs: CheckInputs) -> bool:
        return inputs.question is not None and "Lima" not in inputs.question.text

    def judge_one(self, inputs: CheckInputs) -> Verdict:
        assert inputs.question is not None
        loud = inputs.question.text.isupper()
        return self.verdict(inputs.question, "drop" if loud else "keep", "in capitals" if loud else "")


def test_a_new_rule_check_needs_nothing_else(tmp_path, monkeypatch):
    fact = make_fact()
    texts = {"a": "HOW TO LEAVE PERU?", "b": "How to leave Peru?", "c": "How to see Lima?"}
    questions = {k: ScriptQuestion(key=k, fact=fact.key, text=text) for k, text in texts.items()}
    monkeypatch.setattr(CHECKS, "names", lambda: ["shouting"])
    monkeypatch.setattr(CHECKS, "get", lambda name: Shouting)
    during = {k: judge("question", CheckInputs(fact=fact, question=q)) for k, q in questions.items()}
    assert {k: [v.label for v in reply] for k, reply in during.items()} == {"a": ["drop"], "b": ["keep"], "c": []}
    assert during["a"][0].by == "shouting@3"
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put([fact, *questions.values()])
        outcome = run_check(store, Shouting())
        over = {v.item_id: v for v in store.verdicts()}
    assert (outcome.due, outcome.left, outcome.labels) == (3, 0, {"drop": 1, "keep": 2})
    assert [over[questions[k].id] for k in "ab"] == [during["a"][0], during["b"][0]]
    assert over[questions["c"].id].reason == "does not apply"


@pytest.fixture(scope="module")
def adopted():
    return adopt(SMALL.with_name("source.jsonl"), source=SOURCE)


@pytest.mark.parametrize("name", RULES)
def test_over_a_store_as_during_construction(name, adopted, tmp_path):
    during = {v.key: v for v in adopted.verdicts if v.check == name}
    check = STORE_CHECKS.get(name)()
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put([r for r in adopted.records if not isinstance(r, Verdict)])
        run_check(store, check)
        over = {v.key: v for v in store.verdicts()}
        assert run_check(store, check).due == 0, "judged once"
    assert during and {k: over[k] for k in during} == during
    more = [v for k, v in over.items() if k not in during]
    assert all(name == "fact_dates" and v.reason == "no temporal edit" for v in more)


def test_what_construction_judged_is_not_due(adopted, tmp_path):
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put([*adopted.records, *adopted.verdicts])
        due = {name: run_check(store, STORE_CHECKS.get(name)()).due for name in RULES}
    assert not any(n for name, n in due.items() if name != "fact_dates"), due


def test_items_without_fact_or_question_stay_due(tmp_path):
    question = ScriptQuestion(key="q", fact="f/none", text="How to go to Peru?")
    text = "How to go to Peru?\nStep 1: Fly to"
    questions = [
        question,
        Script(key="s", question="q/none", steps=("Fly to Lima",)),
        ScriptPrompt(key="p", fact="f/none", text=text, offset=len(text) + 1, targets=("Lima",)),
    ]
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put(questions)
        for name in RULES:
            outcome = run_check(store, STORE_CHECKS.get(name)())
            assert outcome.left == outcome.due and not outcome.labels


def test_the_command_says_what_runs_and_finds_an_imported_leak(tmp_path):
    path = tmp_path / "s.duckdb"
    text = "How to leave Peru?\nStep 1: Book from Lima to Oslo\nStep 2: Go back to"
    prompt = ScriptPrompt(key="p", fact="f/Peru", text=text, offset=len(text) + 1, step=2, targets=("Lima", "Oslo"))
    with Store.open(path, create=True) as store:
        store.put([make_fact(), prompt])
    check_names = ["leak_in_prompt", "early_cut", "fact_dates"]
    result = CliRunner().invoke(check_command, [*check_names, "--store", str(path), "--jsonl"])
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [t["labels"] for t in rows] == [{"drop": 1}, {"keep": 1}, {"keep": 1}] and not result.stderr
    dry = CliRunner().invoke(check_command, ["--store", str(path), "--dry-run"])
    assert dry.exit_code == 0, dry.output
    assert "Running fact_dates, question_form" in dry.stderr and "telling_word with SmolLM2" in dry.stderr
    tasks = "verify_next, verify_prompt, verify_question"
    assert f"Not running {tasks}: name a model, such as --model verify_question=MODEL." in dry.stderr
