"""kill -9, a full disk, an unwritable folder: the store opens, nothing half-written counts, one sentence is said."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from curation.splits import load_split
from curation.store import Store
from schemas.errors import StoreError, UserError

FACTS = 6000


def command(*args: object) -> list[str]:
    return [sys.executable, "-m", "scedit", *map(str, args)]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("many") / "many.jsonl"
    with open(path, "w", encoding="utf-8") as file:
        for n in range(FACTS):
            row = {"key": f"m/{n}", "subject": f"S{n}", "relation": "P36", "prompt": "The capital of {} is"}
            file.write(json.dumps({**row, "old": f"Old {n}", "new": f"New {n}"}) + "\n")
    return path


def killed(args: list[str], delay: float) -> bool:
    """Start a command and kill it after a delay; whether it was still alive then."""
    with subprocess.Popen(args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        time.sleep(delay)
        alive = process.poll() is None
        process.send_signal(signal.SIGKILL)
    return alive


def count(path: Path) -> int:
    """Facts in a store; 0 where it was killed before it was one."""
    if not path.exists():
        return 0
    try:
        with Store.open(path, create=True) as store:
            return store.stats()["records"].get("fact", {"current": 0})["current"]
    except StoreError as error:
        pytest.fail(f"the store does not open after kill -9: {error}")


def test_import_is_whole_or_not_at_all(many: Path, tmp_path: Path) -> None:
    rng = random.Random(7)
    hits = 0
    for trial in range(5):
        path = tmp_path / f"s{trial}.duckdb"
        hits += killed(command("import", many, "--store", path), rng.uniform(0.2, 1.6))
        assert count(path) in (0, FACTS)
        subprocess.run(command("import", many, "--store", path), check=True, capture_output=True)
        assert count(path) == FACTS, "the same command goes on"
    assert hits, "no command was killed in time: the test says nothing"


def test_freeze_and_export_are_whole_or_not_at_all(tmp_path: Path) -> None:
    store, out = tmp_path / "s.duckdb", tmp_path / "out.jsonl"
    subprocess.run(command("split", "add", "mini", "--store", store), check=True, capture_output=True)
    rng = random.Random(8)
    for trial in range(4):
        killed(command("split", "freeze", f"t{trial}", "--store", store, "--out", out), rng.uniform(0.2, 1.2))
        with Store.open(store) as opened:
            for name, digest, _ in opened.split_names():
                assert opened.split(name).digest == digest
        if out.exists():
            assert load_split(out).cases
        killed(command("split", "export", "mini", out, "--store", store), rng.uniform(0.2, 0.9))
        if out.exists():
            assert load_split(out).cases


def limited(size: int) -> Callable[[], None]:
    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


def test_a_full_disk_is_one_sentence_and_keeps_what_was_there(many: Path, tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    subprocess.run(command("import", "shipped", "--limit", 3, "--store", path), check=True, capture_output=True)
    done = subprocess.run(
        command("import", many, "--store", path), capture_output=True, text=True, preexec_fn=limited(1_500_000)
    )
    assert done.returncode == 1
    assert done.stderr.startswith("Error: ") and "free some space" in done.stderr and "Traceback" not in done.stderr
    assert count(path) == 3


@pytest.mark.parametrize("words", [("import", "shipped", "--limit", "2"), ("split", "add", "mini")])
def test_an_unwritable_folder_as_an_ordinary_user(tmp_path: Path, words: tuple[str, ...]) -> None:
    if os.geteuid() == 0:
        folder = Path("/proc/nowhere")  # even root may not make files there
    else:
        tmp_path.chmod(0o500)
        folder = tmp_path
    done = subprocess.run(command(*words, "--store", folder / "s.duckdb"), capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("Error: ") and "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_line_of_a_hundred_megabytes_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    with open(path, "w") as file:
        file.write('{"subject": "')
        for _ in range(100):
            file.write("x" * 1_000_000)
        file.write('", "relation": "P36"}\n')
    done = subprocess.run(command("import", path, "--store", tmp_path / "s.duckdb"), capture_output=True, text=True)
    assert done.returncode == 1 and len(done.stderr) < 1000
    assert "line 1" in done.stderr or "byte" in done.stderr
    with pytest.raises(UserError):
        Store.open(tmp_path / "s.duckdb")
