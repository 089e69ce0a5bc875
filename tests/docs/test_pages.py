"""The pages on the Python API, statistics, documents and events: their commands and examples run as pasted."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import DOCS, blocks, run, run_doctests
from tests.support import ROOT
from tests.support.construction.event_templates import facts

DOCUMENTS = tuple(DOCS / name for name in ("documents.md", "documents-run.md", "documents-methods.md"))
EVENTS = (DOCS / "events.md", DOCS / "events-run.md")


@pytest.fixture(autouse=True)
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The empty folder that the commands are typed in."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def published(shared: Path, tmp_path: Path) -> None:
    """The published files where the pages have them."""
    for name in ("mulfe", "elken"):
        (tmp_path / name).symlink_to(shared / "data" / name)


@pytest.mark.parametrize(("page", "count"), [("api.md", 20), ("statistics.md", 15)])
def test_examples_run(page: str, count: int) -> None:
    assert run_doctests(DOCS / page) >= count


@pytest.mark.slow
@pytest.mark.model
def test_an_edit_flips_the_fact_and_not_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = blocks(DOCS / "api.md", "python")
    exec(compile(example.text, "api.md", "exec"), {})
    fact, script = (eval(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{"))
    assert fact["Polar"] - fact["Garmin"] > 4
    assert script["Garmin"] - script["Polar"] > 6


@pytest.mark.slow
@pytest.mark.model
def test_the_lines_of_the_readme_run() -> None:
    (example,) = blocks(ROOT / "README.md", "python")
    names: dict[str, Any] = {}
    exec(compile(example.text, "README.md", "exec"), names)
    means = names["run"].summary().pivot(index="method", columns="metric", values="mean")
    assert means.loc["prompt", "es"] == 1.0 and means.loc["ft", "s_es"] < 0.4


def test_functions_that_the_page_on_statistics_names_exist() -> None:
    modules = "agreement|bootstrap|correlation|intervals|paired"
    names = set(re.findall(rf"`({modules})\.(\w+)", (DOCS / "statistics.md").read_text(encoding="utf-8")))
    assert len(names) >= 20
    for module, name in names:
        assert hasattr(importlib.import_module(f"curation.stats.{module}"), name), f"{module}.{name}"


def block_with(pages: tuple[Path, ...], words: str, info: str = "bash") -> list[str]:
    """The lines of the block of some pages that holds these words."""
    return next(block.text for block in blocks(pages, info) if words in block.text).strip().splitlines()


@pytest.mark.slow
@pytest.mark.usefixtures("published")
@pytest.mark.parametrize(
    ("pages", "kind", "frozen", "explained", "planned"),
    [
        (DOCUMENTS, "documents", "228 cases, 1,844 probes, digest", "IN, in 'case/mulfe/", "lora: 8 cases"),
        (
            EVENTS,
            "events",
            "708 cases, 3,290 fact questions, 3,913 tendency questions",
            "OUT, erratum drops the fact_question",
            "bm25: 10 cases",
        ),
    ],
)
def test_from_the_published_files_to_a_dry_run(
    pages: tuple[Path, ...], kind: str, frozen: str, explained: str, planned: str
) -> None:
    said = {line.split()[2]: run(line) for line in blocks(pages, "bash")[0].text.strip().splitlines()}
    assert frozen in said["freeze"] and explained in said["explain"]
    count = len(json.loads(Path("out.json").read_text(encoding="utf-8")))
    assert frozen.startswith(f"{count} cases")
    if kind == "events":
        with pytest.raises(Exception, match="held by people"):
            run("\n".join(block_with(pages, "freeze reviewed")))
    Path(f"{kind}.toml").write_text("\n".join(block_with(pages, f"# {kind}.toml", "toml")), encoding="utf-8")
    dry = run(block_with(pages, f"{kind}.toml")[0])
    assert f"{planned.split()[1]} of {count} cases" in dry and planned in dry


@pytest.mark.usefixtures("published")
@pytest.mark.parametrize(("pages", "kind"), [(DOCUMENTS, "document"), (EVENTS, "event")])
def test_the_python_of_the_page(pages: tuple[Path, ...], kind: str) -> None:
    (block,) = blocks(pages, "python")
    names: dict[str, Any] = {}
    exec(block.text, names)
    assert names["split"].type == kind and names["split"].all_cases
    assert kind == "event" or names["literal"]


@pytest.mark.slow
def test_campaigns_about_the_shipped_split() -> None:
    output = [run(line) for line in block_with(EVENTS, "annotate new")]
    assert ["144 items" in text for text in output] == [False, True, True, False, False]


def test_the_template_of_the_page_gives_an_event_with_its_questions() -> None:
    """The page's template, with the entities, facts and wordings that a page has no room for."""
    pairs = [(r, "What is the " + r + " of {subject}?") for r in ("P118", "P1618", "P27")]
    more = [f'[[relation]]\nid = "{name}"\nquestions = ["{text}"]' for name, text in pairs]
    more += [f'[[entity]]\ntype = "club"\nname = "{name}"' for name in ("Alba", "Brenta")]
    Path("templates.toml").write_text("\n".join([blocks(EVENTS, "toml")[0].text, *more]), encoding="utf-8")
    Path("facts.jsonl").write_text("\n".join(fact.model_dump_json() for fact in facts()), encoding="utf-8")
    for line in block_with(EVENTS, "construct-events")[:2]:
        said = run(f"{line} --no-paraphrase --in-scope 0 --out-of-scope 0")
    assert "1 unknown, 1 background" in said


def test_the_commands_on_the_shipped_split() -> None:
    for block in blocks(EVENTS, "bash"):
        for line in block.text.strip().splitlines() if "partition" in block.text else ():
            assert run(line)
