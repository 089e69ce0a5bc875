"""The pages on annotation, crowds and further ratings, command by command, in an empty folder outside the clone.

Programs answer in place of people. Servers are not started, and no model of others is asked.
"""

from __future__ import annotations

import csv
import shlex
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

import scedit.commands
from annotation_ui.campaigns.campaign import make_task
from annotation_ui.ratings.database import RatingsDB
from curation.store.store import Store
from tests.annotation_ui.conftest import scripts
from tests.docs.pages import DOCS, answer_everything, blocks
from tests.support.filled_sheets import fill_sheet
from tests.support.small import SMALL, small_split

pytestmark = pytest.mark.slow

ELSEWHERE = ("annotate serve", "label-studio", "scedit construct", "make ")
"""What a test does not start: servers, and a paid model."""


@pytest.fixture(autouse=True)
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The empty folder that the commands are typed in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lines(*pages: str) -> list[str]:
    """Every command of pages that a test can run, in its order."""
    texts = [block.text for block in blocks([DOCS / page for page in pages]) if block.info in ("", "bash")]
    commands = [line.strip() for text in texts for line in text.splitlines() if line.strip()]
    return [line for line in commands if not any(word in line for word in ELSEWHERE)]


def run(line: str) -> str:
    """A command as the page prints it; what it said."""
    if not line.startswith("scedit "):
        subprocess.run(["bash", "-c", line], check=True, timeout=60)
        return ""
    words = shlex.split(line, comments=True)[1:]
    outcome = CliRunner().invoke(scedit.commands.cli, words, standalone_mode=False, catch_exceptions=False)
    assert not outcome.exit_code, outcome.output
    return outcome.output


def generated() -> None:
    """Scripts of four methods, as a run of another machine brings them, and the store with their questions."""
    run(f"scedit split add {SMALL} --store my.duckdb")
    rows = scripts(len(small_split().cases))
    more = [(r, r.editor.replace("none", "ft").replace("rome", "memit")) for r in rows]
    rows += [r.model_copy(update={"key": f"{r.key}/{name}", "editor": name}) for r, name in more]
    Path("generated.jsonl").write_text("".join(r.model_dump_json() + "\n" for r in rows), encoding="utf-8")


def test_the_page_on_annotation() -> None:
    generated()
    run("scedit annotate add-scripts generated.jsonl --store my.duckdb")
    said: dict[str, str] = {}
    for line in (commands := lines("annotate.md")):
        said[line] = run(line)
        if "assign pilot" in line:
            run(next(line for line in commands if "annotate sheets" in line))
            for path in Path("sheets").iterdir():
                fill_sheet(path, {f.name: "yes" for f in make_task("filter_question").form.asked_fields()})
        if "annotate assign" in line:
            answer_everything()
    assert "answers by bob" in next(text for line, text in said.items() if "sheets/bob.csv" in line)
    names = [" ".join(shlex.split(line)[1:4]) for line in commands]
    assert {"annotate new pilot", "annotate invite ann", "annotate gold pilot"} <= set(names)
    assert Path("agreement.html").stat().st_size > 5_000 and Path("gold.jsonl").stat().st_size > 100


def test_the_page_on_assignment() -> None:
    generated()
    run("scedit annotate add-scripts generated.jsonl --store my.duckdb")
    first, second, *pairs = lines("assignment.md")
    number = "--number 400"
    assert number in first, "the paper's number: more scripts than this store has"
    run(first.replace(number, "--number 12"))
    assert "12 items, 12 of them new" in run(second)
    run("scedit annotate invite ann bob --ratings ratings.sqlite")
    for line in pairs:
        text = run(line)
        if "annotate assign" in line:
            answer_everything()
    assert "strengths" in pairs[-1] and "comparisons in" in text


def test_the_page_on_crowds() -> None:
    generated()
    run("scedit annotate add-scripts generated.jsonl --store my.duckdb")
    for line in (commands := lines("crowd.md")):
        text = run(line)
        if "annotate assign" in line:
            answer_everything()
    with Path("links.csv").open(newline="") as file:
        assert [row["person"] for row in csv.DictReader(file)] == ["p01", "p02", "p03"]
    assert len(commands) == 5 and text.count('"finished": true') == 3


def test_the_page_on_further_ratings() -> None:
    generated()
    run("scedit annotate add-scripts generated.jsonl --store my.duckdb")
    run("scedit annotate new pilot --task rate_script --store my.duckdb --ratings ratings.sqlite")
    run("scedit annotate invite ann bob cho --ratings ratings.sqlite")
    run("scedit annotate assign pilot --ratings ratings.sqlite")
    answer_everything()
    texts = [run(line) for line in lines("more-ratings.md")]
    assert len(texts) == 3 and "Severity is in points" in texts[0]
    with Store.open(Path("my.duckdb")) as store, RatingsDB("ratings.sqlite") as db:
        assert store.stats() and db.campaign("pilot").settings["stop_width"] == 0.8
