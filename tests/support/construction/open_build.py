"""The coming split ``open``, made of its sources: import, freeze, and two parts that share no relation and no subject.

``python -m tests.support.construction.open_build FOLDER`` writes ``open.jsonl``, ``dev.jsonl`` and ``test.jsonl``; the
same sources make the same bytes. Nothing is shipped until the sources are complete (decision 015).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from construction.pipeline.adopt import adopt, keep
from curation.rules.release import freeze
from curation.rules.rule import SplitRule
from curation.splits.partition import By, separate
from curation.splits.split_extras import Extras
from curation.splits.split_file import Split, make_split, part_of, write_split
from curation.store.store import Store
from tests.support.construction.open_review import SOURCE, sources

VERSION = "0.9.0"
DEV = 80  # cases, as near as whole relations allow
SEED = "open"
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
        with Store.open(store, write=True) as kept:
            frozen = freeze(kept, "open", SplitRule(), version=VERSION)
            cases, times = tuple(frozen.cases), Extras(list(frozen.extras))
            details = {name: frozen.header[name] for name in ("rule", "counts")}
            whole = make_split("open", cases, version=VERSION, details=details)._replace(extras=times)
    share = dev / len(cases)
    parts = separate(cases, by=BY, parts={"dev": share, "test": 1 - share}, seed=SEED, neighbours=True)
    made = {}
    for name in ("dev", "test"):
        keys = set(parts.keys(name))
        said = {"part_of": f"open@{VERSION}", "divided_by": list(BY), "neighbours": True, "seed": SEED}
        part = part_of(whole, f"open-{name}", keys, details=said)
        made[name] = part._replace(extras=Extras(times.of([case.fact.key for case in part.cases])))
    return OpenParts(whole, made["dev"], made["test"])


def main(arguments: list[str]) -> int:
    """Build into a folder and print what came of it."""
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    for name, split in build(sources())._asdict().items():
        path = folder / ("open.jsonl" if name == "whole" else f"{name}.jsonl")
        write_split(split, path)
        relations = sorted({case.fact.relation.label for case in split.cases})
        sys.stdout.write(
            f"{path}: {len(split.cases)} cases, {len(relations)} relations, {path.stat().st_size / 1e6:.1f} MB, "
            f"{split.digest[:12]}\n{', '.join(relations)}\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
