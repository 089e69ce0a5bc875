"""The page on events: its commands and its Python, as they stand there."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from scedit.commands import cli
from tests.docs.pages import DOCS, blocks
from tests.support.construction.event_templates import facts

PAGE = (DOCS / "events.md", DOCS / "events-run.md")


@pytest.fixture
def folder(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "elken").symlink_to(shared / "data/elken")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_from_the_published_files_to_a_split(folder: Path) -> None:
    first, *others = (block.text for block in blocks(PAGE, "bash"))
    second = next(text for text in others if "freeze reviewed" in text)
    third = next(text for text in others if "events.toml" in text)
    statements = {}
    for line in first.strip().splitlines():
        result = CliRunner().invoke(cli, shlex.split(line)[1:], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        statements[line.split()[2]] = result.output
    assert "708 cases, 3,290 fact questions, 3,913 tendency questions" in statements["freeze"]
    assert "OUT, erratum drops the fact_question" in statements["explain"]
    assert len(json.loads((folder / "out.json").read_text(encoding="utf-8"))) == 708
    result = CliRunner().invoke(cli, shlex.split(second)[1:])
    assert result.exit_code == 1 and "judged" not in result.output and "held by people" in str(result.exception)
    config = next(block for block in blocks(PAGE, "toml") if "# events.toml" in block.text)
    (folder / "events.toml").write_text(config.text, encoding="utf-8")
    dry, *_ = third.strip().splitlines()
    result = CliRunner().invoke(cli, shlex.split(dry)[1:], catch_exceptions=False)
    assert result.exit_code == 0 and "10 of 708 cases" in result.output and "bm25: 10 cases" in result.output


@pytest.mark.slow
def test_campaigns_about_the_shipped_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = next(b.text for b in blocks(PAGE, "bash") if "annotate new" in b.text).strip().splitlines()
    output = [CliRunner().invoke(cli, shlex.split(line)[1:], catch_exceptions=False) for line in lines]
    assert [entry.exit_code for entry in output] == [0] * 5
    assert ["144 items" in entry.output for entry in output] == [False, True, True, False, False]


def test_the_python_of_the_page(folder: Path) -> None:
    (block,) = blocks(PAGE, "python")
    names: dict[str, object] = {}
    exec(block.text, names)
    split = names["split"]
    assert (split.type == "event" and split.all_cases[0].facts) or split.all_cases[0].tendencies  # type: ignore[attr-defined]


def test_the_template_of_the_page_gives_an_event_with_its_questions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page's template, with the entities, facts and wordings that a page has no room for."""
    monkeypatch.chdir(tmp_path)
    block = blocks(PAGE, "toml")[0]
    pairs = [(r, "What is the " + r + " of {subject}?") for r in ("P118", "P1618", "P27")]
    more = [f'[[relation]]\nid = "{name}"\nquestions = ["{text}"]' for name, text in pairs]
    more += [f'[[entity]]\ntype = "club"\nname = "{name}"' for name in ("Alba", "Brenta")]
    (tmp_path / "templates.toml").write_text("\n".join([block.text, *more]), encoding="utf-8")
    lines = [fact.model_dump_json() for fact in facts()]
    (tmp_path / "facts.jsonl").write_text("\n".join(lines), encoding="utf-8")
    building = next(b.text for b in blocks(PAGE, "bash") if "construct-events" in b.text)
    for line in building.strip().splitlines()[:2]:
        words = shlex.split(line)[1:] if "--dry-run" in line else shlex.split(line)[1:-2]
        words += ["--no-paraphrase", "--in-scope", "0", "--out-of-scope", "0"]
        result = CliRunner().invoke(cli, words, catch_exceptions=False)
        assert result.exit_code == 0, result.output
    assert "1 unknown, 1 background" in result.output


def test_the_commands_on_the_shipped_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for text in (b.text for b in blocks(PAGE, "bash") if "partition" in b.text):
        for line in text.strip().splitlines():
            result = CliRunner().invoke(cli, shlex.split(line)[1:], catch_exceptions=False)
            assert result.exit_code == 0, result.output
