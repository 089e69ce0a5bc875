"""The command ``split push``: a release goes to a hub."""

from __future__ import annotations

from pathlib import Path

import click

from curation.cli.hub.options import hub_options, show_files


@click.command(epilog="Example: scedit split push release me/my-split --dry-run")
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("repository")
@hub_options
def push(folder: Path, repository: str, public: bool, message: str, dry_run: bool, as_json: bool) -> None:
    """Send the release in FOLDER, as split publish wrote it, to the dataset REPOSITORY (OWNER/NAME) of a hub.

    Its checksums are verified first; card and licence go with it, other files are refused. The access is that of hf
    auth login, or HF_TOKEN. Uses huggingface_hub, so HF_ENDPOINT names another hub.
    """
    from curation.export.hub import check_repository, files_to_push, push_release

    check_repository(repository)
    files = files_to_push(folder)
    url = None if dry_run else push_release(folder, repository, public=public, message=message)
    show_files(files, repository, url, public=public, as_json=as_json)
