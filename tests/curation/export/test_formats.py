from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from curation.export.formats import EXPORTERS, export
from curation.loaders import load
from curation.loaders.importer import import_split
from curation.shipped import SHIPPED, mini_split
from curation.splits.split_file import Split, make_split
from curation.store.store import Store
from schemas.core.errors import UserError
from tests.support.documents.records import document_case
from tests.support.events import event_case

EVENTS = make_split("events", [event_case(f"case/{n:03}") for n in range(100)])
DOCUMENTS = make_split("documents", [document_case(f"case/{n:03}") for n in range(100)])


def split_for(name: str) -> Split:
    """A split that a format can hold."""
    return next(split for split in (mini_split(), EVENTS, DOCUMENTS) if EXPORTERS.get(name).holds(split))


OWN = {"events": ("elken", "parquet", "datasets"), "documents": ("mulfe", "mulfe-dev")}


@pytest.mark.parametrize("split", [EVENTS, DOCUMENTS], ids=lambda split: split.name)
def test_which_shapes_hold_events_and_documents(tmp_path: Path, split: Split) -> None:
    for name in EXPORTERS.names():
        assert EXPORTERS.get(name).holds(split) == (name in ("split", *OWN[split.name])), name
    assert not any(EXPORTERS.get(name).holds(mini_split()) for name in ("elken", "mulfe", "mulfe-dev"))
    with pytest.raises(UserError, match=f"'{split.name}' has no case that counterfact can hold"):
        export(split, tmp_path / "x.json", "counterfact")


FILES = [n for n in EXPORTERS.names() if n not in ("parquet", "datasets")]


@pytest.mark.parametrize("name", [("ScEdit-CF.json", "scedit-cf"), ("ScEdit-T.json", "scedit-t")])
def test_the_shipped_shapes_are_those_of_the_split(tmp_path: Path, name: tuple[str, str]) -> None:
    export(mini_split(), tmp_path / "x.json", name[1])
    assert (tmp_path / "x.json").read_text() == ((SHIPPED / "mini/mini.jsonl").parent / name[0]).read_text()


def test_wrong_formats(tmp_path: Path) -> None:
    only_t = make_split("t", [c for c in mini_split().cases if c.fact.change == "temporal"])
    for name in ("scedit-cf", "counterfact"):
        with pytest.raises(UserError, match=f"no case that {name} can hold"):
            export(only_t, tmp_path / "x.json", name)
    assert not list(tmp_path.iterdir())
    with pytest.raises(UserError, match="unknown exporter 'scedit'.*allowed: split, scedit-cf"):
        export(only_t, tmp_path / "x.json", "scedit")


@pytest.mark.parametrize("name", EXPORTERS.names())
def test_a_place_that_is_no_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written: (a file stands|File exists|Not a dir)") as error:
        export(split_for(name), tmp_path / "file" / "x", name)
    assert "\n" not in str(error.value)


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[Path]:
    """A folder into which this process may not write; root becomes nobody for it."""
    export(mini_split(), tmp_path / "first", "datasets")  # loads what nobody may not be able to load
    tmp_path.chmod(0o500)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield tmp_path
    finally:
        if root:
            os.seteuid(0)
        tmp_path.chmod(0o700)


@pytest.mark.parametrize("name", EXPORTERS.names())
def test_a_closed_folder(closed: Path, name: str) -> None:
    with pytest.raises(UserError, match="cannot be written: Permission denied"):
        export(split_for(name), closed / "x", name)


@pytest.fixture
def small_files() -> Iterator[None]:
    """Files end at 4,096 bytes, as on a disk that is nearly full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("name", EXPORTERS.names())
@pytest.mark.usefixtures("small_files")
def test_a_full_disk_leaves_what_was_there(tmp_path: Path, name: str) -> None:
    target = tmp_path / "x"
    if name in FILES:
        target.write_text("earlier")
    with pytest.raises(UserError, match="cannot be written") as error:
        export(split_for(name), target, name)
    assert "\n" not in str(error.value)
    assert str(error.value).startswith(f"{target}: ") and "File too large" in str(error.value)
    assert "partial" not in str(error.value)
    assert [p.name for p in tmp_path.iterdir()] == (["x"] if name in FILES else [])
    assert name not in FILES or target.read_text() == "earlier"


@pytest.mark.parametrize("name", ["parquet", "datasets"])
def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UserError, match="something here already"):
        export(mini_split(), tmp_path, name)
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("name", EXPORTERS.names())
def test_what_a_killed_run_left_is_no_hindrance(tmp_path: Path, name: str) -> None:
    stale = tmp_path / (f".x.{2**22 + 7}-1.partial" if name in FILES else ".x.scedit-partial/half")
    stale.parent.mkdir(exist_ok=True)
    stale.write_text("half")
    assert export(split_for(name), tmp_path / "x", name) > 0
    assert (tmp_path / "x").exists() and stale.exists() is (name in FILES)


def test_a_table_comes_back_as_the_edited_facts(tmp_path: Path) -> None:
    assert export(mini_split(), tmp_path / "x.csv", "csv") == len(mini_split().cases)
    loaded = load(tmp_path / "x.csv")
    assert not loaded.problems
    for fact, case in zip(loaded.facts, mini_split().cases, strict=True):
        wanted = case.fact
        assert (fact.key, fact.fact_prompt, fact.old.names, fact.paraphrases) == (
            wanted.key,
            wanted.fact_prompt,
            wanted.old.names,
            wanted.paraphrases,
        )
        assert fact.new and wanted.new and fact.new.names == wanted.new.names and fact.changed_on == wanted.changed_on


def test_a_card_says_what_the_store_knows(tmp_path: Path) -> None:
    import_split(mini_split(), tmp_path / "s.duckdb", origin="mini")
    with Store.open(tmp_path / "s.duckdb") as store:
        export(mini_split(), tmp_path / "with", "datasets", store=store)
    export(mini_split(), tmp_path / "without", "datasets")
    cards = [(tmp_path / name / "README.md").read_text() for name in ("with", "without")]
    assert ["as the store's lineage has it" in card for card in cards] == [True, False]
