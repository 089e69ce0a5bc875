"""A release: a split in every format, with card, Croissant metadata and checksums, in a folder: whole, or absent."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from curation.export.formats import EXPORTERS, Exporter, chosen_exporter
from curation.export.metadata import DataFile, PublisherDetails, ReleasePart, card, croissant
from curation.export.summary import survey
from curation.files.artifact_cache import sha256
from curation.files.atomic import atomic_file, atomic_folder
from curation.files.json_files import read_text
from curation.shipped import how_to_repeat
from curation.splits.split_file import Split
from curation.store.store import Store
from schemas.cases import FACT
from schemas.core.errors import UserError

DEFAULT = ("split", "facts", "parquet", "scedit-cf", "scedit-t", "counterfact", "easyedit")
DEFAULT_OF_EVENTS = ("split", "parquet", "elken")
"""Formats of a release, of facts and of events; those that can hold no case of the split are passed over. The folder is
a ``datasets`` one."""
_CHECKSUMS, _CROISSANT, _CARD = "checksums.sha256", "croissant.json", "README.md"


class PublishResult(NamedTuple):
    """What was written: the folder, its data files, cases by format, formats that hold none of the cases."""

    folder: Path
    files: tuple[DataFile, ...]
    cases: dict[str, int]
    skipped: tuple[str, ...]


def publish(
    split: Split,
    folder: Path,
    *,
    store: Store | None = None,
    formats: Sequence[str] | None = None,
    publisher: PublisherDetails | None = None,
    replace: bool = False,
    knowedit_lists: bool = False,
) -> PublishResult:
    """Write a release.

    Args:
        split: What is released.
        folder: New or empty; or an earlier release, with ``replace``.
        store: Where verdicts, ratings and lineage for the card are read from.
        formats: Names in ``EXPORTERS``; where None all of ``DEFAULT`` (of events ``DEFAULT_OF_EVENTS``) that can hold a
            case of the split.
        publisher: Creator, address, date and citation for the metadata.
        replace: Put the release in the place of an earlier one.
        knowedit_lists: The file for EasyEdit also gets the lists that its own KnowEdit reader looks for.

    Raises:
        UserError: unknown format, a format that can hold none of the cases, a taken or unwritable folder.
    """
    chosen, skipped = _formats(split, formats)
    if knowedit_lists:
        if "easyedit" not in chosen:
            raise UserError("only the format easyedit has lists of KnowEdit", fix="add easyedit to --formats")
        chosen["easyedit"] = chosen_exporter("easyedit", knowedit_lists=True)
    if replace and folder.is_dir() and any(folder.iterdir()):
        release_files(folder)
    summary, cases = survey(split, store), {}
    with atomic_folder(folder, replace=replace) as partial:
        parts = []
        for name, exporter in chosen.items():
            place = exporter.file.format(name=split.name.replace("/", "-"))
            cases[name] = exporter.write(split, partial / place)
            parts.append(ReleasePart(place, exporter.about, exporter.losses, cases[name]))
        files = _list_data_files(partial)
        text = card(split, summary, parts, tables="parquet" in chosen, repeat=how_to_repeat(split))
        with atomic_file(partial / _CARD) as file:
            file.write(text)
        with atomic_file(partial / _CROISSANT) as file:
            file.write(json.dumps(croissant(split, summary, files, publisher), ensure_ascii=False, indent=1) + "\n")
        with atomic_file(partial / _CHECKSUMS) as file:
            file.writelines(f"{f.sha256}  {f.path}\n" for f in _list_data_files(partial) if f.path != _CHECKSUMS)
    return PublishResult(folder, files, cases, skipped)


def release_files(folder: Path, *, fix: str = "") -> dict[str, str | None]:
    """The files of a release with their checksums; None for the list of checksums itself.

    Refuses a folder that is no release, or that holds anything else (a repository's ``.git``, notes).

    Args:
        folder: As ``publish`` wrote it.
        fix: What to do where it is not that; the advice of who would replace it where left out.

    Raises:
        UserError: it is not a release and nothing but that.
    """
    if not (folder / _CHECKSUMS).is_file():
        raise UserError(
            f"this folder is no release (it has no {_CHECKSUMS}) and was left as it is",
            where=str(folder),
            fix=fix or "name a new folder",
        )
    sums = [line.partition("  ") for line in read_text(folder / _CHECKSUMS).splitlines()]
    own_files: dict[str, str | None] = {_CHECKSUMS: None, **{name: digest for digest, _, name in sums}}
    below = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if not p.is_dir() or p.is_symlink()}
    if others := sorted(below - own_files.keys()):
        more = f" and {len(others) - 3} more" if len(others) > 3 else ""
        raise UserError(
            f"the folder also holds what is no part of the release: {', '.join(others[:3])}{more}",
            where=str(folder),
            fix=fix or "nothing was replaced; move that away or name a new folder",
        )
    return own_files


def write_dataset(split: Split, path: Path, store: Store | None = None) -> int:
    """A folder for Hugging Face ``datasets``: card, Parquet tables, metadata; returns the number of cases."""
    return publish(split, path, store=store, formats=("parquet",)).cases["parquet"]


DATASETS = Exporter(
    write_dataset,
    "{name}",
    "a folder for Hugging Face datasets: a card and the Parquet tables",
    edits=("fact", "event"),
    write_with_store=write_dataset,
)


def _formats(split: Split, formats: Sequence[str] | None) -> tuple[dict[str, Exporter], tuple[str, ...]]:
    exporters: dict[str, Exporter] = {}
    skipped = []
    for name in dict.fromkeys(formats or (DEFAULT if split.type == FACT else DEFAULT_OF_EVENTS)):
        exporter: Exporter = EXPORTERS.get(name)
        if name == "datasets":  # the whole folder is one, as soon as it has the tables
            name, exporter = "parquet", EXPORTERS.get("parquet")
        if exporter.holds(split):
            exporters[name] = exporter
        elif formats:
            raise UserError(f"the split '{split.name}' has no case that {name} can hold", fix="leave that format out")
        else:
            skipped.append(name)
    return exporters, tuple(skipped)


def _list_data_files(folder: Path) -> tuple[DataFile, ...]:
    files = sorted(p for p in folder.rglob("*") if p.is_file() and not p.name.endswith(".partial"))
    return tuple(DataFile(p.relative_to(folder).as_posix(), p.stat().st_size, sha256(p)) for p in files)
