"""A tree of commands out of a table: what is imported when, and what is answered."""

from __future__ import annotations

import re
import sys
import tomllib
import types

import click
import pytest
from click.testing import CliRunner

import scedit.commands
from scedit.command_table import Command, Group, LazyGroup, walk
from scedit.commands import EXTRAS
from tests.support import ROOT

IMPORTED: list[str] = []


@pytest.fixture
def tree(monkeypatch: pytest.MonkeyPatch) -> LazyGroup:
    module = types.ModuleType("made_up_commands")

    @click.command()
    @click.option("--json", "as_json", is_flag=True)
    def hello(as_json: bool) -> None:
        click.echo(f"hello {as_json}")

    def load(name: str) -> object:
        IMPORTED.append(name)
        if name != "hello":
            raise AttributeError(name)
        return hello

    monkeypatch.setattr(module, "__getattr__", load, raising=False)
    monkeypatch.setitem(sys.modules, "made_up_commands", module)
    IMPORTED.clear()
    table = {
        "hello": Command("made_up_commands:hello", "Say hello."),
        "data": Group("Bring data in.", "data greet"),
        "data greet": Command("made_up_commands:hello", "Greet."),
        "data deep": Group("Go deeper.", "data deep down"),
        "data deep down": Command("made_up_commands:hello", "Go down."),
    }
    return LazyGroup("tool", table=table, stages={"Start": ("hello",), "Build": ("data",)})


@pytest.mark.parametrize("words", ["--help", "data --help", "data deep --help"])
def test_help_imports_nothing(tree: LazyGroup, words: str) -> None:
    result = CliRunner().invoke(tree, words.split())
    assert result.exit_code == 0 and not IMPORTED


def test_stages_are_headings_and_groups_show_their_own(tree: LazyGroup) -> None:
    top = CliRunner().invoke(tree, ["--help"]).output
    assert (
        top.index("Start:") < top.index("hello  Say hello.") < top.index("Build:") < top.index("data  Bring data in.")
    )
    data = CliRunner().invoke(tree, ["data", "--help"]).output
    assert "greet  Greet." in data and "deep" in data and "down" not in data
    assert "Example: scedit data greet" in data and "hello" not in data


@pytest.mark.parametrize("words", ["hello", "data greet", "data deep down"])
def test_commands_are_imported_when_called(tree: LazyGroup, words: str) -> None:
    assert CliRunner().invoke(tree, [*words.split(), "--json"]).output == "hello True\n"
    assert IMPORTED == ["hello"]


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("data hi", "No such command 'hi' in 'scedit data'."),
        ("helo", "Did you mean 'hello'?"),
        ("greet", "There is 'scedit data greet'."),
        ("data deep downn", "No such command 'downn' in 'scedit data deep'. Did you mean 'down'?"),
        ("zzz", "No such command 'zzz'. Commands: hello, data."),
    ],
)
def test_wrong_names(tree: LazyGroup, words: str, answer: str) -> None:
    result = CliRunner().invoke(tree, words.split())
    assert result.exit_code == 2 and answer in " ".join(result.output.split())
    assert not IMPORTED


def test_a_dead_target_is_not_hidden(tree: LazyGroup) -> None:
    dead = LazyGroup("tool", table={"gone": Command("made_up_commands:gone", "Gone.")})
    with pytest.raises(AttributeError, match="gone"):
        CliRunner().invoke(dead, ["gone"], catch_exceptions=False)


def test_walk_names_every_command(tree: LazyGroup) -> None:
    assert list(walk(tree)) == ["hello", "data", "data greet", "data deep", "data deep down"]


def test_completion_of_a_mistyped_group_is_silent(tree: LazyGroup) -> None:
    context = click.Context(tree, resilient_parsing=True)
    assert tree.get_command(context, "nonsense") is None
    assert [item.value for item in tree.shell_complete(context, "da")] == ["data"]


def test_every_package_of_an_extra_is_known_by_the_name_under_which_it_is_imported() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    imported = {"vl_convert_python": "vl_convert"}
    for extra, requirements in project["optional-dependencies"].items():
        for requirement in requirements if extra != "dev" else ():
            name = re.split(r"[>=]", requirement)[0].replace("-", "_")
            assert imported.get(name, name) in EXTRAS, (extra, name)
            assert EXTRAS[imported.get(name, name)] in (extra, "eval")


def test_a_package_that_is_missing_is_named_with_the_extra_that_brings_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(**_: object) -> None:
        raise ModuleNotFoundError("No module named 'pandas'", name="pandas")

    monkeypatch.setattr(scedit.commands, "cli", missing)
    with pytest.raises(SystemExit) as ended:
        scedit.commands.main()
    assert ended.value.code == 1 and "run: pip install 'scedit[eval]'" in capsys.readouterr().err
