"""The split ``open``, made of its sources: import, freeze, and two parts that share no relation and no subject.

``python -m tests.support.construction.open_build FOLDER`` writes ``open.jsonl``, ``dev.jsonl`` and ``test.jsonl``; the
same sources make the same bytes. With ``--ship`` it also packs the whole split into ``curation/shipped/open``, with its
checksum, where ``split = "open"`` finds it (decision 015).
"""

from __future__ import annotations

import gzip
import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from construction.pipeline.adopt import adopt, keep
from curation.rules.release import freeze
from curation.rules.rule import SplitRule
from curation.shipped.open_cases import FOLDER, PARTS, part_of_split
from curation.splits.partition import By, separate
from curation.splits.split_file import Extras, Split, make_split, write_split
from curation.store.store import Store
from tests.support.construction.open_review import SOURCE, sources

VERSION = "0.9.2"
DEV = 80  # cases, as near as whole relations allow
SEED = "open"
WRITTEN_BY = (
    "the toolkit's authors, case by case, with a large language model as the writing hand; facts are from general "
    "knowledge, and no text of a published benchmark was copied"
)
JUDGED_BY = "no independent annotator: it is version 0.9 until people have judged it"
BY: tuple[By, ...] = ("subject", "relation")


class OpenParts(NamedTuple):
    """The whole split, and its parts for tuning and for reporting."""

    whole: Split
    dev: Split
    test: Split


def build(paths: Sequence[Path], *, dev: int = DEV) -> OpenParts:
    """Import and freeze the files, in order, and divide the cases."""
    with TemporaryDirectory() as folder:
        store = Path(folder) / "open.duckdb"
        for path in paths:
            keep(adopt(path, source=SOURCE), store, origin=path.name)
        with Store.open(store, write=True) as db:
            frozen = freeze(db, "open", SplitRule(), version=VERSION)
            cases, times = tuple(frozen.cases), Extras(list(frozen.extras))
            details = {name: frozen.header[name] for name in ("rule", "counts")}
    share = dev / len(cases)
    parts = separate(cases, by=BY, parts={"dev": share, "test": 1 - share}, seed=SEED, neighbours=True)
    keys = {name: parts.keys(name) for name in PARTS}
    verdicts = {
        "written_by": WRITTEN_BY,
        "judged_by": JUDGED_BY,
        "parts": {"divided_by": list(BY), "neighbours": True, "seed": SEED, **keys},
    }
    variant = make_split("open", cases, version=VERSION, details=details | verdicts)._replace(extras=times)
    return OpenParts(variant, *(part_of_split(variant, name) for name in PARTS))


def pack(split: Path, folder: Path) -> None:
    """Put a split file into a folder, compressed, with the list of its checksum."""
    data = split.read_bytes()
    (folder / f"{split.name}.gz").write_bytes(gzip.compress(data, mtime=0))
    (folder / "checksums.sha256").write_text(f"{hashlib.sha256(data).hexdigest()}  {split.name}\n", encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Build into a folder and print what came of it."""
    ship = "--ship" in arguments
    folder = Path(next(a for a in arguments if a != "--ship"))
    folder.mkdir(parents=True, exist_ok=True)
    for name, split in build(sources())._asdict().items():
        path = folder / ("open.jsonl" if name == "whole" else f"{name}.jsonl")
        write_split(split, path)
        relations = sorted({case.fact.relation.label for case in split.cases})
        sys.stdout.write(
            f"{path}: {len(split.cases)} cases, {len(relations)} relations, {path.stat().st_size / 1e6:.1f} MB, "
            f"{split.digest[:12]}\n{', '.join(relations)}\n"
        )
    if ship:
        pack(folder / "open.jsonl", FOLDER)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
