"""The page on documents: its commands and its Python, as they stand there."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from scedit.commands import cli
from tests.docs.pages import DOCS, blocks

PAGE = tuple(DOCS / name for name in ("documents.md", "documents-run.md", "documents-methods.md"))


@pytest.fixture
def folder(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mulfe").symlink_to(shared / "data/mulfe")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_from_the_published_files_to_a_dry_run(folder: Path) -> None:
    first, *others = (block.text for block in blocks(PAGE, "bash"))
    second = next(text for text in others if "documents.toml" in text)
    statements = {}
    for line in first.strip().splitlines():
        result = CliRunner().invoke(cli, shlex.split(line)[1:], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        statements[line.split()[2]] = result.output
    assert "228 cases, 1,844 probes, digest" in statements["freeze"] and "IN, in 'case/mulfe/" in statements["explain"]
    assert len(json.loads((folder / "out.json").read_text(encoding="utf-8"))) == 228
    config = next(block for block in blocks(PAGE, "toml") if "# documents.toml" in block.text)
    (folder / "documents.toml").write_text(config.text, encoding="utf-8")
    dry, *_ = second.strip().splitlines()
    result = CliRunner().invoke(cli, shlex.split(dry)[1:], catch_exceptions=False)
    assert result.exit_code == 0 and "8 of 228 cases" in result.output and "lora: 8 cases" in result.output


def test_the_python_of_the_page(folder: Path) -> None:
    (block,) = blocks(PAGE, "python")
    names: dict[str, object] = {}
    exec(block.text, names)
    assert names["split"].type == "document" and names["literal"]  # type: ignore[attr-defined]
