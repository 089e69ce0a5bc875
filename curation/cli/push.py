"""The command ``split push``: a release goes to a hub."""

from __future__ import annotations

import json
from pathlib import Path

import click

from curation.cli.options import json_option, shared_option
from schemas.text.counting import counted


@click.command(epilog="Example: scedit split push release me/my-split --dry-run")
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("repository")
@click.option("--public", is_flag=True, help="Make a new repository public; private otherwise.")
@click.option("--message", default="Release", show_default=True, help="Message of the commit.")
@shared_option("--dry-run", is_flag=True, also="List the files and their sizes; send nothing.")
@json_option
def push(folder: Path, repository: str, public: bool, message: str, dry_run: bool, as_json: bool) -> None:
    """Send the release in FOLDER, as split publish wrote it, to the dataset REPOSITORY (OWNER/NAME) of a hub.

    Its checksums are verified first; card and licence go with it, other files are refused. The access is that of hf
    auth login, or HF_TOKEN. Uses huggingface_hub, so HF_ENDPOINT names another hub.
    """
    from curation.export.hub import check_repository, files_to_push, push_release

    check_repository(repository)
    files = files_to_push(folder)
    url = None if dry_run else push_release(folder, repository, public=public, message=message)
    if as_json:
        data = {"repository": repository, "public": public, "sent": not dry_run, "commit": url}
        click.echo(json.dumps({**data, "files": {f.name: f.size for f in files}}, ensure_ascii=False))
        return
    for file in files:
        click.echo(f"{file.size:>12,}  {file.name}")
    size = f"{counted(len(files), 'file')}, {sum(f.size for f in files):,} bytes"
    click.echo(f"{size}: nothing was sent to {repository}" if url is None else f"{size}: {url}")
