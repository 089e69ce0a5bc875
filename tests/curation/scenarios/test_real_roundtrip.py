"""Real files: loader -> store -> exporter -> loader -> store -> exporter gives the same records and the same bytes."""

from __future__ import annotations

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
