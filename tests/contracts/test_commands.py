"""The command tree: few names at the top, lazy help, old names answered, no dead command mentioned."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import scedit.commands
from curation.cli.options import TEXTS
from scedit.command_table import Command, Group
from tests.support.commands import all_commands, json_value

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = all_commands()
LEAVES = {words: c for words, c in COMMANDS.items() if not isinstance(c, click.Group)}


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)


def test_at_most_fourteen_names_at_the_top_each_in_one_stage() -> None:
    top = [words for words in scedit.commands.COMMANDS if " " not in words]
    assert len(top) <= 14
    assert list(scedit.commands.STAGES) == ["Start", "Build", "Curate", "Annotate", "Evaluate"]
    assert [name for names in scedit.commands.STAGES.values() for name in names] == top


def test_the_table_is_a_tree() -> None:
    for words in scedit.commands.COMMANDS:
        if " " in words:
            assert isinstance(scedit.commands.COMMANDS[words.rpartition(" ")[0]], Group), words
    for words, entry in scedit.commands.COMMANDS.items():
        assert entry.about.endswith(".") and len(entry.about) < 90, words
        if isinstance(entry, Group):
            assert entry.example.startswith(f"{words} ")
            assert any(w.startswith(f"{words} ") for w in scedit.commands.COMMANDS)
    targets = [e.target for e in scedit.commands.COMMANDS.values() if isinstance(e, Command)]
    assert len(targets) == len(set(targets))


@pytest.mark.parametrize("words", ["", "store", "annotate", "annotate label-studio", "model covariance"])
def test_help_of_a_group_imports_no_command(words: str) -> None:
    process = python(
        "import sys, scedit.commands\n"
        f"try: scedit.commands.cli({[*words.split(), '--help']!r})\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'transformers', 'duckdb', 'openai', 'pydantic', 'numpy', 'streamlit', 'scipy'}\n"
        "own = [m for m in sys.modules if '.cli.' in m]\n"
        "print('HEAVY', sorted(heavy & set(sys.modules)), own)"
    )
    assert "HEAVY [] []" in process.stdout
    below = [w for w in scedit.commands.COMMANDS if w.rpartition(" ")[0] == words]
    assert below and all(re.search(rf"^  {w.rpartition(' ')[2]} +\w", process.stdout, re.M) for w in below)
    headings = [line.rstrip(":") for line in process.stdout.splitlines() if line.rstrip(":") in scedit.commands.STAGES]
    assert headings == (list(scedit.commands.STAGES) if not words else [])


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        (["stor"], "Did you mean 'store'?"),
        (["results", "report"], "No such command 'report' in 'scedit results'. There is 'scedit report'."),
        (["store", "dedupe"], "No such command 'dedupe' in 'scedit store'. Did you mean 'dedup'?"),
        (["store", "publish"], "There is 'scedit split publish'."),
        (["covariance"], "There is 'scedit model covariance'."),
        (["model", "doctor", "model", "embedded"], "unexpected extra argument"),
        (["--store"], "No such option"),
        (["\x1b[2J"], "No such command"),
        ([""], "No such command ''"),
        (["store show"], "No such command 'store show'"),
        (["zzz"], "No such command 'zzz'. Commands: "),
        (["annotate", "label-studio", "pul"], "Did you mean 'pull'?"),
    ],
)
def test_a_wrong_name_is_answered(line: list[str], answer: str) -> None:
    result = CliRunner().invoke(scedit.commands.cli, line)
    assert result.exit_code == 2 and answer in " ".join(result.output.split()), result.output


@pytest.mark.parametrize("words", COMMANDS)
def test_every_command_has_help_and_an_example(words: str) -> None:
    text = COMMANDS[words].get_help(click.Context(COMMANDS[words], info_name=f"scedit {words}"))
    assert re.search(r"Examples?:\s", text), text
    example = " ".join(text.partition("Example")[2].split())
    assert f"scedit {words}" in example


# Every command line that documents, error messages, configurations and docstrings tell a user to type.

PLACES = (
    "README.md",
    "CONTRIBUTING.md",
    "Makefile",
    "SECURITY.md",
    "docs",
    "configs",
    ".ci",
    "tests/build",
    "benchmarks",
)
PACKAGES = ("schemas", "curation", "construction", "annotation_ui", "evaluation", "scedit")
SUFFIXES = {".py", ".md", ".toml", ".sh", ".j2", ".html", ".yml", ""}
MENTION = re.compile(r"(?<!from )(?<![\w./-])scedit ((?:[a-z][a-z-]*)(?: +[a-z][a-z-]*)*)")
PROSE = {  # words after the name "scedit" that are no command
    "statistics",
    "is",
}


def files() -> list[Path]:
    results: list[Path] = []
    for name in (*PLACES, *PACKAGES):
        place = ROOT / name
        results += [place] if place.is_file() else [p for p in place.rglob("*") if p.is_file()]
    return [p for p in results if p.suffix in SUFFIXES and "__pycache__" not in p.parts]


def unknown(line: str) -> str | None:
    """The first words of a command line that are no command, or None."""
    words = line.split()
    for n in range(1, len(words) + 1):
        entry = scedit.commands.COMMANDS.get(" ".join(words[:n]))
        if entry is None:
            return " ".join(words[:n])
        if isinstance(entry, Command):
            return None
    return None


def test_every_command_line_mentioned_exists() -> None:
    dead = []
    for path in files():
        text = path.read_text(encoding="utf-8", errors="replace")
        for result in MENTION.finditer(text):
            if (words := unknown(result[1])) and result[1].split()[0] not in PROSE:
                dead.append(f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, result.start()) + 1}: scedit {words}")
    assert not dead, "\n".join(dead)


# Options: one idea has one name, one text and one type in every command.

OWN_MEANING = {
    "--part",  # the name is a standard one and each command's help says what it is there
    *("--model", "--out", "--split", "--page", "--profile", "--prompts", "--version", "--port", "--temperature"),
    *("--threshold", "--support", "--examples", "--percent", "--date", "--neighbours"),
    *("--control-items", "--replace", "--source", "--licence", "--yes"),
}
OTHER_TYPE = {("split partition", "--seed"), ("annotate sheets", "--format"), ("store check", "--model")}
ALLOWED = {("annotate new", "--number")}
"""``--number`` counts items there, beside ``--percent``; retired is the ``--number`` that named another draw."""
RETIRED = {
    *(
        "--method",
        "--editor",
        "--apart",
        "--leave-out",
        "--minutes",
        "--least",
        "--number",
        "--form",
        "--how",
        "--known",
    ),
    *("--only", "--canaries"),
}


def options() -> list[tuple[str, str, click.Option]]:
    results = []
    for words, command in LEAVES.items():
        for option in command.params:
            if isinstance(option, click.Option) and not option.hidden:
                results.append((words, max(option.opts, key=len), option))
    return results


@pytest.mark.parametrize("words", LEAVES)
def test_every_option_has_help(words: str) -> None:
    for option in LEAVES[words].params:
        if isinstance(option, click.Option):
            assert option.help and (option.help[0].isupper() or option.help.startswith("lm-eval")), option.opts
            assert option.help.rstrip()[-1] in ".)", option.opts


def test_one_idea_has_one_text_and_one_type() -> None:
    by_name: dict[str, list[tuple[str, click.Option]]] = {}
    for words, name, option in options():
        by_name.setdefault(name, []).append((words, option))
    for name, result in by_name.items():
        if name in TEXTS:
            for words, option in result:
                assert option.help.startswith(TEXTS[name]), (words, name, option.help)  # type: ignore[union-attr]
        elif name not in OWN_MEANING:
            assert len({option.help for _, option in result}) == 1, (name, [(w, o.help) for w, o in result])
        types = {option.type.name for words, option in result if (words, name) not in OTHER_TYPE}
        assert name in OWN_MEANING or len({t.removesuffix(" range") for t in types}) == 1, (name, types)


def test_shared_options_are_there_in_full() -> None:
    for words, name, option in options():
        assert name not in RETIRED or (words, name) in ALLOWED, (words, name)
        if name == "--store":
            assert set(option.opts) == {"--store", "-s"}, words
        if name == "--jsonl":
            assert any(n == "--json" for w, n, _ in options() if w == words), words


@pytest.mark.parametrize(
    "line",
    [
        *(["data", "formats"], ["annotate", "tasks"], ["prompts"], ["model", "editors"], ["store", "check", "--list"]),
        *(["results", "reproduce", "scedit-table2"], ["prompts", "--fact", "shipped"], ["model", "covariance", "show"]),
        *(["split", "overlap", "mini", "mini"], ["split", "partition", "mini"], ["split", "diff", "mini", "mini"]),
    ],
    ids=" ".join,
)
def test_json_is_exactly_one_value(line: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path))
    result = CliRunner().invoke(scedit.commands.cli, [*line, "--json"], catch_exceptions=False)
    assert result.exit_code == 0
    value = json_value(result.stdout)
    lines = CliRunner().invoke(scedit.commands.cli, [*line, "--jsonl"], catch_exceptions=False)
    if lines.exit_code == 0:
        assert [json.loads(text) for text in lines.stdout.splitlines()] == value


# Shell completion: what docs/install.md says to put into the shell's start-up file.


def completed(*words: str, incomplete: str = "", shell: str = "bash_complete") -> str:
    line = ["scedit", *words, *([incomplete] if incomplete else [])]
    env = {"COMP_WORDS": " ".join(line), "COMP_CWORD": str(len(words) + 1), "_SCEDIT_COMPLETE": shell}
    code = "import sys; sys.argv = ['scedit']; import scedit.commands; scedit.commands.main()"
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, env=os.environ | env, check=False
    )
    assert "Traceback" not in process.stderr, process.stderr
    return process.stdout


@pytest.mark.parametrize(
    ("words", "incomplete", "names"),
    [
        ([], "", [w for w in scedit.commands.COMMANDS if " " not in w]),
        ([], "st", ["store"]),
        (["store"], "d", ["dedup", "dump"]),
        (["model", "covariance"], "", ["compute", "load", "show"]),
        (["store", "dedup"], "--sim", ["--similarity"]),
        (["store", "stats"], "--js", ["--json"]),
        ([], "zzz", []),
        (["stor"], "x", []),
    ],
)
def test_the_shell_completes_names(words: list[str], incomplete: str, names: list[str]) -> None:
    report = completed(*words, incomplete=incomplete)
    assert [line.removeprefix("plain,") for line in report.split()] == names


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_documented_lines_give_a_script(shell: str) -> None:
    assert f"_SCEDIT_COMPLETE={shell}_source scedit" in (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    if shell != "bash":  # click asks the installed bash for its version
        assert "_SCEDIT_COMPLETE" in completed(shell=f"{shell}_source")


# Extras: a package that is missing is named with the one that brings it.


def test_every_package_of_an_extra_is_known_by_the_name_under_which_it_is_imported() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    imported = {"vl_convert_python": "vl_convert"}
    for extra, requirements in project["optional-dependencies"].items():
        for requirement in requirements if extra != "dev" else ():
            name = re.split(r"[>=]", requirement)[0].replace("-", "_")
            assert imported.get(name, name) in scedit.commands.EXTRAS, (extra, name)
            assert scedit.commands.EXTRAS[imported.get(name, name)] in (extra, "eval")


def test_a_package_that_is_missing_is_named_with_the_extra_that_brings_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(**_: object) -> None:
        raise ModuleNotFoundError("No module named 'pandas'", name="pandas")

    monkeypatch.setattr(scedit.commands, "cli", missing)
    with pytest.raises(SystemExit) as ended:
        scedit.commands.main()
    assert ended.value.code == 1 and "run: pip install 'scedit[eval]'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [(["--yes"], 130, "Stopped. Finished work is kept"), ([], 1, "Nothing was changed.")],
)
def test_a_question_answered_with_no_is_no_interrupted_run(
    answer: list[str], code: int, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys, "argv", ["scedit", "annotate", "forget", "ann", "--ratings", "r.sqlite", *answer])
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda _: "n")
    monkeypatch.setattr("annotation_ui.cli.campaigns.RatingsDB", stopped)
    with pytest.raises(SystemExit) as ended:
        scedit.commands.main()
    assert ended.value.code == code and words in capsys.readouterr().err
