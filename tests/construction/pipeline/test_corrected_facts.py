"""A corrected file of facts: construct imports it as data import does, and no case mixes two facts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from curation.splits.visible_texts import case_records
from curation.store.import_sources import ConflictError
from curation.store.origins import StaleError
from curation.store.store import Store
from scedit.commands import cli
from schemas.facts import Fact
from tests.support.scripted_server import ScriptedServer, field

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
        if "Question: " in user:
            return json.dumps({"steps": ["Pack a small bag", f"Fly to {field(user, 'Object')}", "Say thanks"]})
        subject = field(user, "Subject")
        self.asked.add(subject)
        return json.dumps({"questions": [f"How can I visit place {n} in {subject}?" for n in range(2)]})

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
