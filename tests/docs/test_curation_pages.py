"""Pages on curation, command by command, in an empty folder outside the clone; an endpoint is scripted."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner

import scedit.commands
from curation.loaders import load
from curation.loaders.importer import import_split
from curation.splits.split_file import make_split
from schemas.core.errors import UserError
from tests.docs.pages import DOCS, blocks, run
from tests.support import ROOT
from tests.support.construction.verified import readings
from tests.support.scripted_server import ScriptedServer
from tests.support.small import small_split

pytestmark = pytest.mark.slow
CHANGES = ("counterfactual", "temporal")

PEER = {"subject": "Peru", "relation": "P36", "prompt": "The capital of {} is", "old": "Lima", "new": "Oslo"}


def lines(*pages: str) -> list[str]:
    """Every command of pages, in its order."""
    texts = [block.text for block in blocks([DOCS / page for page in pages]) if block.info in ("", "sh", "bash")]
    return [line for text in texts for line in text.splitlines() if line.startswith("scedit ")]


@pytest.fixture(autouse=True)
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The empty folder that the commands are typed in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def counterfact(case_id: int, subject: str) -> dict[str, object]:
    rewrite = {"prompt": "The mother tongue of {} is", "relation_id": "P103", "subject": subject}
    rewrite |= {"target_new": {"str": "English", "id": "Q1860"}, "target_true": {"str": "French", "id": "Q150"}}
    lists = ("paraphrase_prompts", "neighborhood_prompts", "attribute_prompts", "generation_prompts")
    return {"case_id": case_id, "pararel_idx": 1, "requested_rewrite": rewrite} | {name: [] for name in lists}


def test_store(outside: Path) -> None:
    (outside / "facts.csv").write_text("subject,relation,prompt,old,new\nPeru,P36,The seat of {} is in,Lima,Oslo\n")
    for name, place, subject in (("counterfact", 0, "Zola"), ("edits", 1, "Sand"), ("others", 0, "Hugo")):
        (outside / f"{name}.json").write_text(json.dumps([counterfact(place, subject)]))
    outputs = []
    for line in (commands := lines("store.md", "store-sql.md")):
        if "corrected" in line:
            (outside / "edits.json").write_text(json.dumps([counterfact(1, "Proust")]))
        outputs.append(run(line))
    assert "1 changed" in "".join(outputs) and "changed: counterfact/1\n" in "".join(outputs)
    assert (outside / "again.duckdb").stat().st_size > 1000 and (outside / "copy.jsonl").exists()
    assert len(commands) == 21


def test_duplicates(outside: Path) -> None:
    for line in lines("duplicates.md"):
        if "embedding" in line:  # its model is one to fetch
            try:
                run(line)
            except UserError as error:
                assert "all-MiniLM-L6-v2" in str(error) and "\n" not in str(error)
        elif "--fail-on" in line:
            result = CliRunner().invoke(scedit.commands.cli, shlex.split(line, comments=True)[1:])
            assert result.exit_code == int("fails" in line), result.output
        else:
            assert run(line)
    assert sorted(p.name for p in (outside / "parts").iterdir())


def test_publish(outside: Path) -> None:
    commands = lines("publish.md")
    others = [line for line in commands if line.startswith(("scedit results push", "scedit model push"))]
    assert len(others) == 3, "they need a run, an edit and a pack: tests/evaluation/cli has them"
    for line in commands:
        if line not in others:
            run(line)
    assert {"README.md", "croissant.json", "mini.jsonl"} <= {p.name for p in (outside / "release").iterdir()}


@pytest.mark.parametrize("content", [PEER, [PEER, {**PEER, "old": "Cusco"}]])
def test_defects(outside: Path, content: object) -> None:
    rows = content if isinstance(content, list) else [content]
    (outside / "FILE_OR_FOLDER").mkdir()
    for place in (outside / "FILE", outside / "FILE_OR_FOLDER" / "a.jsonl"):
        place.write_text("\n".join(map(json.dumps, rows)) + "\n")
    for line in lines("defects.md"):
        assert ("contradictory" in run(line)) == (len(rows) > 1)


def test_data(outside: Path) -> None:
    """The page on shipped data: its command, the table of relations, and the files that it names."""
    page = (DOCS / "data.md").read_text(encoding="utf-8")
    for line in re.findall(r"`(scedit [^`]+)`", page):
        assert "835" in run(line) and (outside / "my.duckdb").exists()
    facts = load("shipped").facts
    numbers = Counter((f.relation.id, f.change) for f in facts) + Counter(("all", f.change) for f in facts)
    rows = re.findall(r"^\| \**(\w+)[^|]*\| \**(\d*)\** \| \**(\d*)\** \|$", page, re.MULTILINE)
    shown = {(name, change): int(n) for name, *both in rows for n, change in zip(both, CHANGES, strict=True) if n}
    assert shown == dict(numbers)
    for name in re.findall(r"`((?:mini|open)/[\w.-]+)`", page):
        assert (ROOT / "curation" / "shipped" / name).is_file(), name


def test_releasing() -> None:
    """The checklist names commands, files and modules that are there; the commands themselves take an hour."""
    page = (DOCS / "releasing.md").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"`make ([\w-]+)`", page)) <= targets
    for module in re.findall(r"`python -m ([\w.]+)", page):
        assert find_spec(module), module
    for name in re.findall(r"`([\w./-]+\.(?:py|toml|cff|html|png))`|`\.(ci/run)`", page):
        assert (ROOT / (name[0] or f".{name[1]}")).exists() or name[0] == "report.html", name
    for name in re.findall(r"\]\(([\w/-]+\.md)\)", page):
        assert (DOCS / name).is_file(), name
    for line in re.findall(r"`(scedit [^`]+)`", page):
        words = shlex.split(line)[1:]
        assert run(shlex.join(["scedit", *(words if "--help" in words else [*words[:1], "--help"])]))


@pytest.mark.model
def test_leakage(outside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command; the embedded model stands in for those whose weights are to be fetched."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    import_split(make_split("mini", small_split().cases[:2]), outside / "my.duckdb", origin="tests")
    verify, ask, predict, known, boundary = lines("leakage.md", "model-checks.md")
    assert "calls" in (text := run(verify)) and "verify_prompt" in text and "verify_next" in text
    with ScriptedServer(readings) as server:
        text = run(ask.replace("http://127.0.0.1:8000/v1", server.url))
    assert re.search(r"verify_prompt@\d+", text) and "keep" in text and server.requests
    assert "14 prompts, 14 measured" in run(predict)
    text = run(known.replace("gpt2-xl", "embedded"))
    assert "known_before@1" in text and "known_in_script@1" in text and "14 measured" in text
    assert "token_boundary@1" in (text := run(boundary.replace("gpt2 --model meta-llama/Llama-3.2-1B", "embedded")))
