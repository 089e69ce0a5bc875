"""The commands of ``scedit split``: freeze, add, export."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import scedit.commands
from curation.loaders.importer import import_split
from curation.rules.release import freeze
from curation.rules.rule import SplitRule
from curation.shipped import shipped_split
from curation.splits.split_file import load_split, make_split, write_split
from curation.splits.versions import Erratum, read_errata
from curation.store.store import Store
from schemas.core.errors import UserError
from tests.support.arithmetic import make_case
from tests.support.commands import invoke
from tests.support.curation.rule_records import CHAINS, EDIT, P0, said
from tests.support.small import SMALL, small_split


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "s.duckdb"


def test_split_add_freeze_export(tmp_path: Path, store: Path) -> None:
    header = json.loads(invoke("split", "add", "mini", "-s", store, "--json"))
    assert header["split"] == "mini"
    out = tmp_path / "out.jsonl"
    assert header["digest"][:12] in invoke("split", "export", "mini", out, "-s", store)
    assert load_split(out).digest == header["digest"]
    frozen = json.loads(invoke("split", "freeze", "own", "-s", store, "--out", tmp_path / "own.jsonl", "--json"))
    assert frozen["cases"] >= header["cases"], "all of mini passes the default rule"
    assert load_split(tmp_path / "own.jsonl").digest == frozen["digest"]
    assert "own@1.0.0" in invoke("store", "list", "split", "-s", store)


def test_an_added_split_frozen_again_makes_cases_of_neighbours_with_a_change_and_says_so(
    tmp_path: Path, store: Path
) -> None:
    said = invoke("split", "add", "mini", "-s", store)
    assert "44 cases" in said and "29 neighbours can be edited, too" in said and "the split as it came is mini@" in said
    assert "73 cases" in invoke("split", "freeze", "mine", "-s", store)
    assert "44 cases" in invoke("split", "export", "mini", tmp_path / "m.jsonl", "-s", store)
    assert "can be edited, too" not in invoke("split", "add", "hops", "-s", tmp_path / "t.duckdb")


def test_the_open_split_by_name(tmp_path: Path, store: Path) -> None:
    out = tmp_path / "dev.json"
    assert "of open-dev@1.1.0" in invoke("split", "export", "open:dev", out, "--format", "scedit-cf")
    assert len(json.loads(out.read_text(encoding="utf-8"))) == len(
        [case for case in shipped_split("open:dev").cases if case.fact.change == "counterfactual"]
    )
    header = json.loads(invoke("split", "add", "open:dev", "-s", store, "--json"))
    assert (header["split"], header["digest"]) == ("open-dev", shipped_split("open:dev").digest)
    path = tmp_path / "again.jsonl"
    invoke("split", "export", "open-dev", path, "-s", store)
    assert load_split(path).digest == header["digest"] and load_split(path).extras == shipped_split("open:dev").extras
    with pytest.raises(UserError, match="mine: there is no such split file; allowed: a file, or mini, open"):
        invoke("split", "export", "mine", out)


def test_a_split_whose_keys_are_taken_is_listed_and_can_stand_beside(tmp_path: Path, store: Path) -> None:
    invoke("split", "add", SMALL, "-s", store)
    assert "0 of them new; source 'mini@1.0.0#" in invoke("split", "add", SMALL, "-s", store)
    cases = small_split().cases[:2]
    odd = [c.model_copy(update={"fact": c.fact.model_copy(update={"prompt": "It is said of {} that"})}) for c in cases]
    write_split(make_split("odd", odd), tmp_path / "odd.jsonl")
    outcome = CliRunner().invoke(scedit.commands.cli, ["split", "add", str(tmp_path / "odd.jsonl"), "-s", str(store)])
    assert outcome.exit_code == 1
    assert all(f"conflict: fact {c.fact.key}: held by mini@1.0.0#" in outcome.output for c in cases)
    result = invoke("split", "add", tmp_path / "odd.jsonl", "--as", "b", "-s", store)
    assert "split b@1.0.0: 2 cases" in result and "source 'b'" in result
    sources = json.loads(invoke("store", "stats", "-s", store, "--json"))["sources"]
    assert {s["source"].partition("#")[0] for s in sources} == {"mini@1.0.0", "b"}
    data = json.loads(invoke("store", "show", f"b/{cases[0].fact.key}", "-s", store, "--json"))
    assert data["sources"] == ["b"]


def test_export_names_what_a_format_cannot_hold_and_once_what_another_reader_looks_for_in_vain(tmp_path: Path) -> None:
    def said(name: str, *more: str) -> str:
        words = ["split", "export", "mini", str(tmp_path / name), "--format", name, *more]
        return CliRunner().invoke(scedit.commands.cli, words).stderr

    assert said("easyedit", "--knowedit-lists").count("locality/Forgetfulness") == 1
    assert json.loads((tmp_path / "easyedit").read_text())[0]["portability"]["Reasoning"]
    assert "Note: 24 cases left out, which counterfact cannot hold: 24 temporal" in said("counterfact")
    assert "Note" not in said("split") and "left out" not in said("facts")


def test_freeze_names_contradictory_requests(tmp_path: Path, store: Path) -> None:
    first, second = make_case("Peru"), make_case("Kenya")
    prompts = tuple(p.model_copy(update={"targets": ("Lima", "Rome")}) for p in second.prompts)
    fact = first.fact.model_copy(
        update={"key": second.fact.key, "new": first.fact.new_object.model_copy(update={"text": "Rome"})}
    )
    write_split(
        make_split("two", [first, second.model_copy(update={"fact": fact, "prompts": prompts})]), tmp_path / "two.jsonl"
    )
    invoke("split", "add", tmp_path / "two.jsonl", "-s", store)
    outcome = CliRunner().invoke(scedit.commands.cli, ["split", "freeze", "own", "-s", str(store), "--json"])
    assert outcome.exit_code == 0 and json.loads(outcome.stdout)["cases"] == 2
    assert "Warning: 'case/fact/kenya' and 'case/fact/peru' contradict each other: Peru, " in outcome.stderr
    assert "-> Rome and Oslo; in a batch or sequence only one of them can hold" in outcome.stderr


def test_freeze_counts_cases_without_neighbours(tmp_path: Path, store: Path) -> None:
    with_some, without = make_case("Peru"), make_case("Kenya").model_copy(update={"neighbours": ()})
    write_split(make_split("two", [with_some, without]), tmp_path / "two.jsonl")
    invoke("split", "add", tmp_path / "two.jsonl", "-s", store)
    said = invoke("split", "freeze", "own", "-s", store)
    alone = 1 + (not with_some.neighbours)
    assert f"Warning: {alone} of 2 cases have no neighbour prompt: S-NS and S-BO have no value there" in said


def publish(*args: object) -> str:
    return invoke("split", "publish", *args)


def test_the_command(tmp_path: Path, store: Path) -> None:
    import_split(small_split(), store, origin="tests")
    text = publish("mini", tmp_path / "a", "--store", store)
    assert "58 cases" in text and "     42  scedit-cf" in text
    assert "No people have judged it" in (tmp_path / "a" / "README.md").read_text()
    words = ("--formats", "split, scedit-t", "--json", "--date", "2026-01-02")
    text = publish(SMALL, tmp_path / "b", *words)
    assert json.loads(text)["cases"] == {"split": 58, "scedit-t": 16}
    assert json.loads((tmp_path / "b" / "croissant.json").read_text())["datePublished"] == "2026-01-02"
    publish("mini", tmp_path / "c", "--formats", "facts")
    assert (tmp_path / "c" / "mini.facts.jsonl").is_file()


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (("other",), "other: there is no such split file; allowed: a file, or mini, open"),
        (("mini", "--formats", "parket"), "unknown exporter 'parket'.*did you mean 'parquet'"),
        (("mini", "--formats", ","), "names no format"),
        (("mini", "--formats", "split", "--knowedit-lists"), "only the format easyedit has lists of KnowEdit"),
        (
            ("mini", "--store", "nowhere.duckdb"),
            "no such store.*holds the split 'mini', or its file in place of its name",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_mistakes(tmp_path: Path, args: tuple[object, ...], complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        publish(args[0], tmp_path / "r", *args[1:])
    assert not (tmp_path / "r").exists()


def test_force_replaces_a_release_and_nothing_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "r"
    publish("mini", place, "--formats", "split,facts")
    with pytest.raises(UserError, match="something here already"):
        publish("mini", place, "--formats", "split")
    publish("mini", place, "--formats", "split", "--force")
    assert not (place / "mini.facts.jsonl").exists()
    (place / ".git").mkdir()
    (place / ".git" / "HEAD").write_text("ref: refs/heads/main")
    (place / "link").symlink_to(tmp_path)
    with pytest.raises(UserError, match="no part of the release: .git/HEAD, link"):
        publish("mini", place, "--formats", "split", "--force")
    assert (place / ".git" / "HEAD").read_text() == "ref: refs/heads/main"
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(UserError, match="folder you are in"):
        publish("mini", ".", "--formats", "split", "--force")


def test_commands(tmp_path: Path) -> None:
    path, file = tmp_path / "s.duckdb", tmp_path / "e.jsonl"
    with Store.open(path, create=True) as store:
        store.put([EDIT, *CHAINS[0]])
    assert "added: drop f/peru/q0/s/p" in invoke(
        "split", "errata", "add", P0.key, "cut in a word", "--file", file, "--store", path
    )
    assert "there already" in invoke("split", "errata", "add", P0.key, "cut in a word", "--file", file, "--store", path)
    assert read_errata(file).entries[0].id == P0.id
    assert invoke(
        "split", "errata", "add", "case/f/peru", "doubtful", "--file", file, "--action", "hold", "--date", "2026-01-01"
    )
    assert "cut in a word (applies)" in invoke("split", "errata", "list", "--file", file, "--store", path)
    with Store.open(path, write=True) as store:
        store.put([P0.model_copy(update={"step": 1})])
    assert "corrected since" in invoke("split", "errata", "list", "--file", file, "--store", path)
    with pytest.raises(UserError, match="no item"):
        invoke("split", "errata", "add", "f/nobody", "x", "--file", file, "--store", path)
    with pytest.raises(UserError, match="nothing to list"):
        invoke("split", "errata", "list")


def test_withdrawing_an_erratum_of_a_candidate(two_edits: Path, tmp_path: Path) -> None:
    file, split = tmp_path / "e.jsonl", ("--split", "mine", "--store", two_edits)
    with Store.open(two_edits, write=True) as store:
        wrong = Erratum(item=P0.key, what="cut in a word", date="2026-11-21")
        freeze(store, "mine", SplitRule(), version="1.0.0-candidate", errata=(wrong,))
    with pytest.raises(UserError, match="stands"):
        invoke("split", "errata", "withdraw", P0.key, "it is whole", "--file", file)
    with pytest.raises(UserError, match="give --store"):
        invoke("split", "errata", "withdraw", P0.key, "it is whole", "--file", file, "--split", "mine")
    assert not file.exists()
    text = invoke("split", "errata", "withdraw", P0.key, "it is whole", "--file", file, *split, "--date", "2026-12-01")
    assert "withdrawn: 2026-11-21 drop f/peru/q0/s/p: cut in a word" in text
    lines = invoke("split", "errata", "list", "--file", file, *split).splitlines()
    assert lines == [
        "2026-11-21 drop     f/peru/q0/s/p: cut in a word (withdrawn)",
        "2026-12-01 withdraw f/peru/q0/s/p: it is whole",
    ]


def test_release_and_diff(two_edits: Path, tmp_path: Path) -> None:
    with Store.open(two_edits, write=True) as store:
        freeze(store, "mine", SplitRule(), version="1.0.0-candidate")
    out = tmp_path / "mine.jsonl"
    words = ("split", "release", "mine", "-s", two_edits, "--without-sample", "a rehearsal", "--out", out)
    text = invoke(*words)
    assert "## mine 1.0.0" in text and "First release" in text
    written = out.read_bytes()
    out.unlink()  # as a kill between the store and the file leaves it
    assert invoke(*words) == text and out.read_bytes() == written
    assert load_split(out).header["release"]["level"] == "first"
    with Store.open(two_edits, write=True) as store:
        store.put([said(P0.id, "leak@1", "drop")])
        freeze(store, "mine", SplitRule(), version="2.0.0-candidate")
    text = invoke("split", "diff", "mine@1.0.0", "mine@2.0.0-candidate", "-s", two_edits)
    assert "changed  case/f/peru: script prompt dropped" in text and "version 2.0.0 or later after 1.0.0" in text
    rows = [json.loads(x) for x in invoke("split", "diff", out, out, "--jsonl").splitlines()]
    assert [r["level"] for r in rows] == ["none"]
    write_split(make_split("mini", small_split().cases[1:], version="2.0.0"), tmp_path / "new.jsonl")
    assert "### Dropped (1)" in invoke("split", "diff", SMALL, tmp_path / "new.jsonl", "--changelog")
