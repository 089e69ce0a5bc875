"""Checks of what loads but spoils a measurement, and the commands about files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from curation.cli.formats import convert, defects, formats
from curation.loaders import LOADERS, Loaded, load
from curation.loaders.audit import CHECKS, audit, texts
from schemas.core.errors import UserError
from schemas.facts import Fact, Object
from schemas.scripts import ScriptPrompt
from tests.support import ROOT
from tests.support.facts import peru_fact

CASES: list[tuple[str, Fact, list[str]]] = [
    ("nothing", peru_fact(), []),
    ("old", peru_fact(prompt="Lima, the capital of {} is"), ["old-in-prompt"]),
    ("old begins a word", peru_fact(prompt="The Limanese capital of {} is"), ["old-in-prompt"]),
    ("within a word", peru_fact(prompt="The Kalima of {} is"), []),
    ("new", peru_fact(prompt="Not Oslo, {} has"), ["new-in-prompt"]),
    ("overlap", peru_fact(new=Object(text="Lima Norte")), ["objects-overlap"]),
    ("paraphrase without subject", peru_fact(paraphrases=("Its capital is",)), ["paraphrase-lacks-subject"]),
    ("paraphrase tells", peru_fact(paraphrases=("Peru, from Lima, has",)), ["paraphrase-gives-away"]),
    ("neighbour is subject", peru_fact(neighbour_prompts=("Peru State has",)), ["neighbour-is-subject"]),
    ("neighbour tells", peru_fact(neighbour_prompts=("Lima Region has",)), ["neighbour-gives-away"]),
    ("repeated", peru_fact(neighbour_prompts=("A", "B", "A")), ["repeated-prompt"]),
]


@pytest.mark.parametrize(("one", "kinds"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_checks_of_facts(one: Fact, kinds: list[str]) -> None:
    found = list(audit(Loaded((one,), (), "jsonl", places={one.key: "f, line 1"})))
    assert [p.kind for p in found] == kinds
    assert all(p.kind in CHECKS and p.where == "f, line 1" and not p.lost for p in found)


def test_checks_of_script_prompts() -> None:
    def prompt(text: str) -> ScriptPrompt:
        return ScriptPrompt(key="p", fact="f", text=text, offset=len(text) + 1, targets=("Paris", "Rome"))

    assert not list(audit(Loaded((), (), "x", (prompt("Fly to"),))))
    assert [p.kind for p in audit(Loaded((), (), "x", (prompt("In Paris fly to"),)))] == ["leak-in-script-prompt"]


TEXTS = [
    ("fine & Ünïted", []),
    (" space", ["stray-space"]),
    ("two  spaces", ["stray-space"]),
    ("Ã©", ["damaged-text"]),
    ("a\ufffd", ["damaged-text"]),
    ("AT&amp;T", ["damaged-text"]),
    ("a\u0007b", ["damaged-text"]),
    ("line\nbreak", []),
]


@pytest.mark.parametrize(("text", "kinds"), TEXTS)
def test_checks_of_texts(tmp_path: Path, text: str, kinds: list[str]) -> None:
    (tmp_path / "f.jsonl").write_text(json.dumps({"a": {"b": [text, text]}}) + "\n")
    found = list(texts(tmp_path / "f.jsonl"))
    assert [p.kind for p in found] == kinds
    assert all("in the field 'a.b'" in p.what and p.where.endswith("line 1") for p in found)


def test_defects_of_real_data(shared: Path) -> None:
    path = str(shared / "data" / "zsre" / "zsre_mend_train-1k.json")
    result = CliRunner().invoke(defects, [path, "--examples", "1", "--strict"])
    assert result.exit_code == 1
    assert "977 facts as zsre" in result.output
    assert "21  invalid (cannot be used)" in result.output and "2  malformed (cannot be used)" in result.output
    lines = CliRunner().invoke(defects, [path, "--json"]).output.splitlines()
    assert {"file", "where", "kind", "what"} == set(json.loads(lines[0]))


def test_the_page_of_defects_tells_what_the_command_finds(shared: Path) -> None:
    page = (ROOT / "docs" / "defects.md").read_text(encoding="utf-8")
    names = [f"counterfact/{n}.json" for n in ("counterfact-edit", "counterfact-val", "counterfact_grouped")]
    names += ["zsre/zsre_mend_train-1k.json", "mquake/MQuAKE-hard.json", "facts_edge_dev.jsonl"]
    for name in names:
        found = json_lines(shared / "data" / name)
        for kind in {p["kind"] for p in found} - {"suspect", "left"}:
            count = sum(p["kind"] == kind for p in found)
            assert f"| `{name}` | {kind} | {count:,} |" in page, (name, kind, count)


def json_lines(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in CliRunner().invoke(defects, [str(path), "--json"]).output.splitlines()]


def test_a_folder_with_foreign_files(tmp_path: Path, peru: Fact) -> None:
    (tmp_path / "a.jsonl").write_text(peru.model_dump_json() + "\n")
    (tmp_path / "b.json").write_text('{"x": 1}')
    result = CliRunner().invoke(defects, [str(tmp_path)])
    assert result.exit_code == 0
    assert "a.jsonl: 1 facts as jsonl, 0 problems" in result.output and "b.json: not a known shape" in result.output
    alone = CliRunner().invoke(defects, [str(tmp_path / "b.json")])
    assert isinstance(alone.exception, UserError)


def test_formats() -> None:
    text = CliRunner().invoke(formats).output
    assert all(name in text for name in LOADERS.names()) and "known_1000.json: 1,209 records" in text
    rows = [json.loads(line) for line in CliRunner().invoke(formats, ["--json"]).output.splitlines()]
    assert [r["format"] for r in rows] == LOADERS.names() and all(r["licence"] for r in rows)


def test_convert(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("who,answer,edit\nPeru,Lima,Oslo\nChad,A,A\n")
    words = ["--map", "subject=who", "--map", "old=answer", "--map", "new=edit", "--mapping", str(tmp_path / "m.toml")]
    (tmp_path / "m.toml").write_text('values = { prompt = "{} has", relation = "P36" }\n')
    stopped = CliRunner().invoke(convert, [str(tmp_path / "f.csv"), str(tmp_path / "o.jsonl"), *words])
    assert isinstance(stopped.exception, UserError) and not (tmp_path / "o.jsonl").exists()
    result = CliRunner().invoke(convert, [str(tmp_path / "f.csv"), str(tmp_path / "o.jsonl"), *words, "--skip-bad"])
    assert result.exit_code == 0, result.output
    assert "1 records (1 facts read as table)" in result.output and "line 3: invalid" in result.output
    assert load(tmp_path / "o.jsonl").facts[0].subject.text == "Peru"
