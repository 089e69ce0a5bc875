"""The shipped split ``documents`` is what its page says."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

import curation.shipped as shipped
from construction.documents.checks import ProbeInputs, judge_probe
from schemas.cases import DocumentCase
from schemas.core.errors import DataError
from schemas.documents.document import DocumentProbe, contains_words, is_literal
from tests.support.curation.shipped_documents import build, kind_of, main, rows


@pytest.fixture(scope="module")
def cases() -> list[DocumentCase]:
    return [case for case in shipped.documents_split().all_cases if isinstance(case, DocumentCase)]


def probes(cases: list[DocumentCase], level: int) -> list[tuple[DocumentCase, DocumentProbe]]:
    return [(case, probe) for case in cases for probe in case.probes if probe.level == level]


def test_the_split_is_made_of_its_source(tmp_path: Path) -> None:
    main(tmp_path / "documents.jsonl")
    for name in ("documents.jsonl", "checksums.sha256"):
        assert (tmp_path / name).read_bytes() == (shipped.SHIPPED / "documents" / name).read_bytes()
    assert shipped.named_split("documents").digest == build().digest


def test_numbers(cases: list[DocumentCase]) -> None:
    assert len(cases) == 24 and Counter(map(kind_of, rows())) == {"invented": 12, "changed": 12}
    assert {case.document.source.licence for case in cases} == {"CC0-1.0"}
    for case in cases:
        levels = Counter(probe.level for probe in case.probes)
        assert 8 <= len(case.probes) <= 10 and levels[1] >= 2 and levels[2] >= 3 and levels[3] >= 3
    literal = {n: sum(contains_words(c.document.text, p.answer) for c, p in probes(cases, n)) for n in (1, 2, 3)}
    assert literal == {1: 48, 2: 71, 3: 29} and [len(probes(cases, n)) for n in (1, 2, 3)] == [48, 72, 72]
    assert all(is_literal(probe, case.document) for case, probe in probes(cases, 1))
    assert all(probe.tags for _, probe in probes(cases, 3))


def test_every_check_keeps_every_probe_but_what_must_be_inferred(cases: list[DocumentCase]) -> None:
    for case in cases:
        for place, probe in enumerate(case.probes):
            inputs = ProbeInputs(document=case.document, probe=probe, earlier=case.probes[:place])
            doubts = [v.check for v in judge_probe(inputs) if v.label != "keep"]
            assert doubts in ([], ["answer_supported"]) and (not doubts or probe.level == 3), (probe.query, doubts)


def test_a_changed_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = shutil.copytree((shipped.SHIPPED / "documents/documents.jsonl").parent, tmp_path / "documents")
    text = (folder / "documents.jsonl").read_text(encoding="utf-8")
    (folder / "documents.jsonl").write_text(text.replace("1887", "1888"), encoding="utf-8")
    monkeypatch.setattr(shipped, "SHIPPED", tmp_path)
    with pytest.raises(DataError, match="the shipped split was changed: its SHA-256 is"):
        shipped.documents_split.__wrapped__()
