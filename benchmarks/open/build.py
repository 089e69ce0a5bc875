"""The split ``open``, made again of its sources, without asking anybody: construct, blind reading, freeze, parts.

``python -m benchmarks.open.build FOLDER`` runs the commands of ``open/sources/README.md`` in a folder and writes
``open.jsonl``, ``dev.jsonl`` and ``test.jsonl``; the same sources make the same bytes. With ``--ship`` the split is
packed into ``curation/shipped/open``, where ``split = "open"`` finds it.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
from collections.abc import Sequence
from pathlib import Path

from curation.shipped import FOLDER, PARTS, part_of_split
from curation.splits.partition import By, separate
from curation.splits.split_file import Split, load_split, make_split, write_split
from scedit.commands import cli

SOURCES = Path(__file__).parent / "sources"
VERSION = "1.1.0"
DEV = {"P118", "P127", "P131", "P206", "P286", "P449", "P1037", "P1308", "P1716", "P6-governor", "P6-mayor"}
"""Relations of ``dev``, drawn by a seed for 1.0.0: a fifth of the cases. They stay when cases are added."""
BY: tuple[By, ...] = ("subject", "relation")
WRITTEN_BY = (
    "large language models: facts from general knowledge by four, questions and scripts by seven as authors of scedit "
    "construct; no text of a published benchmark was copied"
)
JUDGED_BY = (
    "large language models: eight verified questions and prompts (one of them had written facts), six others, who "
    "wrote none of it, read prompts blind; no person has judged it or looked a fact up"
)


def command(*words: str | Path) -> None:
    """Run a command of ``scedit``."""
    cli([str(word) for word in words], standalone_mode=False)


def unpacked(name: str, folder: Path) -> Path:
    """A packed source as a file in a folder."""
    path = folder / name
    path.write_bytes(gzip.decompress((SOURCES / f"{name}.gz").read_bytes()))
    return path


def made_again(folder: Path) -> Split:
    """The whole split: facts and replies through ``construct``, ``freeze``, and its parts.

    The readings that ``construct`` replaces what they dropped come before it; what else was dropped, after it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names = ("facts", "replies", "reading", "decisions")
    facts, replies, reading, decisions = (unpacked(f"{name}.jsonl", folder) for name in names)
    store, frozen = folder / "open.duckdb", folder / "frozen.jsonl"
    who = ("--model", "author-b", "--verify", "reader-b")
    asked = (*who, "--questions", "4", "--candidates", "8", "--neighbours", "3")
    command("data", "import", reading, "--store", store)
    recorded = ("--prompts", SOURCES / "prompts", "--journal", replies, "--replay")
    command("construct", facts, "--store", store, *asked, *recorded)
    command("data", "import", decisions, "--store", store)
    rule = ("--set", 'ignore=["blind_hidden"]', "--set", "min_prompts=3", "--set", "min_neighbours=2")
    command("split", "freeze", "open", "--store", store, "--version", VERSION, *rule, "--out", frozen)
    return divided(load_split(frozen))


def divided(split: Split) -> Split:
    """The split with its parts and its makers in the header."""
    groups = separate(split.cases, by=BY, parts={"all": 1.0}, neighbours=True).group
    of_dev = {groups[case.key] for case in split.cases if case.fact.relation.id in DEV}
    keys = {"dev": [k for k in groups if groups[k] in of_dev], "test": [k for k in groups if groups[k] not in of_dev]}
    details = {
        **{name: split.header[name] for name in ("rule", "counts")},
        "written_by": WRITTEN_BY,
        "judged_by": JUDGED_BY,
        "parts": {"divided_by": list(BY), "neighbours": True, **keys},
    }
    return make_split("open", split.cases, version=VERSION, details=details)._replace(extras=split.extras)


def pack(split: Path, folder: Path) -> None:
    """Put a split file into a folder, compressed, with the list of its checksum."""
    data = split.read_bytes()
    (folder / f"{split.name}.gz").write_bytes(gzip.compress(data, mtime=0))
    (folder / "checksums.sha256").write_text(f"{hashlib.sha256(data).hexdigest()}  {split.name}\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the split and its parts in a folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ship", action="store_true", help="pack the split into the package")
    options = parser.parse_args(arguments)
    if options.folder.exists() and not (options.folder.is_dir() and not any(options.folder.iterdir())):
        parser.error(f"{options.folder}: there is something here already; name a new or empty folder")
    whole = made_again(options.folder)
    for name, split in {"open": whole, **{name: part_of_split(whole, name) for name in PARTS}}.items():
        path = options.folder / f"{name}.jsonl"
        write_split(split, path)
        relations = {case.fact.relation.id for case in split.cases}
        print(f"{path}: {len(split.cases)} cases, {len(relations)} relations, {split.digest[:12]}")
    if options.ship:
        pack(options.folder / "open.jsonl", FOLDER)


if __name__ == "__main__":
    main()
