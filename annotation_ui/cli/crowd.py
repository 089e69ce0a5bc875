"""Commands for crowd services: ``annotate links`` (a link a person) and ``annotate participants`` (who did what)."""

from __future__ import annotations

import json
from pathlib import Path

import click

from annotation_ui.cli.campaigns import DB
from curation.cli.options import json_options, writes
from schemas.text.counting import counted


@click.command()
@click.argument("names", nargs=-1, required=True)
@DB
@click.option(
    "--app-url", "url", required=True, help="Address of the rating app as raters reach it, such as https://HOST/."
)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The file (CSV) to write.")
@writes("out")
def links(names: tuple[str, ...], db_path: Path, url: str, out: Path) -> None:
    """Invite raters under the pseudonyms NAMES and write a CSV file with a personal link for each, for a crowd service.

    A link logs its owner in: give each to one person. Only hashes are stored; running it again makes new links, and the
    earlier ones stop working.

    Example: scedit annotate links p01 p02 --ratings r.sqlite --app-url https://rate.example.org/ --out links.csv
    """
    import csv

    from annotation_ui.ratings.database import RatingsDB
    from annotation_ui.ratings.invitations import invitation_link
    from annotation_ui.ratings.raters import check_invitations, invite
    from curation.files.atomic import atomic_file

    invitation_link(url, "")
    with RatingsDB(db_path, create=True) as db:
        check_invitations(db, names)
        with atomic_file(out) as file:
            rows = csv.writer(file)
            rows.writerow(["person", "link"])
            rows.writerows([name, invitation_link(url, invite(db, name))] for name in dict.fromkeys(names))
    out.chmod(0o600)
    click.echo(f"{counted(len(set(names)), 'link')} written to {out}; whoever holds a link can rate under its name.")


@click.command()
@click.argument("name")
@DB
@json_options
def participants(name: str, db_path: Path, as_json: bool) -> None:
    """Show the raters of campaign NAME as a crowd service needs them: identity, items done, time on items, finished.

    Example: scedit annotate participants pilot --ratings r.sqlite --jsonl
    """
    from annotation_ui.ratings.database import RatingsDB
    from annotation_ui.ratings.invitations import identity_of
    from annotation_ui.ratings.open_items import next_item

    with RatingsDB(db_path) as db:
        db.campaign(name)
        for person in dict.fromkeys(a.person for a in db.assignments(name)):
            answers = db.current_answers(name, person=person)
            row = {
                "person": person,
                "identity": identity_of(db, person),
                "assigned": len(db.assignments(name, person)),
                "answered": len(answers),
                "finished": next_item(db, name, person) is None,
                "minutes": round(sum(r.seconds or 0.0 for r in answers) / 60, 1),
                "seconds_by_item": {r.item: r.seconds for r in answers},
            }
            if as_json:
                click.echo(json.dumps(row))
                continue
            who = ", ".join(f"{k}={v}" for k, v in identity_of(db, person).items()) or "no identity"
            state = "finished" if row["finished"] else "open"
            click.echo(
                f"{person:20} {len(answers):5d} of {row['assigned']:5d}  {state:8}  {row['minutes']:6.1f} min  {who}"
            )
