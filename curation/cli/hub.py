"""Commands that send files to a hub: their options and output, which other packages share, and split push."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from curation.cli.options import F, json_option, shared_option, show
from schemas.text.counting import counted

if TYPE_CHECKING:
    from curation.export.hub import HubUpload


def hub_options(command: F) -> F:
    """The options of every command that sends files to a hub."""
    command = json_option(command)
    command = shared_option("--dry-run", is_flag=True, also="List the files and their sizes; send nothing.")(command)
    command = click.option("--message", default="Release", show_default=True, help="Message of the commit.")(command)
    return click.option("--public", is_flag=True, help="Make a new repository public; private otherwise.")(command)


def show_files(files: Sequence[HubUpload], repository: str, url: str | None, *, public: bool, as_json: bool) -> None:
    """Say what was sent, or would be.

    Args:
        files: All of them.
        repository: Where to.
        url: Address of the commit; None where nothing was sent.
        public: Whether a repository that is made is public.
        as_json: One JSON object, not lines.
    """
    data = {"repository": repository, "public": public, "sent": url is not None, "commit": url}
    size = f"{counted(len(files), 'file')}, {sum(f.size for f in files):,} bytes"
    end = f"{size}: nothing was sent to {repository}" if url is None else f"{size}: {url}"
    text = "\n".join([*(f"{file.size:>12,}  {file.name}" for file in files), end])
    show(data | {"files": {f.name: f.size for f in files}}, text, as_json=as_json)


@click.command(epilog="Example: scedit split push release me/my-split --dry-run")
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("repository")
@hub_options
def push(folder: Path, repository: str, public: bool, message: str, dry_run: bool, as_json: bool) -> None:
    """Send the release in FOLDER, as split publish wrote it, to the dataset REPOSITORY (OWNER/NAME) of a hub.

    Its checksums are verified first; card and licence go with it, other files are refused. The access is that of hf
    auth login, or HF_TOKEN. Uses huggingface_hub, so HF_ENDPOINT names another hub.
    """
    from curation.export.hub import check_repository, files_to_push, push_files

    check_repository(repository)
    files = files_to_push(folder)
    sent = None if dry_run else push_files(files, repository, kind="dataset", public=public, message=message)
    show_files(files, repository, sent, public=public, as_json=as_json)
