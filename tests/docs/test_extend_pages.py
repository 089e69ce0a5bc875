"""The pages on extending: their code blocks are the files of examples/plugin; every part does what its page says."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sysconfig
import tomllib
import venv
from pathlib import Path
from typing import Any

import pytest
import torch

from construction import CheckInputs
from curation import Cache, Split, Store, mini_split
from evaluation import METRICS, Editor, log_probs
from evaluation.engines.base import Job
from evaluation.engines.fast import FastEngine
from evaluation.engines.simple import SimpleEngine
from evaluation.inference.answering import ModelScorer
from schemas import Answer, Case, Fact, GenerateProbe, ScoreProbe, ScriptQuestion, UserError, Verdict
from schemas.answers import TargetScore
from tests.docs.pages import DOCS, blocks
from tests.support import ROOT
from tests.support.small import small_split
from tests.support.tiny import make

PLUGIN = ROOT / "examples" / "plugin"
POINTS: dict[str, dict[str, str]] = tomllib.loads((PLUGIN / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "entry-points"
]
PAGES = sorted((DOCS / "extend").glob("*.md"))


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PLUGIN))


def part(group: str, name: str) -> Any:
    module, _, attribute = POINTS[f"scedit.{group}"][name].partition(":")
    return getattr(importlib.import_module(module), attribute)


def titled(page: Path) -> dict[str, str]:
    pairs = [(re.fullmatch(r'\w+ title="(.+)"', block.info), block.text) for block in blocks(page)]
    return {match[1]: text for match, text in pairs if match}


def test_the_blocks_of_the_pages_are_the_files() -> None:
    page_text = {name: text for page in PAGES for name, text in titled(page).items()}
    files = [*PLUGIN.glob("*.*"), *PLUGIN.glob("scedit_example/*.py")]
    texts = {str(p.relative_to(PLUGIN)): p.read_text(encoding="utf-8") for p in files if p.is_file()}
    assert texts.pop("try_plugin.py")
    assert page_text == texts


def test_the_pages_name_the_entry_points() -> None:
    groups = {"editor": "method", "metric": "metric", "loader": "loader", "task": "rating_task"}
    for group, page in groups.items():
        text = (DOCS / "extend" / f"{page}.md").read_text(encoding="utf-8")
        for name, value in POINTS[f"scedit.{group}"].items():
            assert f'`{name} = "{value}"` under `scedit.{group}`' in text or page == "method"
    assert {g.removeprefix("scedit.") for g in POINTS} == {*groups, "check", "store_check"}


def test_every_part_goes_by_the_name_of_its_entry_point() -> None:
    for group in ("editor", "metric", "check", "store_check"):
        for name in POINTS[f"scedit.{group}"]:
            assert part(group, name).name == name
    assert part("task", "would_ask").form.name == "would_ask"
    assert part("loader", "updates").format == "updates"


def test_method(peru: Fact) -> None:
    kind: type[Editor] = part("editor", "reminder")
    edit = kind(kind.Params(), None, None).edit([peru])  # type: ignore[arg-type]
    assert edit.rewrite("How to go?") == (
        "It is no longer true that The capital of Peru is Lima. The capital of Peru is Oslo. How to go?"
    )
    plain = kind(kind.Params(deny=False), None, None).edit([peru])  # type: ignore[arg-type, call-arg]
    assert plain.rewrite("") == "The capital of Peru is Oslo. "


@pytest.mark.parametrize("family", ["llama", "gpt2"])
@pytest.mark.parametrize("name", ["rank_one", "trained"])
def test_methods_that_change_weights(family: str, name: str, peru: Fact, tmp_path: Path) -> None:
    """Every engine scores and undoes them, and the new object gains."""
    lm, kind = make(family), part("editor", name)
    before = log_probs(lm, peru.fact_prompt, ["Oslo"])["Oslo"]
    plain = {key: value.clone() for key, value in lm.model.state_dict().items()}
    editor = kind(kind.Params(layer=1), lm, Cache(tmp_path))
    edit = editor.edit([peru])
    assert log_probs(lm, peru.fact_prompt, ["Oslo"], edit)["Oslo"] > before
    assert all(torch.equal(value, plain[key]) for key, value in lm.model.state_dict().items())
    probes = (
        ScoreProbe(purpose="fact", item="x", prompt=peru.fact_prompt, targets=("Oslo", "Lima")),
        GenerateProbe(purpose="text", item="x", prompt=peru.fact_prompt, most=5),
    )
    job = Job("x", Case(key="case/peru", fact=peru), probes)
    done = [next(iter(e.work(editor, [job]))) for e in (FastEngine(lm), SimpleEngine(ModelScorer(lm)))]
    (scored, written), (scored_alone, written_alone) = (result.answers for result in done)
    assert [t.logprob for t in scored.targets] == pytest.approx([t.logprob for t in scored_alone.targets], abs=1e-4)
    assert written.written.text == written_alone.written.text


@pytest.mark.parametrize(
    ("odds", "expected"), [([1, 2, 3, 4], 1.0), ([1, 2, -1, 4], 0.0), ([1, None, 3, 4], None), ([0, 1, 1, 1], 0.0)]
)
def test_metric(odds: list[float | None], expected: float | None) -> None:
    metric, case = part("metric", "s_all")(), small_split().cases[0]
    answers = {}
    for probe, by in zip(metric.probes(case), odds, strict=True):
        values = zip(probe.targets, (by, 0.0), strict=True)
        targets = () if by is None else tuple(TargetScore(text=t, logprob=v, tokens=1) for t, v in values)
        answers[probe.id] = Answer(probe=probe.id, targets=targets, error="lost" if by is None else None)
    scores = metric.score(case, answers, {}, "mean")
    assert scores.mean == expected and len(scores.items) == 1
    assert scores.items[0].reason == ("lost" if expected is None else "")
    assert metric.summarise([scores]).cases == (0 if expected is None else 1)


def test_metric_asks_what_s_es_asks() -> None:
    case = mini_split().cases[0]
    metric = part("metric", "s_all")()
    assert metric.probes(case) == METRICS.get("s_es")().probes(case)
    assert metric.score(case.model_copy(update={"prompts": ()}), {}, {}, "mean").mean is None


def test_loader(tmp_path: Path) -> None:
    load = part("loader", "updates")
    import_result = load(PLUGIN / "updates.jsonl")
    assert [(f.prompt, f.subject.text) for f in import_result.facts] == [
        ("The capital of {} is", "Peru"),
        ("The city of {} is", "the Louvre"),
    ]
    (problem,) = import_result.problems
    assert problem.where.endswith("line 3") and "must stand once" in problem.what and problem.lost
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"about": "Peru", "says": "The capital of Peru is", "was": "Lima"}\n', encoding="utf-8")
    assert "'now' is missing" in load(bad).problems[0].what


@pytest.mark.parametrize(("words", "label"), [(20, "keep"), (21, "unsure")])
def test_check(peru: Fact, words: int, label: str) -> None:
    question = ScriptQuestion(key="f/peru/q", fact=peru.key, text=" ".join(["How"] * words))
    verdict = part("check", "long_question")().judge_one(CheckInputs(fact=peru, question=question))
    assert (verdict.label, verdict.value, verdict.unit) == (label, float(words), "words")
    assert verdict.by == "long_question@1" and verdict.item_id == question.id


def test_rating_task(tmp_path: Path) -> None:
    task, mini = part("task", "would_ask")(), mini_split()
    assert isinstance(mini, Split)
    case = mini.cases[0]
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put([case.fact, *case.questions])
        items = list(task.items(store))
    assert {item.shown["question"] for item in items} == {q.text for q in case.questions}
    record, measurement = task.records(items[0], {"asked": "yes"}, person="ann")
    assert isinstance(record, Verdict) and record.label == "keep" and record.by == "person:ann/would_ask@1"
    assert measurement.value == 1.0
    with pytest.raises(UserError, match="comment"):
        task.records(items[0], {"asked": "no"}, person="ann")


@pytest.mark.slow
def test_installed_in_an_environment_of_its_own(tmp_path: Path) -> None:
    """A fresh environment that sees this one's packages; the plug-in is installed as usual and found by name."""
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    site = next((tmp_path / "env" / "lib").glob("python*/site-packages"))
    (site / "these.pth").write_text(f"{sysconfig.get_path('purelib')}\n{ROOT}\n", encoding="utf-8")
    shutil.copytree(PLUGIN, tmp_path / "plugin")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", "./plugin"], check=True, cwd=tmp_path)
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.run(
        [python, PLUGIN / "try_plugin.py", "--no-model"], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert process.returncode == 0, process.stderr
    assert process.stdout.splitlines()[0].startswith("loader: 2 facts")
    result = subprocess.run(
        [python, "-c", "from evaluation import EDITORS, METRICS; print(*EDITORS.names(), *METRICS.names())"],
        cwd=tmp_path, env=env, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert {"reminder", "s_all"} <= set(result.stdout.split())
