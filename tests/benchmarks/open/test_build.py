"""The open split is made again of its sources, byte for byte, and its readings decide as the page says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from curation.shipped import FOLDER, shipped_split, verified_text
from curation.splits.split_file import write_split

build = pytest.importorskip("benchmarks.open.build", reason="benchmarks are not shipped")


@pytest.mark.slow
def test_what_ships_is_what_the_sources_make(tmp_path: Path) -> None:
    """Facts and replies through construct, the readings, freeze, the parts: half a minute, and nobody is asked."""
    whole = build.made_again(tmp_path / "work")
    write_split(whole, tmp_path / "open.jsonl")
    assert (tmp_path / "open.jsonl").read_bytes() == verified_text(FOLDER / "open.jsonl.gz").encode("utf-8")
    build.pack(tmp_path / "open.jsonl", tmp_path)
    listed = (tmp_path / "checksums.sha256").read_text(encoding="utf-8")
    assert listed == (FOLDER / "open.jsonl.gz").with_name("checksums.sha256").read_text(encoding="utf-8")


def test_a_folder_with_files_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "open.duckdb").write_text("an earlier build", encoding="utf-8")
    with pytest.raises(SystemExit):
        build.main([str(tmp_path)])
    assert "name a new or empty folder" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["open.duckdb"]


def test_no_prompt_stands_that_a_reading_dropped(tmp_path: Path) -> None:
    prompts = {p.id for case in shipped_split("open").cases for x in (case, *case.neighbours) for p in x.prompts}
    dropped = set()
    for name in ("reading", "decisions"):
        for line in build.unpacked(f"{name}.jsonl", tmp_path).read_text(encoding="utf-8").splitlines():
            verdict = json.loads(line)
            if verdict["label"] == "drop" and not verdict["by"].startswith("blind_hidden@"):
                dropped.add(verdict["item_id"])
    assert len(dropped) > 500 and not prompts & dropped
