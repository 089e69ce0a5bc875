"""What of a saved edit goes to a hub: the files that were saved with it, verified, and nothing of this machine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from curation.export.hub import CARD, HubUpload
from curation.files.artifact_cache import sha256
from curation.files.json_files import read_json, read_text
from evaluation.saved_edits.save import ABOUT
from schemas.core.errors import UserError

_AGAIN = "save it again: scedit edit"
_TEXTS = (CARD, ABOUT, "adapter_config.json", "config.json")
_FOLDERS = "home|root|Users|tmp|work|mnt|media|data|opt|var|srv|scratch"
_PATH = re.compile(rf"""(?<![\w:/.])(?:/(?:{_FOLDERS})/|[A-Za-z]:\\)[^\s"'`|,)]*""")
_CODE = (".py", ".pkl", ".bin", ".pt", ".pth")
"""Files that a loader may run; what we save holds none of them."""


def saved_edit_files(folder: Path) -> list[HubUpload]:
    """All files of a saved edit: model, adapter or changes, with card and ``edit.json``.

    Args:
        folder: As ``scedit edit`` wrote it.

    Raises:
        UserError: it is no saved edit, lacks its card, holds a folder, a link, a hidden file or code, weights that were
            changed or not saved with it, or names a path of this machine, such as that of its base model.
    """
    if not (folder / ABOUT).is_file():
        raise UserError(f"this folder is no saved edit (it has no {ABOUT})", where=str(folder), fix=_AGAIN)
    about: dict[str, Any] = read_json(folder / ABOUT, ABOUT, fix=_AGAIN)
    digests: dict[str, str] = about.get("files") or {}
    _check_base(str(about.get("model", "")), folder)
    paths = sorted(folder.iterdir())
    if other := next((path for path in paths if _is_foreign(path, digests)), None):
        raise UserError(
            f"the folder also holds what was not saved with the edit: {other.name}",
            where=str(folder),
            fix="nothing was sent; move that away",
        )
    for name, digest in digests.items():
        if not (folder / name).is_file() or sha256(folder / name) != digest:
            raise UserError(f"'{name}' is not the file that was saved", where=str(folder), fix=_AGAIN)
    if CARD not in {path.name for path in paths}:
        raise UserError("the saved edit has no card", where=str(folder), fix=_AGAIN)
    _check_paths(folder)
    return [HubUpload(path.name, path) for path in paths]


def _check_paths(folder: Path) -> None:
    """Refuse texts that name a path of this machine: a corpus, a checkpoint."""
    for name in _TEXTS:
        if (folder / name).is_file() and (match := _PATH.search(read_text(folder / name))):
            raise UserError(
                f"'{name}' names a path of this machine: {match[0][:80]}",
                where=str(folder),
                fix="nothing was sent; take it out of the card and of edit.json, or save the edit without it",
            )


def _is_foreign(path: Path, digests: dict[str, str]) -> bool:
    """Whether something in the folder cannot be of the edit."""
    if path.is_symlink() or not path.is_file() or path.name.startswith("."):
        return True
    return path.suffix in _CODE or (path.suffix == ".safetensors" and path.name not in digests)


def _check_base(model: str, folder: Path) -> None:
    """Refuse an edit whose base nobody else could load, and whose files name a folder of this machine."""
    if Path(model).is_absolute() or model.startswith((".", "~")) or "\\" in model:
        raise UserError(
            "the base model is a folder of this machine, which the files name and nobody else has",
            where=str(folder),
            fix="load the model by its name on the hub and save the edit again",
        )
