"""The command ``results view``: one page to look through everything that runs' models wrote."""

from __future__ import annotations

import json
from pathlib import Path

import click

from curation.cli.options import json_options, store_option, writes

_PATH = click.Path(path_type=Path)


@click.command(epilog="Example: scedit results view runs/mine --out answers.html")
@click.argument("folders", nargs=-1, required=True, type=_PATH)
@click.option("--out", type=_PATH, required=True, help="HTML file of the page.")
@store_option("store", required=False, also="Its ratings are shown beside the answers.")
@writes("out")
@json_options
def view(folders: tuple[Path, ...], out: Path, store: Path | None, as_json: bool) -> None:
    """Write a page with every text of the runs in FOLDERS, which must be on one split of facts.

    Filter by case, method, what was asked, the object named first, how far judge and person are apart, and words in the
    text; the text before the edit stands beside those after it. One file that loads nothing; it needs JavaScript.
    """
    from curation.files.atomic import write_text
    from evaluation.analysis.text_ratings import join_texts, read_texts, stores_of
    from evaluation.report.viewer.page import check_runs, viewer_page
    from evaluation.runs.results import load_run

    runs = [load_run(folder) for folder in folders]
    check_runs(runs)
    stores = stores_of(folders, store)
    texts = join_texts([read_texts(path) for path in stores]) if stores else None
    page = viewer_page(runs, texts)
    write_text(out, page, "the page", fsync=False, fix="name another --out")
    size = len(page.encode())
    click.echo(json.dumps({"out": str(out), "bytes": size}) if as_json else f"{out}: {size / 1e6:.1f} MB")
