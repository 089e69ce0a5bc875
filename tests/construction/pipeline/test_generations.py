"""Another model, prompt or number on a store: told before the first call, and one word says what becomes of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from construction.cli.construct import construct
from construction.pipeline.earlier_runs import REPLACED
from curation.rules.release import freeze
from curation.rules.rule import SplitRule
from curation.splits.visible_texts import case_records
from curation.store.import_sources import ConflictError
from curation.store.origins import StaleError
from curation.store.store import Store
from scedit.commands import cli
from schemas.core.errors import UserError
from schemas.facts import Fact
from schemas.scripts import Script, ScriptQuestion
from tests.support.construction import authored
from tests.support.facts import make_fact, write_facts
from tests.support.scripted_server import Raw, ScriptedServer, field

facts = authored.facts


def answer(payload):
    """Questions and scripts that name their model."""
    user, model = payload["messages"][-1]["content"], payload["model"]
    if "Question: " in user:
        return json.dumps({"steps": ["Pack a small bag", f"Fly to {field(user, 'Object')}", f"Thank {model}"]})
    subject, count = field(user, "Subject"), int(field(user, "Number of questions"))
    return json.dumps({"questions": [f"How can {model} visit place {n} in {subject}?" for n in range(count)]})


@pytest.fixture
def run(tmp_path, facts):
    """Constructs into one store; gives the counts, or the refusal where there is one."""

    def go(*options, model="gpt-4o", questions=2):
        line = [facts, "--store", tmp_path / "s.duckdb", "--model", model, "--base-url", go.server.url]
        line += [
            "--questions",
            questions,
            "--candidates",
            questions,
            "--neighbours",
            go.neighbours,
            "--json",
            "--no-verify",
            *options,
        ]
        result = CliRunner().invoke(construct, list(map(str, line)))
        if isinstance(result.exception, UserError):
            return result.exception
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout.splitlines()[-1])

    with ScriptedServer(answer) as go.server:
        go.path, go.facts, go.neighbours = tmp_path / "s.duckdb", facts, 0
        yield go


def calls_of(estimate):
    """Calls of a dry run, whatever they are for."""
    return sum(stage["calls"] for stage in estimate["stages"])


def standing_texts(path):
    """Questions and scripts that no verdict drops, by who is named in them."""
    with Store.open(path) as store:
        item_ids = {v.item_id for v in store.verdicts() if v.label == "drop"}
        questions = {q.text.split()[2] for q in store.all(ScriptQuestion) if q.id not in item_ids}
        scripts = {s.steps[-1].split()[1] for s in store.all(Script) if s.id not in item_ids}
    return questions, scripts


CHANGES = {
    "another model": ({"model": "gpt-4.1"}, "4 questions of gpt-4o (questions_paper@"),
    "another number of questions": ({"questions": 3}, "4 questions of gpt-4o (questions_paper@"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_asking_anew_is_told_with_counts_before_the_first_call(run, name):
    changes, words = CHANGES[name]
    run()
    count = len(run.server.requests)
    output = run(**changes)
    assert isinstance(output, UserError) and words in str(output) and "second generation" in str(output)
    assert "--add" in str(output) and "--replace" in str(output) and len(run.server.requests) == count
    result = run("--dry-run", **changes)
    assert words in result["earlier"] and result["question_calls"] == 2


def test_another_author_is_told_and_one_more_author_is_not(run):
    run("--author", "ann")
    output = run("--author", "bob")
    assert isinstance(output, UserError) and "4 scripts of ann (scripts_paper@" in str(output)
    assert "questions" not in str(output).split("second generation")[0].replace("scripts", "")
    assert run("--author", "ann", "--author", "bob")["kept"] == 4


def test_the_same_command_more_facts_and_more_candidates_on_record_go_on(run):
    run("--limit", "1")
    assert run()["calls"] == 2 and run()["calls"] == 0
    assert run("--dry-run")["earlier"] == ""


def test_add_keeps_both(run):
    run()
    added = run("--add", model="gpt-4.1")
    assert added["calls"] == 4
    assert standing_texts(run.path) == ({"gpt-4o", "gpt-4.1"}, {"gpt-4o", "gpt-4.1"})
    with Store.open(run.path, write=True) as store:
        assert sum(len(case.prompts) for case in freeze(store, "both", SplitRule()).cases) == 8


def test_replace_lets_the_new_one_count_and_deletes_nothing(run):
    run()
    run("--replace", model="gpt-4.1")
    assert standing_texts(run.path) == ({"gpt-4.1"}, {"gpt-4.1"})
    with Store.open(run.path, write=True) as store:
        assert len(list(store.all(ScriptQuestion))) == 8
        verdicts = [v for v in store.verdicts() if v.check == REPLACED]
        assert {v.label for v in verdicts} == {"drop"} and all("--replace" in v.reason for v in verdicts)
        texts = [p.text for case in freeze(store, "new", SplitRule()).cases for p in case.prompts]
    assert len(texts) == 4 and all("gpt-4.1" in text for text in texts)
    assert run("--dry-run", model="gpt-4.1")["earlier"] == "", "what was replaced is not in the way"


def test_going_back_asks_nothing_and_makes_the_first_count_again(run):
    run()
    run("--replace", model="gpt-4.1")
    back = run("--replace")
    assert back["calls"] == 0 and standing_texts(run.path) == ({"gpt-4o"}, {"gpt-4o"})
    both = run("--add", model="gpt-4.1")
    assert both["calls"] == 0 and standing_texts(run.path)[0] == {"gpt-4o", "gpt-4.1"}


BUSY = Raw(503, {"error": {"message": "busy"}}, {"Retry-After": "0"})


@pytest.mark.parametrize(("useless", "unfinished"), [("no JSON", False), (BUSY, True)])
def test_only_facts_that_came_to_something_replace_what_was_there(run, useless, unfinished):
    run()

    def refuse(payload):
        return useless if "Japan" in json.dumps(payload["messages"][-3:]) else answer(payload)

    run.server.answer = refuse
    result = run("--replace", "--concurrency", 1, model="gpt-4.1")
    assert isinstance(result, UserError) == unfinished, result
    with Store.open(run.path) as store:
        item_ids = {v.item_id for v in store.verdicts() if v.check == REPLACED}
        pairs = {(q.fact, q.text.split()[2]) for q in store.all(ScriptQuestion) if q.id not in item_ids}
    assert pairs == {("f/Peru", "gpt-4.1"), ("f/Japan", "gpt-4o")}


def test_what_was_written_by_hand_is_neither_a_generation_nor_replaced(run):
    by_hand = ScriptQuestion(key="f/Peru/q-hand", fact="f/Peru", text="How can people visit old Peru?")
    with Store.open(run.path, create=True) as store:
        store.put([make_fact(), by_hand])
    assert run("--replace")["kept"] == 4
    with Store.open(run.path) as store:
        assert not any(v.check == REPLACED for v in store.verdicts([by_hand.id]))


def test_a_neighbour_that_becomes_an_edit_goes_on(tmp_path):
    """It has questions from when it served; those of the edit are asked for as always, and nothing is refused."""
    both = [make_fact("Peru", "Lima", "Oslo"), make_fact("Chile", "Lima", "Rome")]
    path = write_facts(tmp_path / "facts.jsonl", both)
    with ScriptedServer(answer) as server:
        for limit in (1, 2):
            line = [path, "--store", tmp_path / "s", "--model", "m", "--base-url", server.url, "--limit", limit]
            result = CliRunner().invoke(construct, [*map(str, line), "--no-verify", "--json"])
            assert result.exit_code == 0, result.output


NEW = {"model": "gpt-4.1"}


@pytest.mark.parametrize(
    ("choice", "words"), [("--add", "beside it (--add)"), ("--replace", "in its place (--replace)")]
)
def test_with_neighbours_the_dry_run_is_what_is_asked_then_and_nothing_is_left(run, choice, words):
    """Peru and Japan are edited, Bolivia serves as a neighbour: questions, scripts and links of all three."""
    run.neighbours = 2
    with run.facts.open("a") as file:
        file.write(make_fact("Bolivia", "Lima", None).model_dump_json() + "\n")
    run()
    assert calls_of(run("--dry-run")) == 0
    output = run("--dry-run", choice, **NEW)
    assert output["earlier"].endswith(f"stand here; asking anew makes a second generation {words}.")
    assert output["earlier"].startswith("5 questions of gpt-4o (questions_paper@")
    count = len(run.server.requests)
    counts = run(choice, **NEW)
    assert len(run.server.requests) - count == counts["calls"] == calls_of(output) == 3 + 3
    assert calls_of(run("--dry-run", choice, **NEW)) == 0 == calls_of(run("--dry-run", choice))
    with Store.open(run.path, write=True) as store:
        cases = {case.fact.subject.text: case for case in freeze(store, "new", SplitRule()).cases}
    texts = [p.text for n in cases["Peru"].neighbours for p in n.prompts]
    writers = {text.split()[2] for text in texts}
    assert writers == ({"gpt-4.1"} if choice == "--replace" else {"gpt-4o", "gpt-4.1"})


# A corrected file of facts: construct imports it as data import does, and no case mixes two facts.
HEADER = "key,subject,relation,prompt,old,new\n"
ROWS = {
    "f1": "f1,Peru,P36,The capital of {} is,Lima,Oslo\n",
    "f2": "f2,Chad,P36,The capital of {} is,Ndjamena,Rome\n",
    "f3": "f3,Laos,P36,The capital of {} is,Vientiane,Turin\n",
}
CORRECTED = ROWS | {
    "f1": "f1,Peru,P36,The capital of {} is,Cusco,Bern\n",
    "f2": "f2,Mali,P36,The capital of {} is,Bamako,Rome\n",
}


class World:
    """A store, files of facts and a model that notes for which subjects it is asked."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.store, self.asked = folder, folder / "s.duckdb", set[str]()
        self.url = ""

    def write(self, name: str, rows: dict[str, str]) -> Path:
        path = self.folder / name
        path.write_text(HEADER + "".join(rows.values()))
        return path

    def answer(self, payload: dict[str, object]) -> str:
        user = payload["messages"][-1]["content"]  # type: ignore[index]
        if "Question: " not in user:
            self.asked.add(field(user, "Subject"))
        return answer(payload)

    def run(self, *words: object) -> Result:
        return CliRunner().invoke(cli, list(map(str, words)))

    def construct(self, facts: Path, *more: object) -> Result:
        self.asked.clear()
        model = ("--model", "gpt-4o", "--base-url", self.url, "--questions", 2, "--candidates", 2)
        return self.run("construct", facts, "--store", self.store, *model, "--no-verify", "--neighbours", 1, *more)

    def freeze(self) -> Result:
        return self.run("split", "freeze", "mine", "--store", self.store, "--set", "unsure=keep")


@pytest.fixture
def world(tmp_path: Path) -> object:
    made = World(tmp_path)
    with ScriptedServer(made.answer) as server:
        made.url = server.url
        yield made


def texts_by_subject(world: World) -> dict[str, set[str]]:
    """For each case of the split, the subjects that its own questions and prompts speak of."""
    with Store.open(world.store) as store:
        return {
            case.fact.subject.text: {
                name
                for name in ("Peru", "Chad", "Laos", "Mali")
                for record in case_records(case)
                if name in getattr(record, "text", "") and getattr(record, "fact", "") == case.fact.key
            }
            for case in store.open_split("mine").cases
        }


def conflict_of(refused: Result) -> ConflictError:
    assert refused.exception is not None and isinstance(refused.exception.__cause__, ConflictError)
    return refused.exception.__cause__


def test_no_case_is_made_of_two_facts(world: World) -> None:
    facts = world.write("facts.csv", ROWS)
    assert "3 facts, 3 of them new" in world.construct(facts).stderr and world.asked == {"Peru", "Chad", "Laos"}
    world.write("facts.csv", CORRECTED)
    counted = world.construct(facts, "--dry-run")
    assert [line for line in counted.stderr.splitlines() if "other content" in line] == [
        f"other content than in the store: {key}" for key in ("f1", "f2")
    ]
    refused = world.construct(facts)
    conflict = conflict_of(refused)
    assert conflict.number == 2 and world.asked == set(), "only the two facts that changed"
    assert "conflict: fact f1: held by facts.csv#" in refused.stderr
    advice = f"import the corrected file first: scedit data import {facts} --store {world.store}; there say --replace"
    assert advice in str(refused.exception), "the command that takes these options is named"
    source = conflict.conflicts[0].holder
    imported = world.run("data", "import", facts, "--store", world.store, "--source", source)
    assert imported.exit_code == 0 and "2 changed" in imported.output
    frozen = world.freeze()
    assert isinstance(frozen.exception, StaleError) and "made from an earlier version of f2" in frozen.stderr
    assert "stale: " in world.run("store", "check", "verify_prompt", "--dry-run", "--store", world.store).stderr
    done = world.construct(facts)
    assert done.exit_code == 0 and world.asked == {"Peru", "Mali"}, "only what is stale is asked for"
    assert world.freeze().exit_code == 0
    assert texts_by_subject(world) == {name: {name} for name in ("Peru", "Mali", "Laos")}
    with Store.open(world.store) as store:
        assert store.stale() == []


def test_the_same_facts_under_another_name_are_the_same(world: World) -> None:
    world.construct(world.write("facts.csv", ROWS))
    with Store.open(world.store) as store:
        before = {fact.id for fact in store.all(Fact)}
    again = world.construct(world.write("renamed.csv", ROWS))
    assert again.exit_code == 0 and "0 of them new; source" in again.stderr and world.asked == set()
    refused = world.run("data", "import", world.write("corrected.csv", CORRECTED), "--store", world.store)
    assert isinstance(refused.exception, ConflictError) and refused.exception.number == 2
    with Store.open(world.store) as store:
        assert {fact.id for fact in store.all(Fact)} == before


def test_further_neighbours_take_no_other_facts_place(world: World) -> None:
    """Facts of --neighbours-from come by the same road: a key with other content is a conflict."""
    facts = world.write("facts.csv", {"f1": ROWS["f1"]})
    near = {"n1": "n1,Bolivia,P36,The capital of {} is,Lima,Turin\n"}
    assert world.construct(facts, "--neighbours-from", world.write("near.csv", near)).exit_code == 0
    with Store.open(world.store) as store:
        assert store.sources_of(store.get("n1").id)[0].startswith("near.csv#")
    other = {"n1": "n1,Bolivia,P36,The capital of {} is,Lima,Bern\n"}
    refused = world.construct(facts, "--neighbours-from", world.write("near.csv", other))
    assert conflict_of(refused).number == 1 and "fact n1" in str(refused.exception)
    assert f"scedit data import {world.folder / 'near.csv'} --store" in str(refused.exception)
