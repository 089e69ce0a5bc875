"""Generated scripts from a file into a store, so that they can be rated."""

from __future__ import annotations

from pathlib import Path

from curation.files.json_files import json_lines
from curation.store.store import Store
from schemas.core.clock import now
from schemas.core.config import validate
from schemas.core.errors import DataError
from schemas.facts import Fact
from schemas.generated_scripts import GeneratedScript
from schemas.lineage import Lineage
from schemas.scripts import ScriptQuestion


def read_scripts(path: Path) -> list[GeneratedScript]:
    """Records of generated scripts, one a line.

    Raises:
        UserError: there is no such file. DataError: a line is no such record; says which and why.
    """
    return [validate(GeneratedScript, data, where=where) for _, where, data in json_lines(path)]


def import_scripts(path: Path, store_path: Path) -> tuple[int, int]:
    """Put the scripts of a file into a store; returns scripts read and scripts new there.

    Raises:
        UserError, DataError: as ``read_scripts``; or a script names a fact or question that the store has not, or a
            key of something else.
    """
    scripts = read_scripts(path)
    with Store.open(store_path, write=True) as store:
        for script in scripts:
            _check(store, script, path)
        made_at, detail = now(), {"from": path.name}
        lines = [Lineage(item_id=s.id, stage="import", made_at=made_at, detail=detail) for s in scripts]
        put = store.put(scripts, lines)
    return put.seen, put.new


def _check(store: Store, script: GeneratedScript, path: Path) -> None:
    """A script that belongs to no fact or question would stop every campaign that is made of the store."""
    for field, key, kind in (("fact", script.fact, Fact), ("question", script.question, ScriptQuestion)):
        if not isinstance(store.get(key), kind):
            raise DataError(f"'{key}' is no {field}", where=f"{path}, script '{script.key}'")
