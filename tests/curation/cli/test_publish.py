"""The command that writes a release."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from curation.cli.splits import publish as command
from curation.loaders.importer import import_split
from curation.shipped import SHIPPED, mini_split
from schemas.core.errors import UserError


def invoke(*args: object) -> tuple[object, str]:
    result = CliRunner().invoke(command, [str(a) for a in args])
    return result.exception, result.output


def test_the_command(tmp_path: Path) -> None:
    import_split(mini_split(), tmp_path / "s.duckdb", origin="tests")
    error, text = invoke("mini", tmp_path / "a", "--store", tmp_path / "s.duckdb")
    assert error is None and "58 cases" in text and "     42  scedit-cf" in text
    assert "No people have judged it" in (tmp_path / "a" / "README.md").read_text()
    options = (
        "--split-file",
        SHIPPED / "mini/mini.jsonl",
        "--formats",
        "split, scedit-t",
        "--json",
        "--date",
        "2026-01-02",
    )
    error, text = invoke("mini@1.0.0", tmp_path / "b", *options)
    assert error is None and json.loads(text)["cases"] == {"split": 58, "scedit-t": 16}
    assert json.loads((tmp_path / "b" / "croissant.json").read_text())["datePublished"] == "2026-01-02"
    error, _ = invoke("mini", tmp_path / "c", "--formats", "facts")
    assert error is None and (tmp_path / "c" / "mini.facts.jsonl").is_file()


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (("other",), "where is the split 'other'"),
        (("other", "--split-file", SHIPPED / "mini/mini.jsonl"), "holds the split 'mini@1.0.0', not 'other'"),
        (("mini", "--formats", "parket"), "unknown exporter 'parket'.*did you mean 'parquet'"),
        (("mini", "--formats", ","), "names no format"),
        (("mini", "--date", "tomorrow"), "takes YYYY-MM-DD"),
        (("mini", "--store", "nowhere.duckdb"), "no such store.*holds the split 'mini', or its file with --split-file"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_mistakes(tmp_path: Path, args: tuple[object, ...], complaint: str) -> None:
    error, _ = invoke(args[0], tmp_path / "r", *args[1:])
    assert isinstance(error, UserError) and not (tmp_path / "r").exists()
    with pytest.raises(UserError, match=complaint):
        raise error


def test_the_folder_one_stands_in_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    error, _ = invoke("mini", ".", "--formats", "split", "--force")
    assert isinstance(error, UserError) and "folder you are in" in str(error)


def test_force_replaces_a_release_and_nothing_beside_it(tmp_path: Path) -> None:
    place = tmp_path / "r"
    assert invoke("mini", place, "--formats", "split,facts")[0] is None
    error, _ = invoke("mini", place, "--formats", "split")
    assert isinstance(error, UserError) and "something here already" in str(error)
    assert invoke("mini", place, "--formats", "split", "--force")[0] is None
    assert not (place / "mini.facts.jsonl").exists()
    (place / ".git").mkdir()
    (place / ".git" / "HEAD").write_text("ref: refs/heads/main")
    (place / "link").symlink_to(tmp_path)
    error, _ = invoke("mini", place, "--formats", "split", "--force")
    assert isinstance(error, UserError) and "no part of the release: .git/HEAD, link" in str(error)
    assert (place / ".git" / "HEAD").read_text() == "ref: refs/heads/main"


def test_a_release_for_knowedits_reader_says_what_no_case_fills(tmp_path: Path) -> None:
    error, text = invoke("mini", tmp_path / "a", "--formats", "easyedit", "--knowedit-lists")
    assert error is None and "Note: EasyEdit's KnowEditDataset" in text and "(0 of 58 cases)" in text
    assert "Note" not in invoke("mini", tmp_path / "b", "--formats", "easyedit")[1]
