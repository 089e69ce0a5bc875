"""What users keep on disk, made small: a store, journals, a split, half-finished runs, ratings, moments, a cache.

``tests/contracts/stored_formats_0_1_0.tar.gz`` was written by version 0.1.0 (commit a568de1) with ``python -m
tests.support.stored_formats ARCHIVE``. It is never written anew to make a test pass: a later version must open what is
in it, go on from there, and come to the same ids, digests, keys and figures.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from click.testing import CliRunner

import scedit
from annotation_ui.campaigns.answer_import import import_campaign
from annotation_ui.campaigns.campaign import CampaignOptions, assign_items, create_campaign, make_task, next_item
from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from curation.export.formats import EXPORTERS, export
from curation.files.artifact_cache import Cache
from curation.loaders import load
from curation.shipped import mini_split
from curation.splits.split_file import make_split
from curation.store.backup import dump
from curation.store.store import Store
from evaluation.covariance.corpus import Corpus
from evaluation.covariance.covariance import key_covariances
from evaluation.covariance.pack import write_pack
from evaluation.editors.presets import make_editor
from evaluation.engines.fast import FastEngine
from evaluation.inference.answering import ModelScorer
from evaluation.report.write import write_report
from evaluation.runs.runner import EditorOutcome
from tests.annotation_ui.conftest import fill
from tests.support.arithmetic import ArithmeticEditor, ArithmeticLM, make_cases, make_config
from tests.support.evaluation.runner_of import runner_of
from tests.support.judge import by_rubric, fill_store
from tests.support.scripted_server import ScriptedServer, author
from tests.support.tiny import TEXT, make

ARCHIVE = Path(__file__).resolve().parents[1] / "contracts" / "stored_formats_0_1_0.tar.gz"
REGIMES: dict[str, Any] = {
    "single": "single",
    "batch": {"name": "batch", "size": 3},
    "sequential": {"name": "sequential", "size": [2, 5], "score": "both"},
}
METRICS = ["es", "ps", "ns", "s_es", "s_flip", "s_ns", "s_bo", "s_es_gen", "script_format"]
EDITORS: list[dict[str, Any]] = [
    {"name": "prompt", "params": {}},
    {"name": "ft", "params": {"layer": 1, "steps": 3}},
    {"name": "rome", "params": {"layer": 1, "steps": 3, "templates": ["{}", "Peru is big. {}"]}},
]
FACTS = 8


def run_cli(*args: str) -> str:
    """The command line's standard output."""
    result = CliRunner().invoke(scedit.cli, list(args), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def unpack(to: Path) -> Path:
    """The fixtures as files."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(to, filter="data")
    return to


def construct(folder: Path, answer: Callable[[dict[str, Any]], Any] = author) -> int:
    """Construction of a few shipped facts into ``folder/store.duckdb``; returns how many calls were made."""
    folder.mkdir(parents=True, exist_ok=True)
    table = [f for f in load("shipped").facts if f.relation.id == "P36" and f.new is not None][:FACTS]
    facts = folder / "facts.jsonl"
    facts.write_text("".join(f.model_dump_json() + "\n" for f in table), encoding="utf-8")
    with ScriptedServer(answer) as server:
        options = ("--model", "scripted", "--base-url", server.url, "--questions", "2", "--neighbours", "1")
        run_cli("construct", str(facts), "--store", str(folder / "store.duckdb"), *options, "--json")
        return len(server.requests)


def freeze(folder: Path) -> Path:
    """A split of what was constructed."""
    out = folder / "split.jsonl"
    run_cli("split", "freeze", "small", "--store", str(folder / "store.duckdb"), "--out", str(out))
    return out


def contents(path: Path) -> dict[str, Any]:
    """Keys, ids and verdicts of a store, and what its calls were, without times and addresses."""
    with Store.open(path) as store:
        records, lines = [], []
        for kind, value in store.everything():
            if kind == "record":
                records.append([value["kind"], value["body"]["key"], value["current"], value["body"]])
            elif kind == "lineage":
                lines.append([value["item_id"], value["stage"], value.get("request"), value.get("model")])
        return {"records": sorted(records, key=str), "lineage": sorted(lines, key=str)}


def judge(folder: Path, answer: Callable[[dict[str, Any]], Any] = by_rubric, *more: str) -> int:
    """A judging of four scripts into ``folder/judged.duckdb``; returns how many calls were made."""
    folder.mkdir(parents=True, exist_ok=True)
    store = folder / "judged.duckdb"
    if not store.exists():
        fill_store(store, facts=2)
    with ScriptedServer(answer) as server:
        run_cli("judge", str(store), "--model", "gpt-x", "--base-url", server.url, "--retest", "0.5", "--json", *more)
        return len(server.requests)


def rate(folder: Path) -> None:
    """A ratings file with two raters' answers, and the store that they were collected into."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        Store.open(folder / "rated.duckdb", create=True) as store,
        RatingsDB(folder / "ratings.sqlite", create=True) as db,
    ):
        fill(store, 3)
        for name in ("ann", "bob"):
            people.invite(db, name)
        create_campaign(db, store, "pilot", make_task("rate_script"), CampaignOptions(overlap=2, batch=4))
        assign_items(db, "pilot")
        for name in ("ann", "bob"):
            while (assignment := next_item(db, "pilot", name)) is not None:
                value = sum(map(ord, assignment.item)) + len(name)
                answers = {"coherence": value % 7 + 1, "consistency": 7, "completeness": value * 3 % 7 + 1}
                db.save("pilot", name, assignment.item, answers, form=db.campaign("pilot").form, seconds=4.0)
        import_campaign(db, store, "pilot")


def run_arithmetic(out: Path, regime: str) -> tuple[dict[str, EditorOutcome], ArithmeticLM]:
    """A run of the arithmetic model, whose numbers are the same on every machine."""
    lm = ArithmeticLM()
    config = make_config(out, regime=REGIMES[regime], metrics=METRICS, editors=["none", "push"])
    outcomes = runner_of(config, make_cases(5, 2), scorer=lm, make=ArithmeticEditor).run()  # type: ignore[arg-type]
    return {o.label: o for o in outcomes}, lm


def run_tiny(out: Path, regime: str, cache: Path) -> dict[str, EditorOutcome]:
    """A run of a real, tiny model under three methods."""
    lm, model_cache = make("llama"), Cache(cache)
    config = make_config(out, editors=EDITORS, regime=REGIMES[regime], metrics=["es", "s_es", "s_ns"])
    runner = runner_of(
        config,
        make_cases(5, 0),
        scorer=ModelScorer(lm),
        make=lambda name, params: make_editor(name, lm, model_cache, params),
        engine=FastEngine(lm, group=2),
    )
    return {o.label: o for o in runner.run()}


def cut_in_half(out: Path) -> None:
    """What a kill leaves: half of the lines of the last method's journal, and half a line."""
    for journal in sorted(out.glob("*/journal.jsonl")):
        if journal.parent.name.startswith("none-"):
            continue
        lines = journal.read_bytes().splitlines(keepends=True)
        keep = len(lines) // 2
        journal.write_bytes(b"".join(lines[:keep]) + lines[keep][: len(lines[keep]) // 2])


def numbers(outcomes: dict[str, EditorOutcome]) -> dict[str, Any]:
    """Everything of the units that time does not change, by label and unit."""
    hidden = {"seconds_edit", "seconds_score", "peak_bytes"}
    return {
        label: {
            "run": outcome.manifest.key,
            "folder": outcome.folder.path.name,
            "units": {k: r.model_dump(mode="json", exclude=hidden) for k, r in outcome.folder.units().items()},
        }
        for label, outcome in outcomes.items()
    }


def measure(folder: Path) -> None:
    """Second moments of a tiny model, as a pack and in a cache."""
    folder.mkdir(parents=True, exist_ok=True)
    corpus = folder / "corpus.txt"
    corpus.write_text("\n\n".join(TEXT * 3), encoding="utf-8")
    lm, cache, text = make("llama"), Cache(folder / "cache"), Corpus([corpus], name="tests")
    write_pack(folder / "pack.safetensors", lm, key_covariances(lm, [0, 1], text, cache=cache), text, cache=cache)


def exported(folder: Path) -> dict[str, str]:
    """SHA-256 of the shipped split and of every file format that it and a made split can be written in."""
    import hashlib

    by_name = {"mini": mini_split().digest}
    for name in EXPORTERS if isinstance(EXPORTERS, dict) else EXPORTERS.names():
        if name in ("datasets", "parquet", "elken", "mulfe", "mulfe-dev"):
            continue  # their bytes hold the versions of other packages, or they came later and hold no facts
        path = folder / f"mini.{name}"
        try:
            export(mini_split(), path, name)
        except Exception as error:  # noqa: BLE001 - a format that cannot hold the split says so, then and now
            by_name[name] = type(error).__name__
            continue
        files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
        by_name[name] = hashlib.sha256(b"".join(p.read_bytes() for p in files)).hexdigest()
    by_name["made"] = make_split("made", make_cases(3, 1).cases).digest
    return by_name


def make_all(folder: Path) -> None:
    """Write every fixture."""
    folder.mkdir(parents=True)
    construct(folder / "constructed")
    freeze(folder / "constructed")
    with Store.open(folder / "constructed/store.duckdb") as store:
        dump(store, folder / "constructed/dump.jsonl")
    _json(folder / "constructed/contents.json", contents(folder / "constructed/store.duckdb"))
    judge(folder / "judged")
    _json(folder / "judged/contents.json", contents(folder / "judged/judged.duckdb"))
    rate(folder / "rated")
    with Store.open(folder / "rated/rated.duckdb") as store:
        dump(store, folder / "rated/dump.jsonl")
    for regime in REGIMES:
        outcomes, _ = run_arithmetic(folder / f"runs/{regime}", regime)
        _json(folder / f"runs/{regime}.numbers.json", numbers(outcomes))
        report = folder / "report"
        write_report([folder / f"runs/{regime}"], out=report)
        shutil.copy(report / "results.csv", folder / f"runs/{regime}.report.csv")
        shutil.rmtree(report)
        cut_in_half(folder / f"runs/{regime}")
    for regime in ("single", "sequential"):
        _json(
            folder / f"runs/tiny-{regime}.numbers.json",
            numbers(run_tiny(folder / f"runs/tiny-{regime}", regime, folder / "cache")),
        )
        cut_in_half(folder / f"runs/tiny-{regime}")
    measure(folder / "moments")
    _json(folder / "exported.json", exported(folder / "out"))
    shutil.rmtree(folder / "out", ignore_errors=True)


def _json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        os.chdir(temporary)
        make_all(Path("files"))
        with tarfile.open(sys.argv[1], "w:gz") as made:
            made.add("files", arcname=".")
