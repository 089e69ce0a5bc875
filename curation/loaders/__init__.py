"""Facts from files, whatever shape they come in."""

from __future__ import annotations

from pathlib import Path

from curation.loaders.base import Loaded, Problem, json_rows, read_text
from schemas.errors import DataError
from schemas.registry import Registry

LOADERS = Registry(
    "loader",
    {
        "jsonl": "curation.loaders.own:load_jsonl",
        "csv": "curation.loaders.own:load_csv",
        "counterfact": "curation.loaders.counterfact:load_original",
        "counterfact-flat": "curation.loaders.counterfact:load_flat",
    },
)

__all__ = ["LOADERS", "Loaded", "Problem", "detect", "load"]


def detect(path: Path) -> str:
    """The format of a file, from its name and its first record.

    Raises:
        DataError: no known format.
    """
    if path.suffix.lower() in (".csv", ".tsv"):
        return "csv"
    rows, bad = json_rows(read_text(path), path)
    if not rows:
        raise DataError(bad[0].what, where=bad[0].where) if bad else DataError("holds no record", where=str(path))
    fields = rows[0].data.keys()
    if "requested_rewrite" in fields:
        return "counterfact"
    if {"ground_truth", "target_new", "prompt"} <= fields:
        return "counterfact-flat"
    if {"subject", "prompt", "old"} <= fields:
        return "jsonl"
    raise DataError(
        f"not a known shape of facts (its first record has {', '.join(sorted(fields)[:6])})",
        where=str(path),
        allowed=", ".join(LOADERS.names()),
        fix="name it with --format",
    )


def load(path: Path | str, format: str | None = None) -> Loaded:
    """Facts of a file; what cannot be read is returned beside them, by line.

    Args:
        path: JSONL, JSON or CSV file; or ``shipped`` for the facts that come with this package.
        format: A name in ``LOADERS``; found from the file when left out.
    """
    if str(path) == "shipped":
        from curation.shipped import facts_path

        return load(facts_path(), "jsonl")
    path = Path(path)
    loaded: Loaded = LOADERS.get(format or detect(path))(path)
    return loaded
