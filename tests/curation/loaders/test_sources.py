from __future__ import annotations

from pathlib import Path

from curation.loaders import LOADERS, load
from curation.loaders.sources import UPSTREAM
from tests.support.curation.published_records import CF, one


def test_known_counts_are_checked(shared: Path, tmp_path: Path) -> None:
    problems = [p for p in load(shared / "data" / "known_1000" / "known_1000.json").problems if p.kind == "count"]
    assert [p.what for p in problems] == ["1,197 records, upstream has 1,209 (12 fewer here)"]
    assert not problems[0].lost
    scedit = [p.what for p in one(tmp_path, CF, name="ScEdit-CF.json").problems]
    assert scedit[0] == "1 script prompt, the paper has 7,342" and scedit[-1].startswith("1 record, upstream has 1,830")


def test_every_loader_names_its_source() -> None:
    assert list(UPSTREAM) and set(UPSTREAM) == set(LOADERS.names())
    for name in LOADERS.names():
        assert callable(LOADERS.get(name))
        assert UPSTREAM[name].licence and UPSTREAM[name].name
