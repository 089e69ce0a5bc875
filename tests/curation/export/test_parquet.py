from __future__ import annotations

import json
from pathlib import Path

import pytest

from curation.export.publish import publish
from curation.shipped import mini_split
from curation.splits.split_file import Extras, load_split
from schemas.extras import Extra


def test_extras_go_into_a_table_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets", reason="the package datasets is not installed")
    keys = [c.fact.key for c in mini_split().cases[:3]]
    holding = [
        Extra.holding(f"{k}/x", {"n": n, "é": [None]}, subject_key=k, name="hops", depends_on=keys[:n])
        for n, k in enumerate(keys)
    ]
    split = mini_split()._replace(extras=Extras(holding))
    publish(split, tmp_path / "r")
    rows = list(datasets.load_dataset(str(tmp_path / "r"), "extras", split="test", cache_dir=str(tmp_path / "cache")))
    extras = [
        Extra(key=r["extra"], subject_key=r["fact"], depends_on=r["also"], name=r["name"], content=r["content"])
        for r in rows
    ]
    assert extras == holding
    assert load_split(tmp_path / "r" / "mini.jsonl").extras == split.extras
    data = json.loads((tmp_path / "r" / "croissant.json").read_text(encoding="utf-8"))
    assert "extras" in {r["name"] for r in data["recordSet"]}
    card = (tmp_path / "r" / "README.md").read_text(encoding="utf-8")
    assert "- config_name: extras" in card and "### extras" in card
    publish(mini_split(), tmp_path / "without")
    assert not (tmp_path / "without" / "data" / "extras.parquet").exists()
