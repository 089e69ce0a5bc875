"""The commands ``results push`` and ``model push``: tables of runs, saved edits and packs go to a hub."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from curation.cli.hub import hub_options, show_files

if TYPE_CHECKING:
    from curation.export.hub import HubUpload


@click.command("push", epilog="Example: scedit results push runs/mine runs/other me/my-results --dry-run")
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.argument("repository")
@hub_options
def push_results(
    folders: tuple[Path, ...], repository: str, public: bool, message: str, dry_run: bool, as_json: bool
) -> None:
    """Send the results of the runs in FOLDERS to the dataset REPOSITORY (OWNER/NAME) of a hub.

    What is sent are the tables of results table (all answers, scores and figures) and a card with model, split, methods
    and every figure; journals, settings and paths of this machine stay here. The access is that of hf auth login, or
    HF_TOKEN.
    """
    from curation.export.hub import check_repository, push_files
    from evaluation.report.hub.results_card import results_files
    from evaluation.runs.results import load_run

    check_repository(repository)
    runs = [load_run(folder) for folder in folders]
    with tempfile.TemporaryDirectory() as folder:
        files = results_files(runs, Path(folder))
        url = None if dry_run else push_files(files, repository, kind="dataset", public=public, message=message)
        show_files(files, repository, url, public=public, as_json=as_json)


@click.command("push", epilog="Example: scedit model push edited me/my-adapter --dry-run")
@click.argument("path", type=click.Path(path_type=Path))
@click.argument("repository")
@hub_options
def push_model(path: Path, repository: str, public: bool, message: str, dry_run: bool, as_json: bool) -> None:
    """Send what is at PATH to the model REPOSITORY (OWNER/NAME) of a hub.

    PATH is the folder of a saved edit (scedit edit: a model, an adapter or its changes) or a pack of second moments
    (NAME.safetensors, as scedit model covariance pack wrote it; its manifest goes with it). Both are verified first.
    The access is that of hf auth login, or HF_TOKEN.
    """
    from curation.export.hub import check_repository, push_files

    check_repository(repository)
    files = _files(path)
    url = None if dry_run else push_files(files, repository, kind="model", public=public, message=message)
    show_files(files, repository, url, public=public, as_json=as_json)


def _files(path: Path) -> list[HubUpload]:
    from evaluation.covariance.hub_files import pack_files
    from evaluation.saved_edits.hub_files import saved_edit_files
    from schemas.core.errors import UserError

    if path.is_dir():
        return saved_edit_files(path)
    if path.suffix == ".safetensors" and path.is_file():
        return pack_files(path)
    raise UserError(
        "there is nothing here that can be sent" if path.exists() else "there is no such file or folder",
        where=str(path),
        allowed="the folder of a saved edit, or a pack (NAME.safetensors)",
    )
