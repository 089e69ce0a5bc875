"""A specificity set by the file that a configuration names."""

from __future__ import annotations

from pathlib import Path

from curation.files.json_files import read_json
from curation.loaders import load
from schemas.core.config import validate
from schemas.core.errors import UserError
from schemas.documents.specificity import SpecificitySet


def open_specificity(path: Path | str) -> SpecificitySet:
    """A specificity set from a file: one record of ours as JSON, or MULFE's released shape.

    Raises:
        UserError: no such file, or not one set in it.
    """
    path = Path(path)
    if not path.is_file():
        raise UserError("there is no such specificity set", where=f"specificity.file: {path}")
    record = read_json(path) if path.suffix == ".json" else None
    if not isinstance(record, dict) or "questions" not in record:
        sets = load(path).sets
        if len(sets) != 1:
            raise UserError(f"the file holds {len(sets)} specificity sets, not one", where=f"specificity.file: {path}")
        return sets[0]
    return validate(SpecificitySet, {k: v for k, v in record.items() if k != "kind"}, where=str(path))
