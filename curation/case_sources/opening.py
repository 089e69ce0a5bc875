"""A split by the name that a configuration or a command line gives it: shipped, in a store, or in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import model_validator

from curation.shipped import SHIPPED_NAMES, SPLITS, shipped_split
from curation.splits.split_file import Split, load_split
from schemas.core.config import Options
from schemas.core.errors import UserError


class SplitChoice(Options):
    """Where the cases come from: ``store`` and ``name``, a frozen ``file``, or the name of a shipped split.

    Shipped are ``mini``, ``open`` and its parts ``open:dev`` and ``open:test``. A name that is none of them and stands
    without a store is the path of a file.

    Example:
        >>> SplitChoice(name="mini").shipped
        True
    """

    name: str | None = None
    store: Path | None = None
    file: Path | None = None

    @model_validator(mode="before")
    @classmethod
    def _name_of_a_file(cls, data: Any) -> Any:
        if not isinstance(data, dict) or data.get("store") or data.get("file") or data.get("name") in (None, *SPLITS):
            return data
        if not Path(str(data["name"])).is_file():
            known = f"neither shipped ({', '.join(SPLITS)}) nor a file; for one in a store, name the store"
            raise ValueError(f"the split '{data['name']}' is {known}")
        return {"file": data["name"]}

    @model_validator(mode="after")
    def _check_one(self) -> SplitChoice:
        if self.file is not None and (self.name is not None or self.store is not None):
            raise ValueError("give either a file, or a name (with a store), not both")
        if self.file is None and self.name is None:
            raise ValueError('give name = "mini", a store and a name, or a file')
        return self

    @property
    def shipped(self) -> bool:
        """Whether it is a split that comes with the program."""
        return self.file is None and self.store is None


def open_split(choice: SplitChoice) -> Split:
    """Read a split once; a store is closed again before the run begins.

    Raises:
        UserError: no such file, store or split, or the store is in use.
    """
    if choice.file is not None:
        return load_split(choice.file)
    if choice.store is not None:
        from curation.store.store import Store

        with Store.open(choice.store) as store:
            return store.split(choice.name or "mini")
    return shipped_split(choice.name or "mini")


def open_named_split(
    name: str, store: Path | str | None = None, *, allowed: str = f"{SHIPPED_NAMES}, or a split file"
) -> Split:
    """Read the split that a command line names.

    Args:
        name: A shipped split (``mini``, ``open:test``) or a frozen split file; with a store, a split in it.
        store: Where the split is kept.
        allowed: What the error says, where a command takes more.

    Raises:
        UserError: no such file, store or split, or the store is in use.
    """
    if store is not None:
        return open_split(SplitChoice(store=Path(store), name=name))
    if name in SPLITS:
        return open_split(SplitChoice(name=name))
    if not Path(name).is_file():
        raise UserError(f"there is no split file '{name}'", allowed=allowed)
    return open_split(SplitChoice(file=Path(name)))
