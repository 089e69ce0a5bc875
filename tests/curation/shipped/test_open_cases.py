"""The split ``open``: found by name, verified when it is read, divided without anything shared."""

from __future__ import annotations

import gzip
import hashlib
import shutil
from collections import Counter
from pathlib import Path

import pytest

from curation.shipped import SPLITS, demonstrations_split, named_split, open_cases, shipped_split
from curation.shipped.open_cases import open_part, open_path, open_release, reserved_case, verified_text
from curation.splits.split_file import Split
from schemas.core.errors import DataError, UserError


def relations(split: Split) -> set[str]:
    return {case.fact.relation.id for case in split.cases}


def subjects(split: Split) -> set[str]:
    facts = [f for case in split.cases for f in (case.fact, *(n.fact for n in case.neighbours))]
    return {name for fact in facts for name in fact.subject.compared_names}


def test_every_name_is_found() -> None:
    by_name = {name: shipped_split(name) for name in SPLITS}
    assert {name: (split.name, split.version) for name, split in by_name.items()} == {
        "mini": ("mini", "1.0.0"),
        "events": ("events", "1.0.0"),
        "documents": ("documents", "1.0.0"),
        "hops": ("hops", "2.0.0"),
        "open": ("open", "0.9.2"),
        "open:dev": ("open-dev", "0.9.2"),
        "open:test": ("open-test", "0.9.2"),
    }
    assert named_split("open:test") is by_name["open:test"]
    with pytest.raises(UserError, match="no split 'open:train' comes with the program; allowed: mini, open, open:dev"):
        shipped_split("open:train")


def test_it_is_as_large_as_said() -> None:
    kinds = Counter(case.fact.change for case in open_release().cases)
    assert kinds["counterfactual"] >= 300 and kinds["temporal"] >= 100
    of_kind = {k: Counter(c.fact.relation.id for c in open_release().cases if c.fact.change == k) for k in kinds}
    assert len(of_kind["counterfactual"]) >= 20
    assert len(open_part("dev").cases) >= 80
    texts = Counter(prompt.text for case in open_release().cases for prompt in case.prompts)
    assert sum(texts.values()) == 4 * len(open_release().cases) and max(texts.values()) == 1


def test_the_parts_are_the_whole_and_share_nothing() -> None:
    release, dev, test = open_release(), open_part("dev"), open_part("test")
    assert sorted(c.key for c in (*dev.cases, *test.cases)) == [c.key for c in release.cases]
    assert not relations(dev) & relations(test) and not subjects(dev) & subjects(test)
    for split in (release, dev, test):
        temporal = {c.fact.key for c in split.cases if c.fact.change == "temporal"}
        assert temporal and {extra.subject_key for extra in split.extras} == temporal
    assert dev.header["part_of"] == "open@0.9.2" and dev.header["seed"] == "open" and "dev" not in dev.header


def test_what_nothing_may_learn_from() -> None:
    cases = open_part("test").cases
    assert reserved_case(cases[-1:]) == cases[-1].key
    assert reserved_case([*open_part("dev").cases, *demonstrations_split().cases]) is None
    assert reserved_case([]) is None


def copy(folder: Path) -> Path:
    for name in (open_path().name, "checksums.sha256"):
        shutil.copy(open_path().with_name(name), folder / name)
    return folder / open_path().name


def test_the_list_of_checksums_is_that_of_the_file(tmp_path: Path) -> None:
    path = copy(tmp_path)
    digest, name = path.with_name("checksums.sha256").read_text("utf-8").split()
    assert name == "open.jsonl"
    assert hashlib.sha256(verified_text(path).encode()).hexdigest() == digest


@pytest.mark.parametrize("kind", ["header", "case", "extra"])
def test_any_change_is_noticed(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = copy(tmp_path)
    text = gzip.decompress(path.read_bytes()).decode("utf-8")
    lines = text.split("\n")
    number = {"header": 0, "case": 5, "extra": len(lines) - 2}[kind]
    assert lines[number].startswith('{"extra"') == (kind == "extra")
    lines[number] = lines[number].replace("open/", "open?", 1)
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    monkeypatch.setattr(open_cases, "open_path", lambda: path)
    with pytest.raises(DataError, match="the shipped split was changed.*install the package again"):
        open_release.__wrapped__()


@pytest.mark.parametrize("fault", ["cut off", "no gzip", "no list", "missing", "not listed"])
def test_a_damaged_installation_is_told_in_one_sentence(tmp_path: Path, fault: str) -> None:
    path = copy(tmp_path)
    listing = path.with_name("checksums.sha256")
    if fault == "cut off":
        path.write_bytes(path.read_bytes()[:-9_000])
    elif fault == "no gzip":
        path.write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    elif fault == "not listed":
        listing.write_text("\n", encoding="utf-8")
    else:
        (listing if fault == "no list" else path).unlink()
    with pytest.raises(DataError, match="install the package again") as error:
        verified_text(path)
    assert "\n" not in str(error.value)
