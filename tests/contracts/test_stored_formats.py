"""What version 0.1.0 left on users' disks: it opens, goes on, and gives the same ids, digests and figures."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from annotation_ui.campaigns.answer_import import import_campaign
from annotation_ui.campaigns.campaign import rater_progress
from annotation_ui.ratings.database import RatingsDB
from curation.files.artifact_cache import Cache
from curation.files.journal import Journal
from curation.splits.split_file import load_split, write_split
from curation.store.backup import dump, rebuild
from curation.store.store import Store
from evaluation.covariance.corpus import Corpus
from evaluation.covariance.covariance import cached_covariance
from evaluation.covariance.pack import keep_pack, manifest_path, read_pack, write_pack
from evaluation.report.write import write_report
from schemas.core.errors import DataError
from tests.support import stored_formats as formats
from tests.support.judge import by_rubric
from tests.support.scripted_server import Raw, author
from tests.support.tiny import make


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return formats.unpack(tmp_path_factory.mktemp("stored"))


@pytest.fixture
def files(unpacked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh copy that a test may change; runs name their folder as it was given, so the test stands beside them."""
    shutil.copytree(unpacked, tmp_path / "files")
    for path in (tmp_path / "files").rglob("*.jsonl"):
        if path.name == "journal.jsonl" or path.name.endswith(".llm.jsonl"):
            add_digests(path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path / "user-cache"))
    return Path("files")


def add_digests(path: Path) -> None:
    """A journal of 0.1.0, whose lines have no digests, as the present version writes it; a torn last line stays."""
    *lines, rest = path.read_bytes().split(b"\n")
    path.unlink()
    with Journal(path, write=True) as journal:
        for line in map(json.loads, lines):
            journal.append(line["key"], line["value"])
    path.write_bytes(path.read_bytes() + rest)


def test_a_journal_of_0_1_0_is_refused_in_one_sentence(unpacked: Path) -> None:
    journals = [*unpacked.rglob("journal.jsonl"), *unpacked.rglob("*.llm.jsonl")]
    assert len(journals) > 4
    for path in journals:
        with pytest.raises(DataError, match="an earlier version wrote this journal; name another folder or journal"):
            Journal(path)


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def refuse(payload: dict[str, Any]) -> Raw:
    return Raw(500, {"error": {"message": "nothing was to be asked"}})


def same_json(value: Any) -> Any:
    return json.loads(json.dumps(value, ensure_ascii=False))


def test_a_store_opens_and_dumps_the_same_bytes(files: Path) -> None:
    for folder, name in (("constructed", "store"), ("rated", "rated")):
        with Store.open(files / folder / f"{name}.duckdb") as store:
            dump(store, Path("again.jsonl"))
        assert Path("again.jsonl").read_bytes() == (files / folder / "dump.jsonl").read_bytes()
    assert same_json(formats.contents(files / "constructed/store.duckdb")) == read(files / "constructed/contents.json")


def test_a_store_is_rebuilt_from_a_dump(files: Path) -> None:
    rebuild(files / "constructed/dump.jsonl", Path("new.duckdb"))
    assert same_json(formats.contents(Path("new.duckdb"))) == read(files / "constructed/contents.json")


def test_a_construction_journal_answers_everything(files: Path) -> None:
    """The store is gone, the journal stays: the same command asks nothing and comes to the same records."""
    (files / "constructed/store.duckdb").unlink()
    assert formats.construct(files / "constructed", refuse) == 0
    (files / "constructed/split.jsonl").unlink()
    formats.freeze(files / "constructed")
    assert same_json(formats.contents(files / "constructed/store.duckdb")) == read(files / "constructed/contents.json")


def author_of_0_1_0(payload: dict[str, Any]) -> str:
    """The scripted author in the words that it had when the journal was begun."""
    return author(payload).replace("Look for ", "Think of ")


def test_half_a_construction_journal_goes_on(files: Path) -> None:
    folder = files / "constructed"
    journal = folder / "store.duckdb.llm.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    keep = len(lines) // 2
    journal.write_bytes(b"".join(lines[:keep]) + lines[keep][:9])
    (folder / "store.duckdb").unlink()
    calls = formats.construct(folder, author_of_0_1_0)
    assert 0 < calls <= len(lines) - keep
    (folder / "split.jsonl").unlink()
    formats.freeze(folder)
    assert same_json(formats.contents(folder / "store.duckdb")) == read(folder / "contents.json")


def test_a_split_is_frozen_read_and_written_as_before(files: Path) -> None:
    content = (files / "constructed/split.jsonl").read_bytes()
    split = load_split(files / "constructed/split.jsonl")
    write_split(split, Path("again.jsonl"))
    assert Path("again.jsonl").read_bytes() == content
    (files / "constructed/split.jsonl").unlink()
    assert formats.freeze(files / "constructed").read_bytes() == content


def test_exports_and_digests(files: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    assert formats.exported(out) == read(files / "exported.json")


def judged(files: Path) -> Any:
    """What the judged store holds, but for the lineage of control items, which is kept beside it since 0.2.0."""
    rows = formats.contents(files / "judged/judged.duckdb")
    rest = [line for line in rows["lineage"] if line[1] != "judge_control"]
    assert len(rest) < len(rows["lineage"])
    return same_json({**rows, "lineage": rest})


def test_a_judge_journal_answers_everything(files: Path) -> None:
    (files / "judged/judged.duckdb").unlink()
    assert formats.judge(files / "judged", refuse) == 0
    assert judged(files) == read(files / "judged/contents.json")
    (files / "judged/judged.duckdb.llm.jsonl").unlink()
    assert formats.judge(files / "judged", by_rubric, "--profile", "paper@1") > 0
    assert judged(files) == read(files / "judged/contents.json")
    (files / "judged/judged.duckdb.llm.jsonl").unlink()
    assert formats.judge(files / "judged", by_rubric) > 0, "the present prompts show the raw text"
    both = formats.contents(files / "judged/judged.duckdb")["records"]
    assert all(r in same_json(both) for r in read(files / "judged/contents.json")["records"]), "beside the earlier ones"
    assert len(both) > len(read(files / "judged/contents.json")["records"])


def test_a_ratings_file_is_collected_again(files: Path) -> None:
    with (
        Store.open(files / "rated/rated.duckdb", write=True) as store,
        RatingsDB(files / "rated/ratings.sqlite") as db,
    ):
        assert {s.person: (s.done, s.assigned) for s in rater_progress(db, "pilot")} == {"ann": (6, 6), "bob": (6, 6)}
        import_result = import_campaign(db, store, "pilot")
        assert (import_result.answers, import_result.new, import_result.rejected) == (12, 0, ())
        dump(store, Path("again.jsonl"))
    assert Path("again.jsonl").read_bytes() == (files / "rated/dump.jsonl").read_bytes()


@pytest.mark.parametrize("regime", formats.REGIMES)
def test_a_half_finished_run_goes_on(files: Path, regime: str) -> None:
    """No finished unit is asked again, and the whole is what an undisturbed run came to, to the last digit."""
    out, want = files / f"runs/{regime}", read(files / f"runs/{regime}.numbers.json")
    outcomes, _ = formats.run_arithmetic(out, regime)
    units = len(want["push"]["units"])
    assert (outcomes["none"].computed, outcomes["none"].resumed) == (0, len(want["none"]["units"]))
    assert (outcomes["push"].computed, outcomes["push"].resumed) == (units - units // 2, units // 2)
    assert same_json(formats.numbers(outcomes)) == want


FIGURES = ("group", "editor", "label", "metric", "mean", "cases", "items", "unscored", "ties", "truncated")


@pytest.mark.parametrize("regime", formats.REGIMES)
def test_figures_of_a_finished_run(files: Path, regime: str) -> None:
    """Every mean and count of the report. Intervals and tests are those of this version."""
    out = files / f"runs/{regime}"
    formats.run_arithmetic(out, regime)
    write_report([out], out=Path("report"))
    rows, want = (
        [{k: row[k] for k in FIGURES} for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines())]
        for path in (Path("report/results.csv"), files / f"runs/{regime}.report.csv")
    )
    pairs = [(row, old) for row, old in zip(rows, want, strict=True) if row["mean"]]  # of no edit some are constants
    assert len(pairs) > len(rows) / 2 and all(row == old for row, old in pairs)


@pytest.mark.parametrize("regime", ["single", "sequential"])
def test_a_half_finished_run_of_a_real_model_goes_on(files: Path, regime: str) -> None:
    """Run ids, units and probes are equal; log-probabilities agree as far as another processor's arithmetic allows."""
    out, want = files / f"runs/tiny-{regime}", read(files / f"runs/tiny-{regime}.numbers.json")
    outcomes = formats.run_tiny(out, regime, files / "cache")
    for label, outcome in outcomes.items():
        units = len(want[label]["units"])
        assert outcome.resumed == (units if label == "none" else units // 2)
    differences = same_json(formats.numbers(outcomes))
    assert {k: (v["run"], v["folder"], sorted(v["units"])) for k, v in differences.items()} == {
        k: (v["run"], v["folder"], sorted(v["units"])) for k, v in want.items()
    }
    for label in want:
        for key, unit in want[label]["units"].items():
            repeated_units = differences[label]["units"][key]
            assert repeated_units["error"] is None is unit["error"]
            assert [a["probe"] for a in repeated_units["answers"]] == [a["probe"] for a in unit["answers"]]
            for a, b in zip(repeated_units["answers"], unit["answers"], strict=True):
                assert [t["text"] for t in a["targets"]] == [t["text"] for t in b["targets"]]
                assert [t["logprob"] for t in a["targets"]] == pytest.approx(
                    [t["logprob"] for t in b["targets"]], rel=1e-3, abs=1e-3
                )


def test_a_pack_of_second_moments_is_read_and_written_as_before(files: Path) -> None:
    lm, folder = make("llama"), files / "moments"
    pack = read_pack(folder / "pack.safetensors", lm=lm)
    corpus = Corpus([folder / "corpus.txt"], name="tests")
    write_pack(Path("pack.safetensors"), lm, pack.layers, corpus, cache=Cache(folder / "cache"))
    for path in (Path("pack.safetensors"), manifest_path(Path("pack.safetensors"))):
        assert path.read_bytes() == (folder / path.name).read_bytes()
    keep_pack(pack, Cache(Path("fresh")))
    assert {p.name for p in Path("fresh").iterdir()} == {p.name for p in (folder / "cache").iterdir()}


def test_a_cache_is_found_again(files: Path) -> None:
    lm, folder = make("llama"), files / "moments"
    corpus = Corpus([folder / "corpus.txt"], name="tests")
    for layer in (0, 1):
        assert cached_covariance(lm, layer, corpus, cache=Cache(folder / "cache")) is not None
    before = {p.name: p.read_bytes() for p in (files / "cache").iterdir()}
    formats.run_tiny(Path("fresh-run"), "single", files / "cache")
    assert {p.name: p.read_bytes() for p in (files / "cache").iterdir()} == before
