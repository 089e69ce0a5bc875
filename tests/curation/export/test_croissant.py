from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from curation.export.croissant import DataFile, PublisherDetails, croissant
from curation.export.parquet import TABLES
from curation.export.publish import publish
from curation.export.summary import survey
from curation.files.checksums import sha256
from curation.shipped import mini_split, shipped_split


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("croissant") / "mini"
    details = PublisherDetails(creator="Tests", url="https://example.org/mini", date="2026-01-02", cite="Tests, 2026")
    publish(mini_split(), folder, publisher=details)
    return folder


@pytest.fixture(scope="module")
def said(release: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((release / "croissant.json").read_text(encoding="utf-8"))
    return data


def test_every_data_file_is_listed_with_its_sum(release: Path, said: dict[str, Any]) -> None:
    file_names = {"README.md", "croissant.json", "checksums.sha256"}
    files = {p.relative_to(release).as_posix() for p in release.rglob("*") if p.is_file()} - file_names
    assert {f["contentUrl"] for f in said["distribution"]} == files
    for file in said["distribution"]:
        assert file["sha256"] == sha256(release / file["contentUrl"])
        assert file["contentSize"] == f"{(release / file['contentUrl']).stat().st_size} B"


def test_every_column_is_a_field(said: dict[str, Any]) -> None:
    sets = {r["name"]: r for r in said["recordSet"]}
    assert sets.keys() == TABLES.keys()
    for name, columns in TABLES.items():
        assert [f["name"] for f in sets[name]["field"]] == [c.name for c in columns]
        for field, column in zip(sets[name]["field"], columns, strict=True):
            assert field.get("repeated", False) == column.type.endswith("[]")
            assert field["source"]["fileObject"]["@id"] == f"data/{name}.parquet"


def test_what_is_not_known_is_not_said() -> None:
    split = mini_split()
    stages = croissant(split, survey(split), [DataFile("mini.jsonl", 3, "0" * 64)])
    assert not {"creator", "url", "datePublished", "citeAs"} & stages.keys()
    assert stages["recordSet"] == [] and stages["license"] == "https://creativecommons.org/publicdomain/zero/1.0/"


def test_mlcroissant_reads_every_record(release: Path) -> None:
    mlcroissant = pytest.importorskip("mlcroissant", reason="the package mlcroissant is not installed")
    dataset = mlcroissant.Dataset(jsonld=str(release / "croissant.json"))
    assert not dataset.metadata.issues.errors and not dataset.metadata.issues.warnings
    cases = list(dataset.records("cases"))
    assert [c["cases/subject"].decode() for c in cases] == [c.fact.subject.text for c in mini_split().cases]
    prompts = sum(len(c.prompts) + sum(len(n.prompts) for n in c.neighbours) for c in mini_split().cases)
    assert len(list(dataset.records("prompts"))) == prompts


def test_the_description_says_who_wrote_and_judged_it() -> None:
    split = shipped_split("open:dev")
    description = croissant(split, survey(split), [])["description"]
    assert "Written by the toolkit's authors" in description and description.endswith("until people have judged it.")
    assert "ritten by" not in croissant(mini_split(), survey(mini_split()), [])["description"]
