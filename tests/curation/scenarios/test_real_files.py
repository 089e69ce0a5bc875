"""Real files of every published shape: what becomes of their fields, and that they come back through our formats."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from curation.export.formats import export
from curation.loaders import load
from curation.loaders.importer import import_file, import_split
from curation.rules.release import freeze
from curation.rules.rule import SplitRule
from curation.splits.split_file import Split, load_split
from curation.store.store import Store
from schemas.extras import Extra
from tests.support.curation.published_records import kinds

COUNTS = [  # file, format, facts, facts that cannot be used, other records by kind
    ("facts_dev.jsonl", "facts-dev", 300, 0, {"fact": 1445, "neighbour": 1858}),
    ("facts_edge_dev.jsonl", "facts-dev", 30, 0, {"extra": 30, "fact": 9, "neighbour": 16}),
    ("counterfact/rome_format_example.json", "counterfact", 1, 0, {"extra": 1}),
    ("known_1000/known_1000.json", "known-1000", 1197, 0, {"extra": 1197}),
    ("mquake/MQuAKE-hard.json", "mquake", 769, 0, {"extra": 429}),
    ("zsre/zsre_mend_train-1k.json", "zsre", 977, 23, {"extra": 977}),
    ("zsre/zsre_mend_eval_portability_gpt4.json", "zsre", 1008, 29, {"extra": 1008}),
    ("knowedit/readme_examples.json", "knowedit", 3, 0, {"extra": 12}),
    ("ripple/readme_example.json", "ripple", 1, 0, {"extra": 2}),
    ("scedit/shape_example_cf.json", "scedit-cf", 1, 0, {"question": 2, "prompt": 2, "fact": 1, "neighbour": 1}),
    ("scedit/shape_example_t.json", "scedit-t", 1, 0, {"question": 2, "prompt": 2, "fact": 1, "neighbour": 1}),
    ("scedit/paper_examples.json", "scedit-paper", 3, 0, {"question": 3, "script": 1, "prompt": 1, "extra": 3}),
    ("wikifactdiff/shape_from_templama.jsonl", "wikifactdiff", 120, 0, {"extra": 120, "fact": 450, "neighbour": 600}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "format", "facts", "losses", "counts"), COUNTS, ids=[c[0] for c in COUNTS])
def test_real_files(shared: Path, name: str, format: str, facts: int, losses: int, counts: dict[str, int]) -> None:
    import_result = load(shared / "data" / name)
    assert (import_result.format, len(import_result.facts), sum(p.lost for p in import_result.problems)) == (
        format,
        facts,
        losses,
    )
    assert Counter(r.kind for r in import_result.records) == counts
    keys = {f.key for f in import_result.facts} | {r.key for r in import_result.records}
    for record in import_result.records:
        for parent in ("fact", "edit", "of", "question"):
            key = getattr(record, parent, None)
            assert key is None or key in keys or key.startswith("knowedit/passage/")
    assert all(f.source.licence and f.source.name for f in import_result.facts)
    assert set(import_result.places) == {f.key for f in import_result.facts}


@pytest.mark.parametrize("name", ["zsre/zsre_mend_train-1k.json", "wikifactdiff/shape_from_templama.jsonl"])
def test_a_cut_copy_says_so_and_gives_its_whole_records(shared: Path, tmp_path: Path, name: str) -> None:
    file = shared / "data" / name
    path = tmp_path / file.name
    path.write_bytes(file.read_bytes()[:50_000])
    import_result = load(path)
    assert "truncated" in kinds(import_result)
    assert import_result.facts == load(file).facts[: len(import_result.facts)] and len(import_result.facts) > 10
    with pytest.raises(Exception, match="skip-bad"):
        import_result.require()
    assert import_result.require(skip_bad=True)


RULE = SplitRule(min_prompts=0)
FILES = [
    "counterfact/rome_format_example.json",
    "facts_edge_dev.jsonl",
    "knowedit/readme_examples.json",
    "mquake/MQuAKE-hard.json",
    "ripple/readme_example.json",
    "scedit/paper_examples.json",
    "scedit/shape_example_cf.json",
    "scedit/shape_example_t.json",
    "wikifactdiff/shape_from_templama.jsonl",
    "zsre/zsre_mend_eval_portability_gpt4.json",
    "zsre/zsre_mend_train-1k.json",
]


def frozen(source: Path, store: Path, format: str | None = None) -> Split:
    """All edits of a file as a split whose cases and extras are read from the store; the store stays open."""
    import_file(str(source), store, format=format, skip_bad=True)
    return freeze(Store.open(store, write=True), "real", RULE, version="1.0.0")


@pytest.mark.parametrize("name", FILES)
def test_through_our_own_formats(shared: Path, tmp_path: Path, name: str) -> None:
    import_result = load(shared / "data" / name)
    edits = {f.key: f for f in import_result.facts if f.new is not None}
    if not edits:
        pytest.skip("the file holds no edit")
    split = frozen(shared / "data" / name, tmp_path / "a.duckdb")
    keys = {n.fact.key for c in split.cases for n in c.neighbours}
    records = sorted(
        (r for r in import_result.records if isinstance(r, Extra) and r.subject_key in edits.keys() | keys), key=str
    )
    assert {c.fact.key: c.fact for c in split.cases} == edits
    assert sorted(split.extras, key=str) == records

    export(split, tmp_path / "s.jsonl", "split")
    reloaded = load_split(tmp_path / "s.jsonl")
    assert list(reloaded.cases) == list(split.cases) and reloaded.extras == split.extras
    import_split(reloaded, tmp_path / "b.duckdb", origin="test")
    with Store.open(tmp_path / "b.duckdb") as store:
        export(store.open_split("real"), tmp_path / "again.jsonl", "split")
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "s.jsonl").read_bytes()

    export(split, tmp_path / "f.jsonl", "facts")
    back = load(tmp_path / "f.jsonl", "jsonl")
    assert {f.key: f for f in back.facts if f.key in edits} == edits
    assert sorted((r for r in back.records if isinstance(r, Extra)), key=str) == records
    if not any(c.questions or c.prompts or c.neighbours for c in split.cases):  # then facts and extras are everything
        assert frozen(tmp_path / "f.jsonl", tmp_path / "c.duckdb", "jsonl").digest == split.digest
