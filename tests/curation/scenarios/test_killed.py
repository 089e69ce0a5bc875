"""kill -9, a full disk, a closed folder, a file in the way: nothing half-written counts, nothing is overwritten."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from curation.loaders.importer import import_split
from curation.splits.split_file import load_split
from curation.store.store import Store
from scedit.commands import cli
from schemas.core.errors import StoreError, UserError
from tests.support import ROOT
from tests.support import forked_programs as programs
from tests.support.facts import peru_fact
from tests.support.small import small_split

FACTS = 6000


def command(*args: object) -> list[object]:
    return [programs.CLI, *args]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("many") / "many.jsonl"
    with open(path, "w", encoding="utf-8") as file:
        for n in range(FACTS):
            row = {"key": f"m/{n}", "subject": f"S{n}", "relation": "P36", "prompt": "The capital of {} is"}
            file.write(json.dumps({**row, "old": f"Old {n}", "new": f"New {n}"}) + "\n")
    return path


def count(path: Path) -> int:
    """Facts in a store; 0 where it was killed before it was one."""
    if not path.exists():
        return 0
    try:
        with Store.open(path, create=True) as store:
            return store.stats()["records"].get("fact", {"current": 0})["current"]
    except StoreError as error:
        pytest.fail(f"the store does not open after kill -9: {error}")


DYING = """
import os, signal, sys
import duckdb
from curation.files import atomic as files

left, what = int(sys.argv[1]), sys.argv[2]

def step():
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)

class Dying:
    def __init__(self, db):
        self._db = db
    def __getattr__(self, name):
        return getattr(self._db, name)
    def __enter__(self):
        return self
    def __exit__(self, *error):
        self._db.close()
    def cursor(self):
        return Dying(self._db.cursor())
    def execute(self, *words):
        step()
        if "scedit_arrays" in words[0]:  # DuckDB looks for them among the variables of the function that calls it
            scedit_arrays = sys._getframe(1).f_locals["scedit_arrays"]
        return self._db.execute(*words)

if what == "store":
    connect = duckdb.connect
    duckdb.connect = lambda *words, **settings: Dying(connect(*words, **settings))
else:
    for name in ("fsync", "replace"):
        def dies(*words, do=getattr(os, name)):
            step()
            return do(*words)
        setattr(files.os, name, dies)
from scedit.commands import main
sys.argv[1:] = sys.argv[3:]
main()
"""


def dies_at(step: int, what: str, *words: object) -> bool:
    """Run a command that kills itself (-9) at a step: a statement in the store, or the last acts of writing a file."""
    process = programs.run(DYING, step, what, *words)
    assert process.returncode in (0, -signal.SIGKILL), process.stderr
    return process.returncode != 0


STEPS = (5, 12, 20, 60)


def test_import_killed_at_any_statement_counts_for_nothing(many: Path, tmp_path: Path) -> None:
    hits = 0
    for step in STEPS:
        path = tmp_path / f"{step}.duckdb"
        killed_here = dies_at(step, "store", "data", "import", many, "--store", path)
        hits += killed_here
        assert count(path) == (0 if killed_here else FACTS)
    assert hits >= 2, "hardly any command was killed: the test says little"


def test_freeze_killed_at_any_statement_leaves_no_split(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    import_split(small_split(), path, origin="mini")
    hits = 0
    for step in STEPS:
        killed_here = dies_at(step, "store", "split", "freeze", f"t{step}", "--store", path)
        hits += killed_here
        with Store.open(path) as store:
            names = [name for name, _, _ in store.split_names()]
            assert (f"t{step}@1.0.0" in names) is not killed_here
            for name in names:
                assert list(store.open_split(name).cases), "the digest is verified at the end"
            assert store.open_split("mini").digest == small_split().digest
    assert hits >= 2, "hardly any command was killed: the test says little"


@pytest.mark.parametrize("format", ["split", "scedit-cf", "parquet"])
def test_export_killed_while_it_writes_leaves_what_was_there(tmp_path: Path, format: str) -> None:
    path, out = tmp_path / "s.duckdb", tmp_path / "out"
    import_split(small_split(), path, origin="mini")
    words = ("split", "export", "mini", out, "--format", format, "--store", path)
    if format != "parquet":
        out.write_text("earlier")
        words = (*words, "--force")  # it was not this command that wrote it
        for step in (0, 1):  # before the file is on the disk, and before it takes its name
            assert dies_at(step, "file", *words)
            assert out.read_text() == "earlier"
    else:
        for step in (4, 16):  # while the store is read, and while the tables are written
            assert dies_at(step, "store", *words)
            assert not out.exists()
    programs.run(*command(*words)).check_returncode()
    if format == "split":
        assert load_split(out).digest == small_split().digest


LIMITED = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
sys.argv[1:] = sys.argv[2:]
from scedit.commands import main
main()
"""


def test_a_full_disk_is_one_sentence_and_keeps_what_was_there(many: Path, tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    programs.run(*command("data", "import", "shipped", "--limit", 3, "--store", path)).check_returncode()
    process = programs.run(LIMITED, 1_500_000, "data", "import", many, "--store", path)
    assert process.returncode == 1
    assert (
        process.stderr.startswith("Error: ")
        and "free some space" in process.stderr
        and "Traceback" not in process.stderr
    )
    assert count(path) == 3
    programs.run(*command("data", "import", many, "--store", path)).check_returncode()
    process = programs.run(LIMITED, 200_000, "split", "freeze", "x", "--set", "min_prompts=0", "--store", path)
    assert process.returncode == 1
    assert (
        process.stderr.startswith("Error: ") and "Traceback" not in process.stderr and process.stderr.count("\n") == 1
    )
    assert count(path) == 3 + FACTS
    with Store.open(path) as store:
        assert not store.split_names()


WRITING = [  # a command that writes into the closed folder; S is a store that may be read
    "data import shipped --limit 2 --store CLOSED/s.duckdb",
    "split add mini --store CLOSED/s.duckdb",
    "split export mini CLOSED/out.jsonl --store S",
    "split export mini CLOSED/out --format parquet --store S",
    "split publish mini CLOSED/release --store S",
    "store dump CLOSED/d.jsonl --store S",
    "store backup CLOSED/b.duckdb --store S",
    "data convert shipped CLOSED/f.jsonl",
    "split partition mini --part a=0.5 --part b=0.5 --out CLOSED",
    "split errata add facts/x wrong --file CLOSED/e.jsonl",
    "store restore S --store CLOSED/r.duckdb",
    "split freeze again --store S",
]


@pytest.fixture
def ordinary() -> Iterator[tuple[Path, Path]]:
    """A folder closed to this process, which is no administrator, and a store that it may only read."""
    folder = Path(tempfile.mkdtemp(prefix="scedit-closed-"))
    store, target = folder / "s.duckdb", folder / "closed"
    import_split(small_split(), store, origin="mini")
    for words in WRITING:  # what is imported late, an ordinary user may not be able to read here
        place = folder / str(len(list(folder.iterdir())))
        place.mkdir()
        shutil.copy(store, place / "copy.duckdb")
        CliRunner().invoke(cli, words.replace("CLOSED", str(place)).replace("S", str(place / "copy.duckdb")).split())
    target.mkdir()
    target.chmod(0o555)
    store.chmod(0o444)
    folder.chmod(0o555)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield target, store
    finally:
        if root:
            os.seteuid(0)
        folder.chmod(0o700)
        shutil.rmtree(folder)


def test_an_unwritable_folder_as_an_ordinary_user(ordinary: tuple[Path, Path]) -> None:
    target, store = ordinary
    before = store.read_bytes()
    for words in WRITING:
        result = CliRunner().invoke(cli, words.replace("CLOSED", str(target)).replace("S", str(store)).split())
        assert isinstance(result.exception, UserError), (words, result.output, result.exception)
        message = str(result.exception)
        assert "\n" not in message and len(message) < 500 and (str(target) in message or str(store) in message), (
            words,
            message,
        )
        assert not list(target.iterdir()), words
    assert store.read_bytes() == before


OUTPUTS = {
    "store backup": ["store", "backup", "OUT", "--store", "STORE"],
    "store dump": ["store", "dump", "OUT", "--store", "STORE"],
    "split export": ["split", "export", "mini", "OUT", "--store", "STORE"],
    "split export easyedit": ["split", "export", "mini", "OUT", "--format", "easyedit", "--store", "STORE"],
    "split freeze": ["split", "freeze", "mini", "--version", "2.0.0", "--out", "OUT", "--store", "STORE"],
    "data convert": ["data", "convert", "FACTS", "OUT"],
    "store funnel": ["store", "funnel", "--page", "OUT", "--store", "STORE"],
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store that holds mini, and a file of facts."""
    folder = tmp_path_factory.mktemp("filled")
    import_split(small_split(), folder / "s.duckdb", origin="tests")
    (folder / "facts.jsonl").write_text(peru_fact().model_dump_json() + "\n")
    return folder


@pytest.fixture
def folder(filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it to spoil."""
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path / "cache"))
    return Path(shutil.copytree(filled, tmp_path / "folder"))


def call(line: list[str], folder: Path, out: Path, *more: str) -> BaseException | None:
    record = {"OUT": str(out), "STORE": str(folder / "s.duckdb"), "FACTS": str(folder / "facts.jsonl")}
    return CliRunner().invoke(cli, [record.get(word, word) for word in line] + list(more)).exception


@pytest.mark.parametrize("command", [*OUTPUTS, "split publish"])
def test_a_hyphen_is_no_output(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    line = OUTPUTS.get(command, ["split", "publish", "mini", "OUT", "--store", "STORE"])
    assert "'-' is no output" in str(call(line, folder, Path("-"))) and not Path("-").exists()


@pytest.mark.parametrize("command", OUTPUTS)
def test_an_output_never_replaces_the_store_or_an_input(command: str, folder: Path) -> None:
    line = OUTPUTS[command]
    path = folder / ("facts.jsonl" if "FACTS" in line else "s.duckdb")
    os.link(path, folder / "hard")
    (folder / "soft").symlink_to(path)
    before = path.read_bytes()
    for place in (path, folder / "hard", folder / "soft"):
        for force in ([], ["--force"]):
            error = call(line, folder, place, *force)
            assert isinstance(error, UserError) and "stays as it is" in str(error), (place, error)
    assert path.read_bytes() == before and (folder / "hard").samefile(path) and (folder / "soft").is_symlink()
    assert sorted(p.name for p in folder.iterdir()) == ["facts.jsonl", "hard", "s.duckdb", "soft"]


@pytest.mark.parametrize("command", [name for name in OUTPUTS if name != "store funnel"])
def test_an_output_replaces_what_the_same_command_wrote_and_nothing_else(command: str, folder: Path) -> None:
    line, place = OUTPUTS[command], folder / "out" / "x.out"
    for _ in range(2):
        assert call(line, folder, place) is None
    for text in ("thesis", ""):
        place.write_text(text)
        error = call(line, folder, place)
        assert isinstance(error, UserError) and "changed since" in str(error) and place.read_text() == text
    assert call(line, folder, place, "--force") is None and len(place.read_bytes()) > 50
    error = call(line, folder, folder / "out")
    assert isinstance(error, UserError) and ("this is a folder" in str(error))
    assert [p.name for p in place.parent.iterdir()] == ["x.out"]


# All writers share one piece: temporary file, flush, rename.

OWN_WAY = {
    "curation/files/atomic.py": "it is the piece",
    "curation/files/local_models.py": "writes into the piece's temporary file",
    "evaluation/engines/peak_memory.py": "a switch of the kernel, no file",
    "evaluation/models/loading.py": "a converted model: a folder of the cache, exchanged as a whole",
}


DIRECT = re.compile(r"""\.write_(text|bytes)\(|\bos\.replace\(|open\([^()\n]*["'][bt+]*[wx][bt+]*["']""")
"""What opens a file for writing, or replaces one, without the piece."""


def test_all_writers_share_one_piece() -> None:
    packages = ("schemas", "curation", "construction", "evaluation", "annotation_ui")
    paths = [p for name in packages for p in (ROOT / name).rglob("*.py")]
    results = {p.relative_to(ROOT).as_posix() for p in paths if DIRECT.search(p.read_text(encoding="utf-8"))}
    assert results == set(OWN_WAY)
