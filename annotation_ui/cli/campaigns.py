"""Commands of campaigns and people: ``tasks`` and ``new`` to ``status`` and ``forget``; links for crowd services."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import click

from annotation_ui.ratings import raters
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.open_items import next_item
from curation.cli.options import json_option, json_options, shared_option, show, store_option, writes
from schemas.text.counting import counted

DB = click.option(
    "--ratings", "-r", "db_path", type=click.Path(path_type=Path), required=True, help="The ratings file (SQLite)."
)


@click.command()
@json_options
def tasks(as_json: bool) -> None:
    """List the rating tasks: what raters are asked, and the version of each form.

    Example: scedit annotate tasks
    """
    from annotation_ui.tasks import TASKS

    for name in TASKS.names():
        cls = TASKS.get(name)
        row = {"task": name, "about": cls.about, "form": cls.form.model_dump(mode="json")}
        show(row, f"{cls.form.label:24} {cls.about}", as_json=as_json)


@click.command()
@click.argument("name")
@click.option("--task", "task_name", required=True, help="The rating task; see scedit annotate tasks.")
@store_option()
@DB
@click.option("--overlap", type=click.IntRange(1, 20), help="Raters per item; 2 unless given.")
@click.option("--batch-size", "batch", type=click.IntRange(1, 500), help="Items per batch; 20 unless given.")
@click.option(
    "--percent",
    type=click.FloatRange(0, 100, min_open=True),
    help="Percentage of the items to draw, stratified; all by default, or as the campaign was made with.",
)
@click.option("--number", type=click.IntRange(1), help="Number of items to draw, stratified, in place of --percent.")
@click.option(
    "--group",
    default="",
    help="Ask about the same drawn items as the other campaigns of this group; its first campaign draws them.",
)
@click.option(
    "--status",
    "only",
    type=click.Choice(["all", "unsure"]),
    help="All items (unless given), or only those that the checks are unsure about.",
)
@click.option(
    "--control-items", "known", type=click.Path(path_type=Path), help="Training and attention items (JSON lines)."
)
@click.option(
    "--stop-width",
    type=click.FloatRange(0, min_open=True),
    help="Take open items back once every difference of methods has an interval narrower than this (points).",
)
@click.option(
    "--consent",
    type=click.Path(path_type=Path, exists=True),
    help="A text (file) that raters accept first.",
)
@click.option("--completion-code", default="", help="Code that a crowd service expects; shown when all is done.")
@click.option("--completion-url", default="", help="Address (https) that the finish page leads to, with its code.")
@click.option("--spans", is_flag=True, help="Let raters mark the words that leak, or that fail.")
@json_option
def new(
    name: str,
    task_name: str,
    store_path: Path,
    db_path: Path,
    known: Path | None,
    consent: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Create the campaign NAME from the items of a store, or add the store's new items to an existing campaign.

    An existing campaign keeps every option that is not given again. A sample neither grows nor shrinks: draw a second
    one in a campaign of another name. Raters see NAME.

    Example: scedit annotate new pilot --task filter_question --store my.duckdb --ratings r.sqlite --percent 10
    """
    from annotation_ui.campaigns.campaign import campaign_options, create_campaign, make_task
    from annotation_ui.campaigns.control_items import read_control_items
    from curation.files.json_files import read_text
    from curation.store.store import Store

    task = make_task(task_name)
    extra = read_control_items(known, task) if known else []
    if consent:
        options["consent"] = read_text(consent, "consent text", encoding="utf-8-sig") or " "  # empty: refused as such
    if options["number"] is not None and options["percent"] is not None:
        raise click.UsageError("--number and --percent say the same thing: give one of them")
    with Store.open(store_path) as store, RatingsDB(db_path, create=True) as db:
        before = len(db.items(name))
        create_campaign(db, store, name, task, campaign_options(db, name, options), known=extra)
        total = len(db.items(name))
    row = {"campaign": name, "form": task.form.label, "items": total, "new": total - before}
    lines = [f"Campaign '{name}' ({task.form.label}): {counted(total, 'item')}, {total - before} of them new."]
    lines += [] if before else [f"Raters see the name '{name}'. It must not hint at methods or at what you expect."]
    ratings = f"--ratings {db_path}"
    lines += [f"Next: scedit annotate invite NAME... {ratings}, then: scedit annotate assign {name} {ratings}"]
    show(row, "\n".join(lines), as_json=as_json)


@click.command()
@click.argument("names", nargs=-1, required=True)
@DB
@click.option("--lead", is_flag=True, help="Invite leads, who see everybody's answers and adjudicate.")
@click.option("--synthetic", is_flag=True, help="Invite programs; their names begin with 'synthetic-'.")
@json_options
def invite(names: tuple[str, ...], db_path: Path, lead: bool, synthetic: bool, as_json: bool) -> None:
    """Invite people under the pseudonyms NAMES; each gets a personal secret, which is shown here once.

    Inviting somebody again gives them a new secret; the old one stops working. Only hashes are stored.

    Example: scedit annotate invite ann bob --ratings r.sqlite
    """
    with RatingsDB(db_path, create=True) as db:
        before = {p.name for p in raters.list_raters(db)}.intersection(names)
        for name in names:
            secret = raters.invite(db, name, role="lead" if lead else "rater", synthetic=synthetic)
            show({"person": name, "secret": secret}, f"{name:20} {secret}", as_json=as_json)
    if before:
        click.echo(f"Invited again, so an earlier secret ends: {', '.join(sorted(before))}.", err=True)
    if not as_json:
        click.echo("Give everyone their secret in private; it cannot be shown again.", err=True)


@click.command()
@click.argument("name")
@DB
@json_option
def assign(name: str, db_path: Path, as_json: bool) -> None:
    """Assign the items of campaign NAME to all raters, evenly and in a different order for each.

    Run it again when raters join or items are added: answered items and started batches stay where they are. A campaign
    made with --stop-width is looked at each time: once the rule is met, open items are taken back.

    Example: scedit annotate assign pilot --ratings r.sqlite
    """
    from annotation_ui.agreement.method_means import assign_campaign

    with RatingsDB(db_path) as db:
        got = assign_campaign(db, name)
    row = {"campaign": name, "added": got.added, "taken_back": got.taken}
    row |= {"said": list(got.lines)} if got.lines else {}
    text = "\n".join([f"{got.added} assignments added, {got.taken} taken back.", *got.lines])
    show(row, text, as_json=as_json)


@click.command()
@click.argument("name")
@DB
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder for one sheet per rater.")
@shared_option(
    "--format", "form", type=click.Choice(["csv", "jsonl"]), default="csv", show_default=True, also="Of each sheet."
)
@writes(folders=("out",))
@json_option
def sheets(name: str, db_path: Path, out: Path, form: str, as_json: bool) -> None:
    """Write a sheet for each rater of campaign NAME with the items that they have left, to answer without the app.

    The first rows of a sheet say what each column asks and which values it takes. Filled sheets come back with scedit
    annotate import. A sheet that is there already is never overwritten.

    Example: scedit annotate sheets pilot --ratings r.sqlite --out sheets
    """
    from annotation_ui.campaigns.sheets import write_sheets

    with RatingsDB(db_path) as db:
        written = write_sheets(db, name, out, form)
    row = {"campaign": name, "sheets": {str(path): items for path, items in written.items()}}
    lines = [f"{path}: {counted(items, 'item')}" for path, items in written.items()]
    show(row, "\n".join(lines) or f"Nobody has items left in '{name}'.", as_json=as_json)


@click.command()
@DB
@click.option("--campaign", "name", help="Show only this campaign.")
@json_options
def status(db_path: Path, name: str | None, as_json: bool) -> None:
    """Show every rater's progress.

    Example: scedit annotate status --ratings r.sqlite
    """
    from annotation_ui.agreement.report import unreadable_answers
    from annotation_ui.campaigns.campaign import rater_progress

    with RatingsDB(db_path) as db:
        for campaign in [db.campaign(name)] if name else db.campaigns():
            if not as_json:
                click.echo(f"{campaign.name} ({campaign.form}), {counted(len(db.items(campaign.name)), 'item')}")
            for s in rater_progress(db, campaign.name):
                pace = f"{s.seconds:.0f} s an item" if s.seconds is not None else "time not known"
                pace = pace if s.done or s.training[0] or s.seconds is not None else "not started"
                watch = f", attention {s.attention[0]} of {s.attention[1]} right" if s.attention[1] else ""
                odd = f", {s.odd_times} times not usable" if s.odd_times else ""
                odd += f", {s.skipped} skipped" if s.skipped else ""
                text = f"  {s.person:20} {s.done:5d} of {s.assigned:5d}  {pace}{watch}{odd}"
                show({"campaign": campaign.name, **s._asdict()}, text, as_json=as_json)
            if not as_json and (count := unreadable_answers(db, campaign.name)):
                click.echo(f"  {count} stored answers cannot be read under the form; statistics leave them out")


@click.command()
@click.argument("person")
@DB
@click.option(
    "--store",
    "-s",
    "store_path",
    type=click.Path(path_type=Path),
    help="The store (a DuckDB file). What was imported into it is deleted, too.",
)
@click.confirmation_option(prompt="Delete this person with all answers?")
def forget(person: str, db_path: Path, store_path: Path | None) -> None:
    """Delete PERSON from a ratings file with all answers, decisions and sessions, and from a store with all judgements.

    Dumps, backups, exports and frozen splits that were made before are not changed.

    Example: scedit annotate forget ann --ratings r.sqlite --store my.duckdb --yes
    """
    from curation.store.backup import forget_person

    with RatingsDB(db_path) as db:
        known = person in {p.name for p in raters.list_raters(db)}
        stored = forget_person(store_path, person) if store_path else 0
        if not known and not stored:
            raters.get_rater(db, person)
        deleted = raters.delete_rater(db, person) if known else 0
    click.echo(f"{counted(deleted, 'answer')} of '{person}' deleted from {db_path}.")
    if store_path:
        click.echo(f"{counted(stored, 'verdict or rating', 'verdicts and ratings')} deleted from {store_path}.")
    else:
        click.echo("Answers that were imported into a store are still there: run this again with --store.", err=True)


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
    from curation.files.atomic import atomic_file

    raters.invitation_link(url, "")
    with RatingsDB(db_path, create=True) as db, db.write_transaction(), atomic_file(out) as file:
        rows = csv.writer(file)
        rows.writerow(["person", "link"])
        rows.writerows([name, raters.invitation_link(url, raters.invite(db, name))] for name in dict.fromkeys(names))
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
    with RatingsDB(db_path) as db:
        db.campaign(name)
        for person in dict.fromkeys(a.person for a in db.assignments(name)):
            answers = db.current_answers(name, person=person)
            row = {
                "person": person,
                "identity": raters.identity_of(db, person),
                "assigned": len(db.assignments(name, person)),
                "answered": len(answers),
                "finished": next_item(db, name, person) is None,
                "minutes": round(sum(r.seconds or 0.0 for r in answers) / 60, 1),
                "seconds_by_item": {r.item: r.seconds for r in answers},
            }
            who = ", ".join(f"{k}={v}" for k, v in raters.identity_of(db, person).items()) or "no identity"
            state = "finished" if row["finished"] else "open"
            text = f"{person:20} {len(answers):5d} of {row['assigned']:5d}  {state:8}  {row['minutes']:6.1f} min  {who}"
            show(row, text, as_json=as_json)
