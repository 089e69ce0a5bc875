"""Names of splits are never paths, and a released header cannot be edited unseen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from curation.shipped import mini_split
from curation.splits.split_file import (
    SEAL,
    check_header,
    check_name,
    file_name,
    load_split,
    make_split,
    seal,
    write_split,
)
from schemas.core.errors import DataError, UserError

BAD = [
    "../x",
    "..",
    ".hidden",
    "/etc/x",
    "a/b",
    "a\\b",
    "",
    "a b",
    "a@1",
    "-x",
    "x" * 101,
    "a\n",
    "a..b",
    "-rf",
    "CON",
    "nul.1",
    "Com1",
]


@pytest.mark.parametrize("name", BAD)
def test_a_new_name_is_no_path(name: str) -> None:
    with pytest.raises(UserError, match="cannot be the name of a split"):
        check_name(name)


@pytest.mark.parametrize(
    ("header", "fits"),
    [
        ({"split": "group/small", "version": "1.0.0"}, True),
        ({"split": "../x", "version": "1.0.0"}, False),
        ({"split": "/x", "version": "1.0.0"}, False),
        ({"split": "a/../b", "version": "1.0.0"}, False),
        ({"split": "x", "version": "../../1"}, False),
        ({"split": "x", "version": ""}, False),
        ({"split": "x\\y", "version": "1"}, False),
        ({"split": 3, "version": "1"}, False),
        ({"split": "-rf", "version": "1"}, False),
        ({"split": "con", "version": "1"}, False),
        ({"split": "x@../y", "version": "1"}, False),
    ],
)
def test_a_header_that_would_lead_out_of_a_folder(header: dict[str, Any], fits: bool) -> None:
    if fits:
        check_header(header, "f")
        return
    with pytest.raises(DataError, match="cannot be a name"):
        check_header(header, "f")


def test_names_of_before_as_files() -> None:
    assert file_name("group/small") == "group-small" and file_name("..\\x") == "..-x"


def test_a_sealed_header_that_was_edited(tmp_path: Path) -> None:
    """Version, rule, quality: what was said at the release is said of these cases or not at all."""
    path = tmp_path / "s.jsonl"
    split = make_split("s", mini_split().cases[:2], details={"quality": {"acceptance": 0.5}})
    split.header[SEAL] = seal(split.header)
    write_split(split, path)
    assert load_split(path).header[SEAL] == split.header[SEAL]
    header, *cases = path.read_text().splitlines()
    for change in ({"version": "9.9.9"}, {"quality": {"acceptance": 1.0}}, {"split": "t"}, {"more": 1}):
        path.write_text("\n".join([json.dumps(json.loads(header) | change), *cases]) + "\n")
        with pytest.raises(DataError, match="edited after the release"):
            load_split(path)
