"""Files on a hub, in one commit; of a release exactly those that its checksums name.

Splits, results, packs and saved edits go the same way (``push_files``); each says by itself which files it is.

The access token is that of ``huggingface_hub`` (``hf auth login``, or ``HF_TOKEN``): it is never read, passed or logged
here. A repository is private unless it is asked to be public.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from curation.export.publish import release_files
from curation.files.artifact_cache import sha256
from schemas.core.errors import UserError

CARD = "README.md"
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_WHOLE = "nothing was sent; name a folder that holds what scedit split publish wrote, and nothing else"
_TOKEN = re.compile(r"hf_\w+|(?<=Bearer )\S+")


Kind = Literal["dataset", "model"]
"""Kinds of repositories."""


class HubUpload(NamedTuple):
    """A file that is sent: its name in the repository, and where it is or what it holds."""

    name: str
    content: Path | bytes

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.content) if isinstance(self.content, bytes) else self.content.stat().st_size


def files_to_push(folder: Path) -> list[HubUpload]:
    """What of a release goes to a hub: all of it, card and checksums included.

    Args:
        folder: As ``scedit split publish`` wrote it.

    Raises:
        UserError: it is no release, holds anything else, lacks a file, or a file is not what was
            released.
    """
    files = []
    for name, digest in release_files(folder, fix=_WHOLE).items():
        path = folder / name
        if path.is_symlink() or not path.is_file():
            raise UserError(
                f"the release lacks its file '{name}'", where=str(folder), fix="write it again: scedit split publish"
            )
        if digest is not None and sha256(path) != digest:
            raise UserError(
                f"'{name}' is not the file that was released (its checksum is another)",
                where=str(folder),
                fix="write the release again: scedit split publish",
            )
        files.append(HubUpload(name, path))
    if CARD not in {file.name for file in files}:
        raise UserError(
            "the release has no card, which states its licence",
            where=str(folder),
            fix="write it again: scedit split publish",
        )
    return sorted(files, key=lambda file: file.name)


def check_repository(name: str) -> None:
    """Refuse what is no name of a repository.

    Raises:
        UserError: it is not OWNER/NAME.

    Example:
        >>> check_repository("me/mini-split")
    """
    if not _REPOSITORY.fullmatch(name) or ".." in name or "--" in name:
        raise UserError(f"'{name}' is no name of a repository", allowed="OWNER/NAME, such as me/mini-split")


def push_files(
    files: Sequence[HubUpload],
    repository: str,
    *,
    kind: Kind,
    public: bool = False,
    message: str = "Release",
    api: Callable[[], Any] | None = None,
) -> str:
    """Send files in one commit to a repository, made where it is not there; returns the address of the commit.

    Args:
        files: All of them, checked by whoever names them; one is a card.
        repository: OWNER/NAME.
        kind: Of the repository.
        public: Whether a repository that is made is public.
        message: Of the commit.
        api: Makes the client; that of ``huggingface_hub`` where None.

    Raises:
        UserError: as ``check_repository``, or the hub cannot be had or refuses.
    """
    check_repository(repository)
    try:
        from huggingface_hub import CommitOperationAdd, HfApi
    except ImportError:
        raise UserError(
            "this needs huggingface_hub, which is not installed", fix="pip install huggingface_hub"
        ) from None
    operations = [CommitOperationAdd(path_in_repo=f.name, path_or_fileobj=f.content) for f in files]
    try:
        client = (api or HfApi)()
        client.create_repo(repository, repo_type=kind, private=not public, exist_ok=True)
        commit = client.create_commit(repository, operations, commit_message=message, repo_type=kind)
    except Exception as error:  # noqa: BLE001 - the client raises errors of its own, of HTTP and of the operating system
        reason = _TOKEN.sub("[token]", " ".join(str(error).split()))[:300] or type(error).__name__
        raise UserError(
            f"the hub did not take it: {reason}", fix="check the name and that you are logged in: hf auth login"
        ) from None
    return str(commit.commit_url)
