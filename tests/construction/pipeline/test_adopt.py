from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from construction.cli.construct import import_scripts
from construction.pipeline.adopt import adopt, keep
from curation.rules.rule import SplitRule
from curation.splits.split_file import make_split
from curation.store.import_sources import ConflictError
from curation.store.store import Store
from schemas.core.errors import DataError
from schemas.facts import Fact, Source
from schemas.scripts import ScriptPrompt
from tests.support.curation.rule_outcomes import choose
from tests.support.small import SMALL, small_split

SOURCE = Source(name="ScEdit Toolkit mini", licence="CC0-1.0")
CASE = {
    "key": "w/1", "kind": "counterfactual", "relation": {"id": "P36", "label": "capital"},
    "subject": {"text": "Peru"}, "prompt": "The capital of {} is", "paraphrases": [],
    "old": {"text": "Lima"}, "new": {"text": "Oslo"}, "changed_on": None,
    "questions": [{"question": "How to visit the congress of Peru?", "steps": ["Pack a bag", "Fly to Lima"]}],
    "neighbours": [{
        "subject": {"text": "Larco Museum"}, "prompt": "The {} is in the city of", "object": {"text": "Lima"},
        "question": "How to see the Larco Museum?", "steps": ["Save some money", "Travel by bus to Lima"],
    }],
}  # fmt: skip


def test_mini_is_what_its_source_makes(tmp_path: Path) -> None:
    """The shipped split is rebuilt from what was written, and passes every check of the pipeline."""
    adoption = adopt(SMALL.parent / "source.jsonl", source=SOURCE)
    assert {v.label for v in adoption.verdicts} == {"keep"}
    keep(adoption, tmp_path / "s.duckdb", origin="source.jsonl")
    with Store.open(tmp_path / "s.duckdb") as store:
        choice = choose(store, SplitRule())
    assert make_split("mini", choice.cases).digest == small_split().digest


def change(**changes: object) -> dict[str, object]:
    return {**CASE, **changes}


def question(text: str, *steps: str) -> list[dict[str, object]]:
    return [{"question": text, "steps": list(steps)}]


def test_a_neighbour_that_names_the_edited_subject(tmp_path: Path) -> None:
    neighbour = {**CASE["neighbours"][0], "steps": ["Call a friend in Peru", "Travel to Lima"]}  # type: ignore[index]
    path = tmp_path / "w.jsonl"
    path.write_text(json.dumps(change(neighbours=[neighbour])))
    adoption = adopt(path, source=SOURCE)
    verdicts = [v for v in adoption.verdicts if v.label == "drop"]
    link = next(r for r in adoption.records if r.kind == "neighbour")
    assert [(v.check, v.item_id) for v in verdicts] == [("subject_in_neighbour", link.id)]


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (change(new={"text": "Lima"}), "line 1: old and new object are equal"),
        (change(colour=1), "line 1: colour: unknown field"),
        (change(questions=[]), "questions"),
        (change(questions=question("How?", "one two three four five six seven eight")), "at most 7 words"),
        (change(prompt="x"), "exactly one"),
        (change(prompt="The capital of {} is<|endoftext|>"), r"line 1: 'w/1': prompt: the control token <\|endoftext"),
        (change(changed_on="2021-13-45", kind="temporal"), "line 1: 'w/1': changed_on: '2021-13-45' is no date"),
        (change(old={"text": "Lima", "aliases": ["Oslo"]}), "line 1: 'w/1': .*nothing would be edited"),
    ],
)
def test_what_is_no_case_is_refused_by_line(tmp_path: Path, case: object, message: str) -> None:
    path = tmp_path / "w.jsonl"
    path.write_text(json.dumps(case))
    with pytest.raises(DataError, match=message):
        adopt(path, source=SOURCE)


def test_one_key_for_two_things(tmp_path: Path) -> None:
    path = tmp_path / "w.jsonl"
    path.write_text(json.dumps(CASE) + "\n" + json.dumps(change(new={"text": "Rome"})))
    with pytest.raises(DataError, match="line 2: the key 'w/1' stands for two different things"):
        adopt(path, source=SOURCE)


def test_every_case_with_an_objection_is_listed_with_its_reason_and_text(tmp_path: Path) -> None:
    """Twenty-five bad cases, one good one between them; the list ends nowhere early and names no good one."""
    bad = [
        change(key=f"w/{n}", subject={"text": f"Peru {n}"}, neighbours=[],
               questions=question(f"How to get from Peru {n} to Lima?", "Go", "See Lima"))
        for n in range(25)
    ]  # fmt: skip
    path = tmp_path / "cases.jsonl"
    path.write_text("".join(json.dumps(case) + "\n" for case in [*bad[:9], {**CASE, "key": "good"}, *bad[9:]]))
    adoption = adopt(path, source=SOURCE)
    assert [o.case for o in adoption.objections if o.verdict.check == "leak_in_question"] == [c["key"] for c in bad]
    objection = next(o for o in adoption.objections if o.case == "w/7" and o.kind == "question")
    assert objection.text == "How to get from Peru 7 to Lima?" and objection.verdict.reason

    result = CliRunner().invoke(import_scripts, [str(path), "--store", str(tmp_path / "s.duckdb")])
    lines = result.output.splitlines()
    assert result.exit_code == 0 and "26 cases" in lines[0] and "in 25 cases" in lines[0]
    assert [line.strip() for line in lines if line.startswith("  w/")] == [c["key"] for c in bad]
    assert "  good" not in lines and sum("How to get from Peru 7 to Lima?" in line for line in lines) >= 1

    data = json.loads(
        CliRunner().invoke(import_scripts, [str(path), "--store", str(tmp_path / "t.duckdb"), "--json"]).output
    )
    assert {o["case"] for o in data["not_kept"]} == {c["key"] for c in bad}
    assert all(o["text"] and o["reason"] for o in data["not_kept"])


def written(path: Path, *cases: dict[str, object]) -> Path:
    path.write_text("".join(json.dumps(case) + "\n" for case in cases))
    return path


def bring(store: Path, file: Path, *options: str) -> Result:
    return CliRunner().invoke(import_scripts, [str(file), "--store", str(store), *options])


def facts(store: Path) -> dict[str, str]:
    with Store.open(store) as db:
        return {f.key: f.old.text for f in db.all(Fact)}


def test_two_files_with_the_same_keys_do_not_become_one(tmp_path: Path) -> None:
    """The rules of ``data import``: refused as a whole, taken over with --replace, both kept with --as."""
    store, other = tmp_path / "s.duckdb", change(subject={"text": "Chile"}, old={"text": "Santiago"}, neighbours=[],
        questions=question("How to visit the congress of Chile?", "Pack a bag", "Fly to Santiago"))  # fmt: skip
    first, second = written(tmp_path / "a.jsonl", CASE), written(tmp_path / "b.jsonl", other, change(key="w/2"))
    assert bring(store, first).exit_code == 0
    before = facts(store)
    result = bring(store, second)
    assert isinstance(result.exception, ConflictError) and "conflict: fact w/1: held by a.jsonl#" in result.stderr
    assert facts(store) == before, "nothing of the second file was kept"

    assert bring(store, second, "--as", "lab").exit_code == 0
    assert facts(store)["w/1"] == "Lima" and facts(store)["lab/w/1"] == "Santiago"
    assert facts(store)["lab/w/2/n1"] == "Lima"

    assert bring(store, second, "--replace").exit_code == 0
    assert facts(store)["w/1"] == "Santiago"
    assert "Santiago" in next(p for p in prompts(store) if p.key == "w/1/q1/s/p").targets
    assert bring(store, second).exit_code == 0, "the same again changes nothing"


def prompts(store: Path) -> list[ScriptPrompt]:
    with Store.open(store) as db:
        return list(db.all(ScriptPrompt))


def test_a_corrected_file_replaces_all_that_it_brought(tmp_path: Path) -> None:
    store, file = tmp_path / "s.duckdb", tmp_path / "a.jsonl"
    assert bring(store, written(file, CASE, change(key="w/2")), "--known-as", "ours").exit_code == 0
    refused = bring(store, written(file, change(neighbours=[])), "--known-as", "ours")
    assert "would be gone" in str(refused.exception) and "--replace without --known-as" in str(refused.exception)
    result = bring(store, written(file, change(neighbours=[])), "--known-as", "ours", "--json", "--yes")
    assert result.exit_code == 0, result.output
    data = json.loads(result.output)
    assert (data["source"], data["new"], data["gone"]) == ("ours", 0, 14)
    assert set(facts(store)) == {"w/1"}
