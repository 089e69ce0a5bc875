from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from curation.cli.releases import diff as diff_command
from curation.cli.releases import release as release_command
from curation.rules.release import compare, freeze, release
from curation.rules.rule import SplitRule
from curation.shipped import mini_split
from curation.splits.errata import Erratum
from curation.splits.split_file import Split, load_split, make_split, write_split
from curation.splits.versions import Version, bumped, changelog, check_version, diff
from curation.store.store import Store
from schemas.cases import Case
from schemas.core.errors import UserError
from schemas.facts import Object
from tests.support.curation.rule_records import CHAINS, EDIT, P0, P1, said
from tests.support.facts import peru_fact

MINI = make_split("mini", mini_split().cases[:4])
FIRST = MINI.cases[0]


def with_first(change: Callable[[Case], Case]) -> Split:
    return make_split("mini", [change(FIRST), *MINI.cases[1:]], version="1.0.1")


def on_fact(**fields: object) -> Callable[[Case], Case]:
    return lambda c: c.model_copy(update={"fact": c.fact.model_copy(update=fields)})


def other_prompt(case: Case) -> Case:
    first, *rest = case.prompts
    changed = first.model_copy(update={"text": "X" + first.text, "offset": first.offset + 1})
    return case.model_copy(update={"prompts": (changed, *rest)})


CASES = [
    ("target", on_fact(new=Object(text="Atlantis")), "major", "2.0.0"),
    ("prompt text", other_prompt, "major", "2.0.0"),
    ("prompt dropped", lambda c: c.model_copy(update={"prompts": c.prompts[1:]}), "major", "2.0.0"),
    ("neighbours dropped", lambda c: c.model_copy(update={"neighbours": ()}), "major", "2.0.0"),
    ("paraphrase added", on_fact(paraphrases=(*FIRST.fact.paraphrases, "It is said that")), "minor", "1.1.0"),
    ("source", on_fact(source=FIRST.fact.source.model_copy(update={"date": "2026"})), "patch", "1.0.1"),
    ("alias", on_fact(old=FIRST.fact.old.model_copy(update={"aliases": ("Old one",)})), "patch", "1.0.1"),
    ("nothing", lambda c: c, "none", "1.0.0"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "level", "version"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_what_a_change_asks_for(change: Callable[[Case], Case], level: str, version: str) -> None:
    found = diff(MINI, with_first(change))
    assert (found.level, found.suggested) == (level, version)
    assert [c.key for c in found.changes] == ([FIRST.key] if level != "none" else [])


def test_added_and_dropped_cases() -> None:
    bigger = make_split("mini", mini_split().cases[:5], version="1.1.0")
    assert [c.what for c in diff(MINI, bigger).changes] == ["added"] and diff(MINI, bigger).level == "minor"
    assert [c.what for c in diff(bigger, MINI).changes] == ["dropped"] and diff(bigger, MINI).level == "major"


@pytest.mark.parametrize(
    ("old", "level", "new"),
    [("0.3.1", "major", "0.4.0"), ("0.3.1", "minor", "0.4.0"), ("2.3.1", "patch", "2.3.2"), ("2.3.1", "none", "2.3.1")],
)
def test_bumped(old: str, level: str, new: str) -> None:
    assert bumped(old, level) == new  # type: ignore[arg-type]


def test_versions_in_order() -> None:
    texts = ["1.0.0-candidate", "1.0.0", "1.2.0", "1.10.0", "2.0.0"]
    assert sorted(reversed(texts), key=lambda t: Version.parse(t).order) == texts
    for wrong in ("1.0", "v1.0.0", "1.0.0.0", "1.0.0-"):
        with pytest.raises(UserError, match="is no version"):
            Version.parse(wrong)


@pytest.mark.parametrize("version", ["1.0.0", "1.0.1", "1.9.0", "1.9.0-candidate", "2.0.0-candidate"])
def test_a_version_that_hides_a_change(version: str) -> None:
    found = diff(MINI, with_first(other_prompt))
    with pytest.raises(UserError, match=r"hides a major change \(0 added, 0 dropped, 1 changed\); allowed: 2.0.0"):
        check_version(found, version)
    check_version(found, "2.0.0")
    check_version(found, "3.1.0")


def test_errata_are_the_reason_and_stand_in_the_changelog() -> None:
    erratum = Erratum(item=FIRST.prompts[0].key, what="cut in a word", date="2026-11-21")
    after = make_split("mini", MINI.cases[1:], version="2.0.0", about={"errata": [erratum.model_dump(mode="json")]})
    text = changelog(diff(MINI, after), date="2026-11-21")
    assert "## mini 2.0.0 (2026-11-21)" in text and "### Dropped (1)" in text
    assert f"- `{FIRST.key}`: erratum on {FIRST.prompts[0].key}: cut in a word" in text
    assert "and 1 more" in changelog(diff(MINI, make_split("mini", MINI.cases[2:])), date="2026-11-21", most=1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    chile = peru_fact("f/chile")
    texts = [r.model_copy(update={"key": f"c{n}", "fact": chile.key}) for n, r in enumerate(CHAINS[0]) if n != 1]
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put([EDIT, *CHAINS[0], *CHAINS[1], chile, texts[0], texts[1].model_copy(update={"script": None})])
    return tmp_path / "s.duckdb"


def test_reasons_come_from_the_rule(path: Path) -> None:
    with Store.open(path, write=True) as store:
        old = freeze(store, "mine", SplitRule())
        store.put([said(P0.id, "leak@1", "drop"), said(P1.id, "leak@1", "drop")])
        found = compare(store, old, freeze(store, "mine", SplitRule(), version="2.0.0"))
    (change,) = found.changes
    assert (change.key, change.what) == (f"case/{EDIT.key}", "dropped")
    assert "has 0 script prompts, the rule wants 1 (leak drops the prompt" in change.reason


def test_release_waits_for_people_or_says_why_not(path: Path) -> None:
    with Store.open(path, write=True) as store:
        freeze(store, "mine", SplitRule(), version="1.0.0-candidate")
        with pytest.raises(UserError, match="waits for a quality sample of 'mine@1.0.0-candidate', and none is drawn"):
            release(store, "mine")
        first = release(store, "mine", without_sample="a rehearsal")
        assert (first.split.version, first.changes) == ("1.0.0", None)
        assert first.split.header["quality"]["without_sample"] == "a rehearsal"
        with pytest.raises(UserError, match=r"released already as mine@1.0.0"):
            release(store, "mine", without_sample="again")
        store.put([said(P0.id, "leak@1", "drop")])
        freeze(store, "mine", SplitRule(), version="1.1.0-candidate")
        with pytest.raises(UserError, match=r"hides a major change .*allowed: 2.0.0"):
            release(store, "mine", version="1.1.0", without_sample="x")
        second = release(store, "mine", without_sample="x")
        header = second.split.header
        assert header["version"] == "2.0.0" and header["release"]["before"]["version"] == "1.0.0"
        assert header["release"]["level"] == "major" and "script prompt dropped" in header["release"]["changelog"]
        assert store.split("mine").header == header, "the release is the highest version"


def test_a_taken_version_is_refused(path: Path) -> None:
    with Store.open(path, write=True) as store:
        freeze(store, "mine", SplitRule())
        with pytest.raises(UserError, match="'mine@1.0.0' is frozen already and stays"):
            release(store, "mine", without_sample="x")
        assert release(store, "mine", version="1.0.1", without_sample="x").split.version == "1.0.1"


def run(command: object, *args: object) -> str:
    call = [str(a) for a in args]
    return CliRunner().invoke(command, call, catch_exceptions=False, standalone_mode=False).output  # type: ignore[arg-type]


def test_commands(path: Path, tmp_path: Path) -> None:
    with Store.open(path, write=True) as store:
        freeze(store, "mine", SplitRule(), version="1.0.0-candidate")
    out = tmp_path / "mine.jsonl"
    text = run(release_command, "mine", "-s", path, "--without-sample", "a rehearsal", "--out", out)
    assert "## mine 1.0.0" in text and "First release" in text
    assert load_split(out).header["release"]["level"] == "first"
    with Store.open(path, write=True) as store:
        store.put([said(P0.id, "leak@1", "drop")])
        freeze(store, "mine", SplitRule(), version="2.0.0-candidate")
    text = run(diff_command, "mine@1.0.0", "mine@2.0.0-candidate", "-s", path)
    assert "changed  case/f/peru: script prompt dropped" in text and "version 2.0.0 or later after 1.0.0" in text
    rows = [json.loads(x) for x in run(diff_command, out, out, "--jsonl").splitlines()]
    assert [r["level"] for r in rows] == ["none"]
    write_split(make_split("mini", mini_split().cases[1:], version="2.0.0"), tmp_path / "new.jsonl")
    assert "### Dropped (1)" in run(diff_command, "mini", tmp_path / "new.jsonl", "--changelog")
