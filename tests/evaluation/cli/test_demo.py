"""The command ``demo`` with its steps recorded instead of run: ``make demo`` runs them."""

from __future__ import annotations

import json
import shlex
import tomllib
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import scedit.commands
from construction.documents.sources import read_documents
from curation.loaders import load
from curation.store.store import Store
from evaluation.cli.demo import FACTS, demo
from evaluation.runs.config import RunConfig
from evaluation.runs.specificity_building import open_pool
from evaluation.simplify import parsing
from schemas.core.errors import UserError
from schemas.events.questions import FactQuestion
from tests.support.commands import command


class Recorder(click.Group):
    """A root that runs the demo and writes down every other command line."""

    def __init__(self, fail: str = "") -> None:
        super().__init__("scedit", commands={"demo": demo})
        self.lines: list[list[str]] = []
        self.fail = fail

    def main(self, args=None, **more):  # type: ignore[no-untyped-def, override]
        if args and args[0] != "demo":
            self.lines.append(args)
            if args[:2] == self.fail.split():
                raise UserError("the split would have no case")
            return None
        return super().main(args, **more)


def walked(out: Path, fail: str = "", more: tuple[str, ...] = ()) -> tuple[Recorder, str]:
    root = Recorder(fail)
    result = CliRunner().invoke(root, ["demo", "--out", str(out), *more], catch_exceptions=False)
    assert result.exit_code == 0
    return root, result.output


@pytest.mark.parametrize(
    ("more", "steps"),
    [
        ((), ["construct", "split", "split", "run", "report"]),
        (("--events",), ["data", "split", "run", "report"]),
        (("--documents",), ["data", "split", "data", "run", "report"]),
    ],
)
def test_every_step_is_a_command_that_parses_and_is_shown_before_it_runs(
    more: tuple[str, ...], steps: list[str], tmp_path: Path
) -> None:
    root, output = walked(tmp_path / "d", more=more)
    assert [line[0] for line in root.lines] == steps
    for line in root.lines:
        assert f"$ scedit {' '.join(line)}" in output
        words = " ".join(line[:2]) if " ".join(line[:2]) in scedit.commands.COMMANDS else line[0]
        result = command(words)
        result.make_context(words, line[len(words.split()) :])  # raises where an option is unknown


def test_what_it_writes_can_be_read_and_is_kept_when_changed(tmp_path: Path) -> None:
    out = tmp_path / "d"
    walked(out)
    facts = load(out / "facts.jsonl").facts
    assert [f.key for f in facts[:6]] == sorted(FACTS, key=[f.key for f in facts].index) and len(facts) > 6
    table = tomllib.loads((out / "run.toml").read_text(encoding="utf-8"))
    assert table["out"] == f"{out}/run" and table["limit"] == {"counterfactual": 9, "temporal": 3}
    (out / "run.toml").write_text("changed = true\n")
    walked(out)
    assert (out / "run.toml").read_text() == "changed = true\n", "the user's changes stay"


def test_the_commands_that_it_ends_with_exist(tmp_path: Path) -> None:
    _, output = walked(tmp_path / "d")
    ending = output.partition("Done.")[2]
    assert f"scedit store stats --store {tmp_path}/d/store.duckdb" in ending
    line = shlex.split(ending.partition("scedit ")[2].partition("\n")[0])
    command("store stats").make_context("stats", line[2:])


def test_nothing_to_freeze_is_said_and_the_demo_goes_on(tmp_path: Path) -> None:
    root, output = walked(tmp_path / "d", fail="split freeze")
    assert "Nothing to freeze: the split would have no case" in output and root.lines[-1][0] == "report"


def test_a_step_that_fails_ends_the_demo(tmp_path: Path) -> None:
    root = Recorder(fail="split add")
    with pytest.raises(UserError, match="no case"):
        CliRunner().invoke(root, ["demo", "--out", str(tmp_path / "d")], catch_exceptions=False)
    assert root.lines[-1][:2] == ["split", "add"]


def test_the_inputs_for_events_construct_without_a_model(tmp_path: Path) -> None:
    """Two templates, an event of each; every path has its fact, and every event questions in and out of scope."""
    out = tmp_path / "d"
    walked(out, more=("--events",))
    words = ["construct-events", str(out / "templates.toml"), "--facts-from", str(out / "facts.jsonl"), "--json"]
    more = [
        "--events-per-template",
        "1",
        "--no-paraphrase",
        "--in-scope",
        "0",
        "--out-of-scope",
        "0",
        "--store",
        str(out / "e.duckdb"),
    ]
    result = CliRunner().invoke(scedit.commands.cli, ["data", *words, *more], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    with Store.open(out / "e.duckdb") as store:
        questions = [r for r in store.all(FactQuestion)]
    assert {(q.scope, q.unknown) for q in questions} == {("in", False), ("in", True), ("out", False)}
    assert len({q.event for q in questions}) == 2 and sum(q.background for q in questions) == 2
    assert all(len(q.background_questions) == q.background for q in questions), "each has a question for its path"
    config = RunConfig.model_validate(tomllib.loads((out / "run.toml").read_text(encoding="utf-8")))
    assert list(config.editors)[-4:] == ["placebo", "ice", "bm25", "serac"]


@pytest.mark.slow
@pytest.mark.timeout(1500)  # on a machine that does much else
def test_the_demo_of_events_from_end_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real thing on one event, offline: constructed, frozen, run with five methods, reported; and resumed.

    The model words the two events of the templates as news, and nothing else.
    """
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("evaluation.cli.demo.WORDED_EVENTS", ("--in-scope", "0", "--out-of-scope", "0"))
    out = tmp_path / "d"
    words = ["demo", "--events", "--out", str(out), "--limit", "1"]
    result = CliRunner().invoke(scedit.commands.cli, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    page = (out / "report.html").read_text(encoding="utf-8")
    for text in ("Routing: which event was put", "Locality next to the placebo", "Construction"):
        assert text in page
    table = json.loads((out / "results.json").read_text(encoding="utf-8"))["parts"][0]
    assert table["active_edits"] == {
        "none": [0, 0],
        "placebo": [1, 1],
        "ice": [1, 1],
        "bm25": [24, 24],
        "serac": [24, 24],
    }
    assert "smoke-test quality" in result.output
    again = CliRunner().invoke(scedit.commands.cli, words, catch_exceptions=False)
    assert again.exit_code == 0 and (out / "split.jsonl").is_file() == ("Nothing to freeze" not in again.output)


@pytest.mark.slow
@pytest.mark.timeout(1500)  # on a machine that does much else
def test_the_demo_of_documents_from_end_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real thing on a document, offline: constructed, specificity drawn, run, reported; and resumed.

    Without MEMIT, which takes minutes a document here; it has tests of its own. Fewer probes and questions than usual.
    """
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    less = {"POOL_STEP": 40, "KNOWN": 5, "ASKED": 5, "DOCUMENTS": 1}
    for name, value in {**less, "WRITTEN_PROBES": ("--min-probes", "1", "--max-probes", "1")}.items():
        monkeypatch.setattr(f"evaluation.cli.demo.{name}", value)
    monkeypatch.setattr(parsing, "parser_is_there", lambda: False)
    out = tmp_path / "d"
    words = ["demo", "--documents", "--out", str(out), "--limit", "1"]
    result = CliRunner().invoke(scedit.commands.cli, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    page = (out / "report.html").read_text(encoding="utf-8")
    for text in ("In the columns of MULFE", "Efficacy against specificity", "Free-text knowledge editing"):
        assert text in page
    assert "questions are answered under all three prompts" in result.output and "smoke-test quality" in result.output
    known = json.loads((out / "known.json").read_text(encoding="utf-8"))
    assert len(known["questions"]) == 5
    again = CliRunner().invoke(scedit.commands.cli, words, catch_exceptions=False)
    assert again.exit_code == 0 and "questions asked" not in again.output


@pytest.mark.parametrize("parser", [False, True])
def test_the_inputs_for_documents_can_be_read(parser: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "parser_is_there", lambda: parser)
    out = tmp_path / "d"
    _, output = walked(out, more=("--documents", "--limit", "3"))
    assert ("MEMIT is left out" in output) != parser
    config = RunConfig.model_validate(tomllib.loads((out / "run.toml").read_text(encoding="utf-8")))
    assert [*config.editors] == ["swapped", "ice", "lora", "mend_doc", *(["memit"] if parser else [])]
    assert config.support is None, "mend_doc reads the network that ships"
    assert config.limit == 3 and config.specificity is not None and f"{len(config.editors) + 1} methods" in output
    pool = open_pool(str(out / "pool.jsonl")).questions
    assert len(pool) == 334 and set(pool) < set(open_pool("shipped").questions)
    documents = read_documents(out / "documents.jsonl").documents
    assert len(documents) == 2 and all(text.source.licence == "CC0-1.0" for text in documents)


def test_one_kind_of_edit_at_a_time(tmp_path: Path) -> None:
    result = CliRunner().invoke(Recorder(), ["demo", "--out", str(tmp_path / "d"), "--events", "--documents"])
    assert result.exit_code == 2 and "not both" in result.output
