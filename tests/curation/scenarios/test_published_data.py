"""Every published shape: what becomes of its fields, what is kept beside, what is said of defects."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest

from curation.loaders import load
from curation.store.store import Store
from schemas.extras import Extra
from tests.support.curation.published_records import kinds, of

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


@pytest.mark.parametrize(("name", "format", "facts", "lost", "beside"), COUNTS, ids=[c[0] for c in COUNTS])
def test_real_files(shared: Path, name: str, format: str, facts: int, lost: int, beside: dict[str, int]) -> None:
    loaded = load(shared / "data" / name)
    assert (loaded.format, len(loaded.facts), sum(p.lost for p in loaded.problems)) == (format, facts, lost)
    assert Counter(r.kind for r in loaded.records) == beside
    known = {f.key for f in loaded.facts} | {r.key for r in loaded.records}
    for record in loaded.records:
        for parent in ("fact", "edit", "of", "question"):
            key = getattr(record, parent, None)
            assert key is None or key in known or key.startswith("knowedit/passage/")
    assert all(f.source.licence and f.source.name for f in loaded.facts)
    assert set(loaded.places) == {f.key for f in loaded.facts}


def test_all_counterfact_edits_load_quickly(shared: Path) -> None:
    begun = time.process_time()
    names = ("edit", "train", "val")
    count = sum(len(load(shared / "data" / "counterfact" / f"counterfact-{n}.json").facts) for n in names)
    assert count == 21_355
    assert time.process_time() - begun < 10


@pytest.mark.parametrize("name", ["zsre/zsre_mend_train-1k.json", "wikifactdiff/shape_from_templama.jsonl"])
def test_a_cut_copy_says_so_and_gives_its_whole_records(shared: Path, tmp_path: Path, name: str) -> None:
    whole = shared / "data" / name
    path = tmp_path / whole.name
    path.write_bytes(whole.read_bytes()[:50_000])
    loaded = load(path)
    assert "truncated" in kinds(loaded)
    assert loaded.facts == load(whole).facts[: len(loaded.facts)] and len(loaded.facts) > 10
    with pytest.raises(Exception, match="skip-bad"):
        loaded.require()
    assert loaded.require(skip_bad=True)


def test_the_store_keeps_everything(shared: Path, tmp_path: Path) -> None:
    names = ("scedit/shape_example_cf.json", "knowedit/readme_examples.json", "ripple/readme_example.json")
    for n, name in enumerate(names):
        loaded = load(shared / "data" / name)
        with Store.open(tmp_path / f"{n}.duckdb", create=True) as store:
            store.put([*loaded.facts, *loaded.records])
            for record in (*loaded.facts, *loaded.records):
                assert store.get(record.key) == record
            extras = list(store.all(Extra, parent=loaded.facts[0].key))
        assert {e.key for e in extras} == {e.key for e in of(loaded, Extra) if e.subject_key == loaded.facts[0].key}
