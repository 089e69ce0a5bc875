"""The command ``annotate label-studio``: accounts on a server that runs, items out, annotations back."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from annotation_ui.cli.campaigns import DB
from annotation_ui.ratings.database import RatingsDB
from curation.cli.options import json_option, json_options, show, writes
from curation.files.atomic import write_text
from schemas.core.errors import UserError

if TYPE_CHECKING:
    from annotation_ui.label_studio.client import LabelStudioSite

URL, TOKEN = "LABEL_STUDIO_URL", "LABEL_STUDIO_API_KEY"


@click.command()
@click.argument("names", nargs=-1, required=True)
@DB
@json_options
def invite(names: tuple[str, ...], db_path: Path, as_json: bool) -> None:
    """Create accounts for NAMES, who are raters of the ratings file; passwords are shown here once.

    Example: scedit annotate label-studio invite ann bob --ratings r.sqlite
    """
    site = _site()
    with RatingsDB(db_path) as db:
        for name in names:
            account = site.invite(db, name)
            row = {"person": name, "email": account.email, "password": account.password}
            show(row, "{person:20} {email:36} {password}".format(**row), as_json=as_json)


@click.command()
@click.argument("name")
@DB
@json_option
def push(name: str, db_path: Path, as_json: bool) -> None:
    """Push the items of campaign NAME, once each: to one project, or to one per rater where answers must stay unseen.

    Example: scedit annotate label-studio push pilot --ratings r.sqlite
    """
    site = _site()
    with RatingsDB(db_path) as db:
        done = site.push(db, name)
    lines = [f"{done.new} tasks pushed, {done.known} already there; {len(done.projects)} projects at {site.url}:"]
    lines += [
        f"  {site.url}/projects/{number}/data?labeling=1   {'everybody' if owner == '*' else owner}"
        for owner, number in done.projects.items()
    ]
    show(done._asdict(), "\n".join(lines), as_json=as_json)


@click.command()
@click.argument("name")
@DB
@click.option("--export", type=click.Path(path_type=Path), help="Read this JSON export instead of asking a server.")
@click.option(
    "--account",
    "accounts",
    multiple=True,
    metavar="NUMBER=NAME",
    help="With --export: whose an account is.",
)
@click.option("--report", "report_path", type=click.Path(path_type=Path), help="Write what was rejected (JSON lines).")
@writes("report_path")
@json_option
def pull(
    name: str,
    db_path: Path,
    export: Path | None,
    accounts: tuple[str, ...],
    report_path: Path | None,
    as_json: bool,
) -> None:
    """Pull the annotations of campaign NAME into the ratings file, each validated; pulling again adds what is new.

    The exit status is 1 when something was rejected or is missing in Label Studio; the rest is taken. Skipped items,
    and annotations with a later one by the same rater, are no fault.

    Example: scedit annotate label-studio pull pilot --ratings r.sqlite --report refused.jsonl
    """
    with RatingsDB(db_path) as db:
        if export:
            from annotation_ui.label_studio.client import annotations_of_task, read_export
            from annotation_ui.label_studio.validation import validate_annotations

            whose = dict(_account(a) for a in accounts)
            found = [a for task in read_export(export) for a in annotations_of_task(task, whose, None)]
            done = validate_annotations(db, name, found)
        else:
            done = _site().pull(db, name)
    rows = [f._asdict() for f in done.rejected] + [{"missing": m} for m in done.missing]
    if report_path:
        body = "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows)
        write_text(report_path, body, "the list", fix="name another --report")
    data = {"answers": done.answers, "new": done.new, "refused": rows, "ignored": [f._asdict() for f in done.ignored]}
    lines = [
        f"{done.answers} valid answers, {done.new} of them new; {len(done.rejected)} annotations rejected, "
        f"{len(done.ignored)} ignored (skipped, or a later one counts).",
        *(f"  rejected: annotation {fault.annotation} of {fault.person}: {fault.why}" for fault in done.rejected[:20]),
        *(f"  missing in Label Studio: {text}" for text in done.missing[:20]),
    ]
    show(data, "\n".join(lines), as_json=as_json)
    if done.rejected or done.missing:
        raise SystemExit(1)


def _account(text: str) -> tuple[str, str]:
    number, equals, name = text.partition("=")
    if not equals or not name:
        raise click.UsageError(f"--account takes NUMBER=NAME, got '{text}'")
    return number, name


def _site() -> LabelStudioSite:
    """The server that the environment names.

    Raises:
        UserError: it names none, or no token.
    """
    from annotation_ui.label_studio.client import LabelStudioSite

    url, token = os.environ.get(URL), os.environ.get(TOKEN)
    if not url or not token:
        missing = TOKEN if url else URL
        raise UserError(
            f"{missing} is not set",
            fix=f"start a server (label-studio start), and set {URL} to its address and {TOKEN} to the access token of "
            "your account there",
        )
    return LabelStudioSite(url, token)
