from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from construction.cli.construct import import_scripts
from construction.pipeline.adopt import adopt, keep
from curation.rules.selection import SplitRule, choose
from curation.shipped import mini_path, mini_split
from curation.splits.split_file import make_split
from curation.store.store import Store
from schemas.core.errors import DataError
from schemas.facts import Source

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
    adopted = adopt(mini_path().parent / "source.jsonl", source=SOURCE)
    assert {v.label for v in adopted.verdicts} == {"keep"}
    keep(adopted, tmp_path / "s.duckdb", origin="source.jsonl")
    with Store.open(tmp_path / "s.duckdb") as store:
        chosen = choose(store, SplitRule())
    assert make_split("mini", chosen.cases).digest == mini_split().digest


def change(**changes: object) -> dict[str, object]:
    return {**CASE, **changes}


def question(text: str, *steps: str) -> list[dict[str, object]]:
    return [{"question": text, "steps": list(steps)}]


VERDICTS = [
    ("all well", CASE, {}),
    ("no mention", change(questions=question("How to visit Peru?", "Pack", "Fly")), {"no_mention": "drop"}),
    ("early cut", change(questions=question("How to visit Peru?", "Fly to Lima")), {"early_cut": "unsure"}),
    ("old object asked for", change(questions=question("How to get from Peru to Lima?", "Go", "See Lima")),
     {"leak_in_question": "drop", "leak_in_prompt": "drop"}),
    ("new object before the cut", change(questions=question("How to leave Peru?", "Call Oslo", "Go to Lima")),
     {"leak_in_prompt": "drop"}),
    ("no subject", change(questions=question("How to travel?", "Pack", "Go to Lima")), {"subject_in_question": "drop"}),
]  # fmt: skip


@pytest.mark.parametrize(("case", "expected"), [v[1:] for v in VERDICTS], ids=[v[0] for v in VERDICTS])
def test_checks_judge_what_was_written(tmp_path: Path, case: object, expected: dict[str, str]) -> None:
    path = tmp_path / "w.jsonl"
    path.write_text(json.dumps(case))
    found = {v.check: v.label for v in adopt(path, source=SOURCE).verdicts if v.label != "keep"}
    assert found == expected


def test_a_neighbour_that_names_the_edited_subject(tmp_path: Path) -> None:
    beside = {**CASE["neighbours"][0], "steps": ["Call a friend in Peru", "Travel to Lima"]}  # type: ignore[index]
    path = tmp_path / "w.jsonl"
    path.write_text(json.dumps(change(neighbours=[beside])))
    adopted = adopt(path, source=SOURCE)
    dropped = [v for v in adopted.verdicts if v.label == "drop"]
    link = next(r for r in adopted.records if r.kind == "neighbour")
    assert [(v.check, v.item_id) for v in dropped] == [("subject_in_neighbour", link.id)]


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (change(new={"text": "Lima"}), "line 1: old and new object are equal"),
        (change(colour=1), "line 1: colour: unknown field"),
        (change(questions=[]), "questions"),
        (change(questions=question("How?", "one two three four five six seven eight")), "at most 7 words"),
        (change(prompt="x"), "exactly one"),
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
    adopted = adopt(path, source=SOURCE)
    assert [o.case for o in adopted.objections if o.verdict.check == "leak_in_question"] == [c["key"] for c in bad]
    asked = next(o for o in adopted.objections if o.case == "w/7" and o.kind == "question")
    assert asked.text == "How to get from Peru 7 to Lima?" and asked.verdict.reason

    shown = CliRunner().invoke(import_scripts, [str(path), "--store", str(tmp_path / "s.duckdb")])
    lines = shown.output.splitlines()
    assert shown.exit_code == 0 and "26 cases" in lines[0] and "in 25 cases" in lines[0]
    assert [line.strip() for line in lines if line.startswith("  w/")] == [c["key"] for c in bad]
    assert "  good" not in lines and sum("How to get from Peru 7 to Lima?" in line for line in lines) >= 1

    data = json.loads(
        CliRunner().invoke(import_scripts, [str(path), "--store", str(tmp_path / "t.duckdb"), "--json"]).output
    )
    assert {o["case"] for o in data["not_kept"]} == {c["key"] for c in bad}
    assert all(o["text"] and o["reason"] for o in data["not_kept"])
