"""Make the shipped split ``hops`` of its source: ``python -m tests.support.documents.shipped_hops``."""

from __future__ import annotations

import hashlib
from pathlib import Path

from construction.documents.hops import read_hops
from curation.shipped import SHIPPED
from curation.splits.split_file import Split, make_split, write_split
from schemas.facts import Source

SOURCE = Source(name="ScEdit Toolkit hops", licence="CC0-1.0")
VERSION = "2.0.0"
"""A question of one case changed ("honey bees" named their honey)."""


def build(path: Path | None = None) -> Split:
    """The split."""
    return make_split(
        "hops",
        read_hops(path or (SHIPPED / "hops/hops.jsonl").with_name("source.toml"), "hops", SOURCE),
        version=VERSION,
    )


def main(path: Path | None = None) -> None:
    """Write it, and the list with its SHA-256."""
    path = path or SHIPPED / "hops/hops.jsonl"
    write_split(build(), path)
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    path.with_name("checksums.sha256").write_text(f"{sha256}  {path.name}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
