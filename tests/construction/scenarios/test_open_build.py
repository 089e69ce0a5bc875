from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pytest

from curation.case_sources.support import TrainingData
from curation.shipped import demonstrations_split
from curation.shipped.open_cases import open_path, verified_text
from curation.splits.split_file import Split, load_split, write_split
from schemas.core.errors import UserError
from tests.support.construction import open_build
from tests.support.construction.open_build import OpenParts, build
from tests.support.construction.open_review import FOLDER

FILES = [FOLDER / "temporal" / f"{name}.toml" for name in ("currency", "mayor")]
FILES += [FOLDER / "works" / "author.toml", FOLDER / "nature" / "discoverer.toml"]
CASES = sum(path.read_text(encoding="utf-8").count("[[cases]]") for path in FILES)


@lru_cache(maxsize=1)
def parts() -> OpenParts:
    return build(FILES, dev=8)


def relations(split: Split) -> set[str]:
    return {case.fact.relation.id for case in split.cases}


def test_the_parts_are_the_whole_and_share_nothing() -> None:
    full_run, dev, test = parts()
    assert len(full_run.cases) == CASES and len(dev.cases) == 8
    assert sorted(c.key for c in (*dev.cases, *test.cases)) == [c.key for c in full_run.cases]
    assert not relations(dev) & relations(test)
    tuned = TrainingData.of("dev", dev.cases)
    assert [tuned.shares(case) for case in test.cases] == [None] * (CASES - 8)


def test_every_case_is_whole() -> None:
    for case in parts().whole.cases:
        assert len(case.prompts) == 4 and len(case.neighbours) == 3, case.key
        assert all(neighbour.prompts for neighbour in case.neighbours)
        near = {neighbour.link.how for neighbour in case.neighbours}
        assert near == ({"near_subject"} if case.fact.change == "temporal" else {"same_object"}), case.key


def test_temporal_cases_keep_their_times_in_each_part() -> None:
    for split in parts():
        temporal = {c.fact.key for c in split.cases if c.fact.change == "temporal"}
        assert {extra.subject_key for extra in split.extras} == temporal
    assert len(list(parts().whole.extras)) == 16


def test_the_same_sources_make_the_same_bytes(tmp_path: Path) -> None:
    repeat = build(FILES, dev=8)
    for name, split in repeat._asdict().items():
        before = getattr(parts(), name)
        assert split.digest == before.digest
        write_split(before, tmp_path / "before.jsonl")
        write_split(split, tmp_path / "after.jsonl")
        assert (tmp_path / "before.jsonl").read_bytes() == (tmp_path / "after.jsonl").read_bytes()
        assert load_split(tmp_path / "after.jsonl").digest == split.digest


def test_demonstrations_share_nothing_with_it() -> None:
    training_data = TrainingData.of("open", parts().whole.cases)
    assert not [case.key for case in demonstrations_split().cases if training_data.shares(case)]


def test_parts_cannot_be_cut_through_a_relation() -> None:
    with pytest.raises(UserError, match="would be empty"):
        build(FILES[:1], dev=2)


def test_what_is_written_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(open_build, "build", lambda _: parts())
    assert open_build.main([str(tmp_path)]) == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["dev.jsonl", "open.jsonl", "test.jsonl"]
    assert f"open.jsonl: {CASES} cases, 4 relations" in capsys.readouterr().out


@pytest.mark.slow
def test_what_is_shipped_is_what_the_sources_make(tmp_path: Path) -> None:
    split = build(open_build.sources()).whole
    write_split(split, tmp_path / "open.jsonl")
    open_build.pack(tmp_path / "open.jsonl", tmp_path)
    assert (tmp_path / "open.jsonl").read_bytes() == verified_text(open_path()).encode("utf-8")
    texts = [path.with_name("checksums.sha256").read_text("utf-8") for path in (open_path(), tmp_path / "x")]
    assert texts[0] == texts[1]
