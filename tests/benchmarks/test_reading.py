"""The blind reading: who sees what, damaged controls, and what perfect and blind readers score."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from curation.loaders.formats.native import write_records
from curation.loaders.importer import import_split
from curation.rules.release import freeze
from curation.rules.rule import SplitRule
from curation.store.store import Store
from scedit.commands import cli
from tests.support.small import small_split

reading = pytest.importorskip("benchmarks.open.reading", reason="benchmarks are not shipped")
DRAW = {"edits": 24, "neighbours": 12, "seed": 7}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("reading")
    reading.write_sheets(small_split(), path, **DRAW)
    return path


def truth(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "truth.jsonl").read_text(encoding="utf-8").splitlines()]


def answer(item: dict[str, Any], *, blind: bool) -> str:
    """What a reader writes who knows the truth and sees what is damaged, or one who always writes the same."""
    if item["test"] in ("asked", "needed"):
        return "yes" if blind or not item["control"] else "no"
    if item["test"] == "hidden":
        return item["old"]["text"] if item["control"] and not blind else "no idea; none"
    if blind or item["control"]:
        return "something else"
    return item["new"]["text"] if item["test"] == "after_edit" else f"the {item['old']['text']} office"


def read_all(folder: Path, *, blind: bool) -> None:
    for test in reading.TESTS:
        rows = [{"n": i["n"], "answer": answer(i, blind=blind)} for i in truth(folder) if i["test"] == test]
        (folder / f"{test}.answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


@pytest.mark.parametrize("blind", [False, True])
def test_answers_become_verdicts_that_a_store_takes(folder: Path, tmp_path: Path, blind: bool) -> None:
    read_all(folder, blind=blind)
    found = list(reading.verdicts(folder, "reader-x"))
    labels = {(v.by, v.label) for v in found}
    assert ("blind_continuation@1", "drop" if blind else "keep") in labels and ("blind_asked@1", "keep") in labels
    prompts = {p.id for c in small_split().cases for x in (c, *c.neighbours) for p in x.prompts}
    facts = {c.fact.id for c in small_split().cases}
    assert {v.item_id for v in found} <= prompts | facts and len({v.key for v in found}) == len(found)
    assert not [v for v in found if v.by == "blind_asked@1" and v.label == "drop"], "a damaged control judges nobody"
    store = tmp_path / "s.duckdb"
    import_split(small_split(), store, origin="mini")
    assert write_records(found, tmp_path / "reading.jsonl") == len(found)
    result = CliRunner().invoke(cli, ["data", "import", str(tmp_path / "reading.jsonl"), "-s", str(store)])
    assert result.exit_code == 0, result.output
    with Store.open(store, write=True) as db:
        kept = {p.id for case in freeze(db, "read", SplitRule()).cases for p in case.prompts}
    dropped = {v.item_id for v in found if v.label == "drop"}
    assert bool(dropped) == blind and not kept & dropped and kept


@pytest.mark.parametrize("blind", [False, True])
def test_what_readers_score(folder: Path, blind: bool) -> None:
    read_all(folder, blind=blind)
    table = [[cell.strip() for cell in line.strip("| ").split("|")] for line in reading.score(folder).splitlines()[2:]]
    rows = {cells[0]: cells[1:] for cells in table}
    assert rows["continuation"][0].startswith("0 of 24: 0.00" if blind else "24 of 24: 1.00")
    assert rows["continuation"][1].startswith("0 of 12" if blind else "12 of 12")
    assert rows["asked"][0].startswith("24 of 24") and rows["asked"][2].startswith("0 of 9" if blind else "9 of 9")
    assert rows["after_edit"][1] == rows["paraphrase"][1] == "-", "neighbours are not edited and have no paraphrases"
    assert rows["hidden"][2].startswith("0 of 9" if blind else "9 of 9")


def test_sheets_replace_no_others_and_faulty_answers_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sheets = ["sheets", "mini", str(tmp_path / "r"), "--edits", "8", "--neighbours", "4"]
    reading.main(sheets)
    before = truth(tmp_path / "r")

    def complaint(*words: str) -> str:
        with pytest.raises(SystemExit):
            reading.main(words)
        return capsys.readouterr().err

    assert "name a new folder" in complaint(*sheets) and truth(tmp_path / "r") == before
    assert "nobody has answered" in complaint("score", str(tmp_path / "r"))
    answers = tmp_path / "r" / "asked.answers.jsonl"
    answers.write_text('{"n": 1, "answr": "yes"}\n', encoding="utf-8")
    assert "has the fields n and answer" in complaint("score", str(tmp_path / "r"))
    answers.write_text('{"n": 1, "answer": "yes"}\n', encoding="utf-8")
    assert "items without an answer, the first is n = 2" in complaint("score", str(tmp_path / "r"))
    assert "no such split file" in complaint("sheets", "none.jsonl", str(tmp_path / "x"))


def test_a_reader_sees_no_truth_and_no_order(folder: Path) -> None:
    for test in reading.TESTS:
        head, *rows = [json.loads(x) for x in (folder / f"{test}.jsonl").read_text(encoding="utf-8").splitlines()]
        assert set(head) == {"task"} and {tuple(row) for row in rows} == {("n", "text")}
        items = [i for i in truth(folder) if i["test"] == test]
        assert [row["n"] for row in rows] == [i["n"] for i in items] == list(range(1, len(rows) + 1))
        controls = [n for n, i in enumerate(items) if i["control"]]
        assert test == "paraphrase" or (controls and controls != sorted(range(len(controls))))
        if test in ("continuation", "hidden", "asked"):
            shown = [(row["text"], i["old"]["text"]) for row, i in zip(rows, items, strict=True) if not i["control"]]
            assert not [text for text, old in shown if old in text]


def test_a_control_is_a_prompt_that_is_not_judged(folder: Path, tmp_path: Path) -> None:
    """A reader who has seen a prompt whole knows it again where it is damaged."""

    def seen(items: list[dict[str, Any]]) -> tuple[set[str], set[str]]:
        judged = {i["prompt"] for i in items if not i["control"] and i["test"] == "after_edit"}
        return judged, {i["prompt"] for i in items if i["control"]}

    judged, controls = seen(truth(folder))
    assert controls and not judged & controls
    reading.write_sheets(small_split(), tmp_path, edits=10_000, neighbours=10_000, seed=7)
    judged, controls = seen(truth(tmp_path))
    assert controls and any(key in judged for key in controls), "all are judged, so some are shown twice"


def test_what_a_reader_may_know_by_now_is_no_control(folder: Path) -> None:
    """After a change in time, whoever is told of another edit may still name the new object."""
    changes = {i["prompt"]: i["change"] for i in truth(folder)}
    assert "temporal" in changes.values()
    assert not [i for i in truth(folder) if i["test"] == "after_edit" and i["control"] and i["change"] == "temporal"]


def test_what_would_be_guessed_of_the_relation_alone(folder: Path) -> None:
    """A reader who always names one object hits it wherever it is the object, and no text helped."""
    read_all(folder, blind=True)
    items = [i for i in truth(folder) if i["test"] == "hidden"]
    judged = [i for i in items if not i["control"]]
    told = max((i["old"]["text"] for i in judged), key=[i["old"]["text"] for i in judged].count)
    rows = [{"n": i["n"], "answer": f"{told}; none"} for i in items]
    (folder / "hidden.answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    table = {line.split("|")[1].strip(): line.split("|")[2:4] for line in reading.score(folder).splitlines()[2:]}
    for kind, alone in zip(("edit", "neighbour"), table["hidden, by the relation alone"], strict=True):
        shares = []
        for one in (i for i in judged if i["kind"] == kind):
            alike = [i for i in judged if i["relation"] == one["relation"]]
            shares.append(sum(i["old"]["text"] != told for i in alike) / len(alike))
        assert float(alone) == pytest.approx(sum(shares) / len(shares), abs=0.006)


def test_the_same_seed_draws_the_same(folder: Path, tmp_path: Path) -> None:
    reading.write_sheets(small_split(), tmp_path, **DRAW)
    for name in (*(f"{test}.jsonl" for test in reading.TESTS), "truth.jsonl"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


@pytest.mark.parametrize(
    ("test", "change", "said", "ok"),
    [
        ("continuation", "counterfactual", "Lima", True),
        ("continuation", "counterfactual", "Oslo", False),
        ("continuation", "temporal", "Oslo", True),
        ("continuation", "counterfactual", "the city of Lima", False),
        ("after_edit", "counterfactual", "Oslo airport", True),
        ("after_edit", "counterfactual", "Lima", False),
        ("hidden", "counterfactual", "Quito; Lima", False),
        ("hidden", "counterfactual", "Quito; Bogotá", True),
        ("needed", "counterfactual", "Yes.", True),
    ],
)
def test_what_passes(test: str, change: str, said: str, ok: bool) -> None:
    item = {"old": {"text": "Lima"}, "new": {"text": "Oslo"}, "change": change}
    assert reading.passes(test, item, said) is ok


def test_another_name_of_the_object_is_the_object() -> None:
    item = {"old": {"text": "baht"}, "new": {"text": "rupiah"}, "change": "counterfactual"}
    said = {text: reading.passes("continuation", item, text) for text in ("Thai baht", "the baht", "Thai food", "THB")}
    assert said == {"Thai baht": True, "the baht": True, "Thai food": False, "THB": True}


def test_what_several_readings_come_to(tmp_path: Path) -> None:
    """A prompt with a light fault stays where its fact has too few better ones; one with a heavy fault never does."""
    split = small_split()
    case = split.cases[0]
    first, second, third, fourth = case.prompts
    said = {
        "asked": {
            first.id: ("yes", "yes"),
            second.id: ("no", "no"),
            third.id: ("yes", "no"),
            fourth.id: ("yes", "yes"),
        },
        "hidden": {fourth.id: (f"{case.fact.old.text}; none",)},
        "needed": {first.id: ("yes", "no")},
    }
    for reader in (0, 1):
        folder = tmp_path / str(reader)
        folder.mkdir()
        truth = []
        for test, answers in said.items():
            rows = []
            for n, (prompt, words) in enumerate(answers.items(), 1):
                if reader < len(words):
                    fact = case.fact.model_dump(mode="json", include={"old", "new", "change"})
                    ids = {"fact": case.fact.id, "prompt": prompt, "kind": "edit", "control": False}
                    truth.append({"test": test, "n": n, **ids, **fact})
                    rows.append({"n": n, "answer": words[reader]})
            text = "".join(json.dumps(row) + "\n" for row in rows)
            (folder / f"{test}.answers.jsonl").write_text(text, encoding="utf-8")
        (folder / "truth.jsonl").write_text("".join(json.dumps(row) + "\n" for row in truth), encoding="utf-8")
    found = {v.item_id: v for v in reading.decisions(split, [tmp_path / "0", tmp_path / "1"])}
    assert {key: found[p.id].label for key, p in zip("abcd", case.prompts, strict=True)} == {
        "a": "drop",  # a reader says that the task does not need the fact
        "b": "drop",  # both would not ask
        "c": "keep",  # one would not ask: there are no three better ones
        "d": "keep",
    }
    assert found[second.id].reason == "nobody would ask this, a reader would not ask this"
    assert found[fourth.id].reason == "guessed with the subject hidden" and len(found) == 4
