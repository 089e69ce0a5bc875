"""The shipped split ``hops`` is what its page says."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

import curation.shipped as shipped
from construction.documents.checks import AnswerInQuery, AnswerShort, OneBlank, ProbeInputs, ProbeStandsAlone, TagKnown
from construction.documents.hops import HopSource
from curation.splits.split_file import Split
from schemas.cases import DocumentCase
from schemas.core.config import read_toml, validate
from schemas.core.errors import DataError
from tests.support.documents.shipped_hops import build, main


@pytest.fixture(scope="module")
def split() -> Split:
    return shipped.hops_split()


def test_the_split_is_made_of_its_source(split: Split, tmp_path: Path) -> None:
    main(tmp_path / "hops.jsonl")
    for name in ("hops.jsonl", "checksums.sha256"):
        assert (tmp_path / name).read_bytes() == (shipped.SHIPPED / "hops/hops.jsonl").with_name(name).read_bytes()
    assert shipped.named_split("hops").digest == build().digest == split.digest


def test_numbers(split: Split) -> None:
    cases = [case for case in split.all_cases if isinstance(case, DocumentCase)]
    groups = Counter(probe.group for case in cases for probe in case.probes)
    assert len(cases) == 40
    assert groups == dict.fromkeys(("efficacy", "rephrase", "hop", "script_hop", "locality"), 40)
    assert {case.document.source.licence for case in cases} == {"CC0-1.0"}
    assert all(len(case.document.statements) == 1 for case in cases)
    source = validate(HopSource, read_toml(shipped.SHIPPED / "hops/source.toml"), where="source")
    assert len({edit.subject for edit in source.edit}) == 40 and len(source.table) == 8
    assert max(Counter(edit.hop for edit in source.edit).values()) == 8


def test_no_two_questions_and_no_two_steps_before_the_cut_are_the_same(split: Split) -> None:
    scripts = [p.query for case in split.all_cases for p in case.probes if p.group == "script_hop"]  # type: ignore[union-attr]
    questions = [script.split("\n")[0] for script in scripts]
    assert len(set(questions)) == 40
    steps = Counter(line.partition(". ")[2] for script in scripts for line in script.split("\n")[1:])
    assert max(steps.values()) == 1, steps.most_common(3)


def test_a_changed_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = shutil.copytree((shipped.SHIPPED / "hops/hops.jsonl").parent, tmp_path / "hops")
    text = (folder / "hops.jsonl").read_text(encoding="utf-8")
    (folder / "hops.jsonl").write_text(text.replace("yen", "won"), encoding="utf-8")
    monkeypatch.setattr(shipped, "SHIPPED", tmp_path)
    shipped.hops_split.cache_clear()
    with pytest.raises(DataError, match="the shipped split was changed: its SHA-256 is"):
        shipped.hops_split()
    shipped.hops_split.cache_clear()


def test_the_checks_of_probes_say_what_the_page_tells(split: Split) -> None:
    """Two scripts whose "text" is a translation, and nothing else."""
    cases = [case for case in split.all_cases if isinstance(case, DocumentCase)]
    dropped: dict[str, list[str]] = {}
    for check in (AnswerInQuery(), AnswerShort(), OneBlank(), ProbeStandsAlone(), TagKnown()):
        for case in cases:
            for probe in case.probes:
                if check.judge_one(ProbeInputs(document=case.document, probe=probe)).label == "drop":
                    dropped.setdefault(check.name, []).append(probe.query)
    assert dropped.keys() == {"probe_stands_alone"}
    assert len(dropped["probe_stands_alone"]) == 2
    assert all("translat" in query for query in dropped["probe_stands_alone"])
