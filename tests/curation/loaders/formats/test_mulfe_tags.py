from __future__ import annotations

import json
from pathlib import Path

import pytest

from curation.loaders.formats.mulfe import ReadTags, read_tags
from schemas.documents.tags import TAGS


@pytest.mark.parametrize(
    ("spelling", "tags"),
    [
        ("Element Extraction", ("element",)),
        ("Element Extration", ("element",)),
        ("Multi-hop", ("multi_hop",)),
        ("Multi-Hop", ("multi_hop",)),
        ("Part-TIme Extraction", ("time", "partial")),
        ("Nation Inference", ("country", "inference")),
        ("Time-Event Inverse", ("time", "reverse")),
        ("Simple Question", ("recall",)),
        ("Cause and Effect", ("cause", "result")),
    ],
)
def test_a_spelling_says_tags_of_the_list(spelling: str, tags: tuple[str, ...]) -> None:
    assert read_tags([spelling]) == ReadTags(tags)


def test_tags_come_once_in_the_lists_order_and_unknown_spellings_beside() -> None:
    assert read_tags(["Multi-Hop", "Time", "Weather", "Date", ""]) == ReadTags(("time", "multi_hop"), ("Weather", ""))


def test_every_published_spelling_is_known_and_every_tag_is_used(shared: Path) -> None:
    spellings: set[str] = set()
    for name, probes, tags in (("test", "probes", "tags"), ("dev", "generated_probes", "tag")):
        rows = json.loads((shared / f"data/mulfe/mulfe_{name}.json").read_text())
        by_name = {tag for row in rows for probe in row[probes] for tag in probe[tags]}
        assert name == "dev" or len(by_name) == 154
        spellings |= by_name
    assert len(spellings) == 334 and not read_tags(spellings).unknown
    assert set(read_tags(spellings).tags) == set(TAGS)
