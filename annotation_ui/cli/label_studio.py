"""The command ``annotate label-studio``: a server, accounts, items out, annotations back."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from curation.cli.options import json_option, json_options, writes

if TYPE_CHECKING:
    from annotation_ui.label_studio.client import LabelStudioSite
    from annotation_ui.label_studio.validation import PullResult

URL, TOKEN = "LABEL_STUDIO_URL", "LABEL_STUDIO_API_KEY"
_DB = click.option(
    "--ratings", "-r", "db_path", type=click.Path(path_type=Path), required=True, help="The ratings file (SQLite)."
)
_FOLDER = click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=Path("label-studio"),
    show_default=True,
    help="Where our own server keeps its data.",
)


@click.command()
@_FOLDER
@click.option("--port", type=click.IntRange(1, 65535), help="Port on 127.0.0.1; any free one by default.")
@json_option
def up(folder: Path, port: int | None, as_json: bool) -> None:
    """Start a Label Studio server on this machine only (127.0.0.1); the first start takes about two minutes.

    Example: scedit annotate label-studio up --folder label-studio
    """
    if not as_json:
        click.echo("Starting Label Studio ...", err=True)
    from annotation_ui.label_studio.server import start_server

    now = start_server(folder, port=port)
    if as_json:
        click.echo(json.dumps({"url": now.url, "access": str(folder / "access.json")}))
        return
    click.echo(f"Label Studio runs at {now.url}; its owner's password is in {folder / 'access.json'}.")


@click.command()
@_FOLDER
def down(folder: Path) -> None:
    """Stop the server that 'up' started; its data stays.

    Example: scedit annotate label-studio down
    """
    from annotation_ui.label_studio.server import stop_server

    stopped = 0
    if (folder / "people").is_dir():
        from annotation_ui.label_studio.isolation import stop_isolated

        stopped = stop_isolated(folder)
    if stopped:
        click.echo(f"{stopped} servers of raters stopped; their data stays.")
    click.echo("Stopped; its data stays." if stop_server(folder) else f"No server of {folder} runs.")


@click.command()
@click.argument("name")
@_DB
@_FOLDER
@json_options
def isolate(name: str, db_path: Path, folder: Path, as_json: bool) -> None:
    """Give each rater of campaign NAME a server, an account and a project of their own: nobody can see another's work.

    Each server listens on this machine only and takes about two minutes and 400 MB. Passwords are shown here once.

    Example: scedit annotate label-studio isolate pilot --ratings r.sqlite
    """
    from annotation_ui.label_studio.isolation import push_isolated
    from annotation_ui.ratings.database import RatingsDB

    with RatingsDB(db_path) as db:
        for server in push_isolated(db, name, folder):
            secret = server.password or "(as before)"
            tasks = f"{server.new} tasks pushed, {server.known} there"
            line = f"{server.person:20} {server.url}   {server.email} {secret}   {tasks}"
            click.echo(json.dumps(server._asdict()) if as_json else line)


@click.command()
@click.argument("names", nargs=-1, required=True)
@_DB
@_FOLDER
@json_options
def invite(names: tuple[str, ...], db_path: Path, folder: Path, as_json: bool) -> None:
    """Create accounts for NAMES, who are raters of the ratings file; passwords are shown here once.

    Example: scedit annotate label-studio invite ann bob --ratings r.sqlite
    """
    from annotation_ui.ratings.database import RatingsDB

    site = _site(folder)
    with RatingsDB(db_path) as db:
        for name in names:
            account = site.invite(db, name)
            row = {"person": name, "email": account.email, "password": account.password}
            click.echo(json.dumps(row) if as_json else "{person:20} {email:36} {password}".format(**row))


@click.command()
@click.argument("name")
@_DB
@_FOLDER
@click.option(
    "--suggest", type=click.Path(path_type=Path), help="Show the verdicts of this store's checks as predictions."
)
@json_option
def push(name: str, db_path: Path, folder: Path, suggest: Path | None, as_json: bool) -> None:
    """Push the items of campaign NAME, once each: to one project, or to one per rater where answers must stay unseen.

    Example: scedit annotate label-studio push pilot --ratings r.sqlite
    """
    from annotation_ui.ratings.database import RatingsDB

    site = _site(folder)
    with RatingsDB(db_path) as db:
        verdicts = _verdicts(suggest, list(db.items(name))) if suggest else None
        done = site.push(db, name, suggestions=verdicts)
    if as_json:
        click.echo(json.dumps(done._asdict()))
        return
    click.echo(f"{done.new} tasks pushed, {done.known} already there; {len(done.projects)} projects at {site.url}:")
    for owner, number in done.projects.items():
        click.echo(f"  {site.url}/projects/{number}/data?labeling=1   {'everybody' if owner == '*' else owner}")


@click.command()
@click.argument("name")
@_DB
@_FOLDER
@click.option("--export", type=click.Path(path_type=Path), help="Read this JSON export instead of asking a server.")
@click.option(
    "--account",
    "accounts",
    multiple=True,
    metavar="NUMBER=NAME",
    help="With --export: whose an account is.",
)
@click.option("--isolated", is_flag=True, help="Pull from the raters' own servers (see: isolate).")
@click.option("--report", "report_path", type=click.Path(path_type=Path), help="Write what was rejected (JSON lines).")
@writes("report_path")
@json_option
def pull(
    name: str,
    db_path: Path,
    folder: Path,
    export: Path | None,
    accounts: tuple[str, ...],
    isolated: bool,
    report_path: Path | None,
    as_json: bool,
) -> None:
    """Pull the annotations of campaign NAME into the ratings file, each validated; pulling again adds what is new.

    The exit status is 1 when something was rejected or is missing in Label Studio; the rest is taken.

    Example: scedit annotate label-studio pull pilot --ratings r.sqlite --report refused.jsonl
    """
    from annotation_ui.ratings.database import RatingsDB

    with RatingsDB(db_path) as db:
        if export:
            from annotation_ui.label_studio.client import annotations_of_task
            from annotation_ui.label_studio.export_file import read_export
            from annotation_ui.label_studio.push_digest import digests_of_campaign
            from annotation_ui.label_studio.validation import validate_annotations

            whose, digests = dict(_account(a) for a in accounts), digests_of_campaign(db, name)
            raw_annotations = [
                a for task in read_export(export) for a in annotations_of_task(task, whose, None, digests)
            ]
            words = digests.unchecked({a.item for a in raw_annotations if a.item is not None})
            done = validate_annotations(
                db, name, raw_annotations, unchecked=[f"{export.name}: {words}"] if words else []
            )
        elif isolated:
            from annotation_ui.label_studio.isolation import pull_isolated

            done = pull_isolated(db, name, folder)
        else:
            done = _site(folder).pull(db, name)
    _print_pull(done, report_path, as_json=as_json)
    if done.rejected or done.missing:
        raise SystemExit(1)


def _print_pull(done: PullResult, report_path: Path | None, *, as_json: bool) -> None:
    rows = [f._asdict() for f in done.rejected] + [{"missing": m} for m in done.missing]
    if report_path:
        from curation.files.atomic import write_text

        lines = (json.dumps(r, ensure_ascii=False) + "\n" for r in rows)
        write_text(report_path, "".join(lines), "the list", fix="name another --report")
    if as_json:
        click.echo(json.dumps({"answers": done.answers, "new": done.new, "refused": rows, "unchecked": done.unchecked}))
        return
    click.echo(f"{done.answers} valid answers, {done.new} of them new; {len(done.rejected)} annotations rejected.")
    for fault in done.rejected[:20]:
        click.echo(f"  rejected: annotation {fault.annotation} of {fault.person}: {fault.why}")
    for text in done.missing[:20]:
        click.echo(f"  missing in Label Studio: {text}")
    for text in done.unchecked:
        click.echo(f"  unchecked: {text}")


def _account(text: str) -> tuple[str, str]:
    number, equals, name = text.partition("=")
    if not equals or not name:
        raise click.UsageError(f"--account takes NUMBER=NAME, got '{text}'")
    return number, name


def _site(folder: Path) -> LabelStudioSite:
    """The server of the environment, or our own.

    Raises:
        UserError: an address without a token, or no server.
    """
    from annotation_ui.label_studio.client import LabelStudioSite
    from annotation_ui.label_studio.server import read_access
    from schemas.core.errors import UserError

    url, token = os.environ.get(URL), os.environ.get(TOKEN)
    if url and not token:
        raise UserError(f"{URL} is set, {TOKEN} is not", fix=f"set {TOKEN} to the owner's access token")
    if url and token:
        return LabelStudioSite(url, token)
    access = read_access(folder)
    return LabelStudioSite(access.url, access.token)


def _verdicts(path: Path, items: list[str]) -> dict[str, list]:  # type: ignore[type-arg]
    from curation.store.store import Store

    out: dict[str, list] = {}  # type: ignore[type-arg]
    with Store.open(path) as store:
        for verdict in store.verdicts(items):
            out.setdefault(verdict.item_id, []).append(verdict)
    return out
