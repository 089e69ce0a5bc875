"""The methods on the open split: archives that a run goes on from, and a page with the finished methods alone."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from evaluation.runs.results import load_run, read_with_digest
from tests.evaluation.report.test_html_page import finished
from tests.support.arithmetic import make_cases

benchmark = pytest.importorskip("benchmarks.open_methods", reason="benchmarks are not shipped")
PAGE = Path(__file__).parents[2] / "benchmarks" / "results" / "open-split.md"
METHODS = [{"name": "push", "label": f"push {n}", "params": {"strength": 0.2 * n}} for n in (1, 2, 3)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(finished(tmp_path_factory.mktemp("open"), editors=METHODS, split=make_cases(6, 0)))


def test_archives_bring_the_same_answers_back(folder: Path, tmp_path: Path) -> None:
    run = load_run(folder)
    first, repeat = benchmark.pack(run, tmp_path / "a"), benchmark.pack(run, tmp_path / "b")
    assert [p.name for p in first] == [f"{e.folder.path.name}.tar.xz" for e in run.editors]
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in repeat], "the same answers are the same bytes"
    empty = tmp_path / "run"
    empty.mkdir()
    assert len(benchmark.unpack(tmp_path / "a", empty)) == 4
    for path in folder.iterdir():
        if path.is_file():
            (empty / path.name).write_bytes(path.read_bytes())
    restored = load_run(empty)
    assert [e.results for e in restored.editors] == [e.results for e in run.editors]
    assert benchmark.unpack(tmp_path / "a", empty) == [], "what stands there is left alone"
    places = [read_with_digest(e.folder.path / "config.json")["out"] for e in restored.editors if e.folder]
    assert places == [f"runs/{folder.name}"] * 4, "a changed configuration has the digest of what it holds now"


def test_an_archive_names_no_folder_of_the_machine(folder: Path, tmp_path: Path) -> None:
    later = Path(finished(tmp_path / "later", editors=METHODS, split=make_cases(7, 0), answers_from=str(folder)))
    for archive in benchmark.pack(load_run(later), tmp_path / "a"):
        with tarfile.open(archive) as file:
            for entry in file.getmembers():
                data = file.extractfile(entry)
                assert data is not None and str(tmp_path.parent).encode() not in data.read(), entry.name


def test_a_stopped_method_is_not_archived(folder: Path, tmp_path: Path) -> None:
    run = load_run(folder)
    first = run.editors[1]
    half = first._replace(results=dict(list(first.results.items())[:3]))
    stopped = run._replace(editors=(run.editors[0], half))
    assert [p.name for p in benchmark.pack(stopped, tmp_path / "a")] == [
        f"{stopped.editors[0].folder.path.name}.tar.xz"
    ]  # type: ignore[union-attr]


def test_the_page_shows_finished_methods_alone(folder: Path, tmp_path: Path) -> None:
    run = load_run(folder)
    first = run.editors[1]
    half = first._replace(results=dict(list(first.results.items())[:3]))
    partial = benchmark.finished(run._replace(editors=(run.editors[0], half, *run.editors[2:])))
    assert [e.label for e in partial.editors] == ["none", "push 2", "push 3"]
    text = "\n\n".join(benchmark._parts(partial))
    assert "Not finished yet: `push 1`." in text and "| `none` (control) |" in text and "`push 1` -" not in text

    page = tmp_path / "page.md"
    page.write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    assert benchmark.main([str(folder), "--page", str(page)]) == 0
    item = page.read_text(encoding="utf-8")
    assert "S-ES, 6 cases in common, best first:" in item and "| `push 1` - `push 2` |" in item
    assert (
        item.count(benchmark.MARKS[0]) == item.count(benchmark.MARKS[1]) == 1 and "# Tables of the open split" in item
    )
