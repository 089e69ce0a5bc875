"""The command ``annotate``: campaigns, people, live answers into the store, agreement."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click

if TYPE_CHECKING:
    from annotation_ui.agreement import TaskReport

_DB = click.option(
    "--ratings", "-r", "db_path", type=click.Path(path_type=Path), required=True, help="The ratings file (SQLite)."
)
_STORE = click.option("--store", "-s", "store_path", type=click.Path(path_type=Path), required=True, help="The store.")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON lines instead of text.")


class _Group(click.Group):
    """Label Studio and the app are imported when they are called."""

    _LATER: ClassVar[dict[str, str]] = {
        "label-studio": "annotation_ui.commands_label_studio:label_studio",
        "serve": "annotation_ui.commands_serve:serve",
    }

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *self._LATER]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self._LATER:
            import importlib

            module, _, name = self._LATER[cmd_name].partition(":")
            command: click.Command = getattr(importlib.import_module(module), name)
            return command
        return super().get_command(ctx, cmd_name)


@click.group(cls=_Group)
def annotate() -> None:
    """Have people filter and rate: campaigns, people, answers into the store, agreement.

    \b
    Example:
      scedit annotate new pilot --task filter_question --store my.duckdb --ratings r.sqlite --overlap 2
      scedit annotate invite ann bob --ratings r.sqlite
      scedit annotate share pilot --ratings r.sqlite
      scedit annotate serve --ratings r.sqlite
      scedit annotate import pilot --ratings r.sqlite --store my.duckdb
    """  # noqa: D301 - click needs the real backspace


@annotate.command()
@_JSON
def tasks(as_json: bool) -> None:
    """List the tasks: what people are asked, and under which form version.

    Example: scedit annotate tasks
    """
    from annotation_ui.tasks import TASKS

    for name in TASKS.names():
        cls = TASKS.get(name)
        if as_json:
            click.echo(json.dumps({"task": name, "about": cls.about, "form": cls.form.model_dump(mode="json")}))
        else:
            click.echo(f"{cls.form.label:24} {cls.about}")


@annotate.command()
@click.argument("name")
@click.option("--task", "task_name", required=True, help="What is asked; see: scedit annotate tasks")
@_STORE
@_DB
@click.option("--overlap", type=click.IntRange(1, 20), default=2, show_default=True, help="People an item.")
@click.option("--batch", type=click.IntRange(1, 500), default=20, show_default=True, help="Items a batch.")
@click.option(
    "--percent", type=click.FloatRange(0, 100, min_open=True), default=100.0, help="Sample so much, stratified."
)
@click.option(
    "--only", type=click.Choice(["all", "unsure"]), default="all", help="All items, or what checks leave open."
)
@click.option("--known", type=click.Path(path_type=Path), help="Training and attention items (JSON lines).")
@click.option("--consent", type=click.Path(path_type=Path, exists=True), help="A text that people agree to first.")
@_JSON
def new(
    name: str,
    task_name: str,
    store_path: Path,
    db_path: Path,
    overlap: int,
    batch: int,
    percent: float,
    only: str,
    known: Path | None,
    consent: Path | None,
    as_json: bool,
) -> None:
    """Make the campaign NAME from what a store holds, or add what is new in the store to one that is there.

    Example: scedit annotate new pilot --task filter_question --store my.duckdb --ratings r.sqlite --percent 10
    """
    from annotation_ui.campaigns import Sharing, create, make_task, read_known
    from annotation_ui.ratings_db import RatingsDB
    from curation.store import Store

    task = make_task(task_name)
    extra = read_known(known, task) if known else []
    text = consent.read_text(encoding="utf-8") if consent else ""
    sharing = Sharing(overlap=overlap, batch=batch, percent=percent, only=only, consent=text)
    with Store.open(store_path) as store, RatingsDB(db_path, create=True) as db:
        before = len(db.items(name))
        create(db, store, name, task, sharing, known=extra)
        total = len(db.items(name))
    if as_json:
        click.echo(json.dumps({"campaign": name, "form": task.form.label, "items": total, "new": total - before}))
        return
    click.echo(f"Campaign '{name}' ({task.form.label}): {total} items, {total - before} of them new.")
    click.echo(f"Next: scedit annotate invite NAME... --ratings {db_path}, then: scedit annotate share {name}")


@annotate.command()
@click.argument("names", nargs=-1, required=True)
@_DB
@click.option("--lead", is_flag=True, help="They lead: they see everybody's work and adjudicate.")
@click.option("--synthetic", is_flag=True, help="They are programs; their names begin with 'synthetic-'.")
@_JSON
def invite(names: tuple[str, ...], db_path: Path, lead: bool, synthetic: bool, as_json: bool) -> None:
    """Add people under the pseudonyms NAMES, each with a personal secret that is shown once, here.

    Inviting somebody again gives a new secret and ends the old one. Secrets are kept hashed.

    Example: scedit annotate invite ann bob --ratings r.sqlite
    """
    from annotation_ui.people import invite as add
    from annotation_ui.ratings_db import RatingsDB

    with RatingsDB(db_path, create=True) as db:
        for name in names:
            secret = add(db, name, role="lead" if lead else "rater", synthetic=synthetic)
            click.echo(json.dumps({"person": name, "secret": secret}) if as_json else f"{name:20} {secret}")
    if not as_json:
        click.echo("Give each their secret in person; it cannot be shown again.", err=True)


@annotate.command()
@click.argument("name")
@_DB
@_JSON
def share(name: str, db_path: Path, as_json: bool) -> None:
    """Share the items of campaign NAME out among all raters, evenly and in an order of their own.

    Call it again when people joined or items were added: what is answered or begun stays.

    Example: scedit annotate share pilot --ratings r.sqlite
    """
    from annotation_ui.campaigns import share as share_out
    from annotation_ui.ratings_db import RatingsDB

    with RatingsDB(db_path) as db:
        made, taken = share_out(db, name)
    if as_json:
        click.echo(json.dumps({"campaign": name, "added": made, "taken_back": taken}))
    else:
        click.echo(f"{made} assignments added, {taken} taken back.")


@annotate.command()
@_DB
@click.option("--campaign", "name", help="Only this one.")
@_JSON
def status(db_path: Path, name: str | None, as_json: bool) -> None:
    """How far everybody is.

    Example: scedit annotate status --ratings r.sqlite
    """
    from annotation_ui.campaigns import standings
    from annotation_ui.ratings_db import RatingsDB

    with RatingsDB(db_path) as db:
        for campaign in [db.campaign(name)] if name else db.campaigns():
            rows = standings(db, campaign.name)
            if as_json:
                for s in rows:
                    click.echo(json.dumps({"campaign": campaign.name, **s._asdict()}))
                continue
            click.echo(f"{campaign.name} ({campaign.form}), {len(db.items(campaign.name))} items")
            for s in rows:
                pace = f"{s.seconds:.0f} s an item" if s.seconds is not None else "not begun"
                watch = f", attention {s.attention[0]} of {s.attention[1]} right" if s.attention[1] else ""
                click.echo(f"  {s.person:20} {s.done:5d} of {s.assigned:5d}  {pace}{watch}")


@annotate.command("import")
@click.argument("name")
@_DB
@_STORE
@click.option("--report", "report_path", type=click.Path(path_type=Path), help="Write what was refused (JSON lines).")
@_JSON
def import_(name: str, db_path: Path, store_path: Path, report_path: Path | None, as_json: bool) -> None:
    """Bring the answers of campaign NAME into the store, each through the form's gate; again adds only what is new.

    Example: scedit annotate import pilot --ratings r.sqlite --store my.duckdb
    """
    from annotation_ui.collecting import collect
    from annotation_ui.ratings_db import RatingsDB
    from curation.store import Store

    with RatingsDB(db_path) as db, Store.open(store_path, write=True) as store:
        got = collect(db, store, name)
    lines = [json.dumps(r._asdict(), ensure_ascii=False) for r in got.refused]
    if report_path:
        report_path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    if as_json:
        click.echo(json.dumps({"answers": got.answers, "new": got.new, "refused": [r._asdict() for r in got.refused]}))
    else:
        click.echo(f"{got.answers} answers, {got.new} records new in the store, {len(got.refused)} refused.")
        for r in got.refused[:20]:
            click.echo(f"  refused: {r.person}, item {r.item}: {r.why}")
    if got.refused:
        raise SystemExit(1)


@annotate.command()
@click.argument("name")
@_DB
@click.option("--resamples", type=click.IntRange(0, 100_000), default=1000, show_default=True, help="For intervals.")
@click.option("--page", type=click.Path(path_type=Path), help="Also write a page with plots (HTML).")
@_JSON
def agreement(name: str, db_path: Path, resamples: int, page: Path | None, as_json: bool) -> None:
    """Agreement of the people in campaign NAME, by aspect, with intervals over cases.

    Example: scedit annotate agreement pilot --ratings r.sqlite --page agreement.html
    """
    from annotation_ui.agreement import report
    from annotation_ui.campaigns import make_task
    from annotation_ui.marks import live_marks
    from annotation_ui.ratings_db import RatingsDB
    from curation.stats.bootstrap import Resampling

    with RatingsDB(db_path) as db:
        task = make_task(db.campaign(name).task)
        marks = live_marks(db, name)
    found = report(marks, task, resampling=Resampling(resamples))
    if page:
        from annotation_ui.agreement_page import write_page

        write_page(found, marks, task, page, title=name)
    click.echo(json.dumps(plain(found)) if as_json else "\n".join(_lines(found)))


@annotate.command()
@click.argument("name")
@_DB
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True)
@_JSON
def disagreements(name: str, db_path: Path, limit: int, as_json: bool) -> None:
    """Items of campaign NAME on which people differ, widest first: what to adjudicate.

    Example: scedit annotate disagreements pilot --ratings r.sqlite
    """
    from annotation_ui.agreement import disagreements as apart
    from annotation_ui.campaigns import make_task
    from annotation_ui.marks import live_marks
    from annotation_ui.ratings_db import RatingsDB

    with RatingsDB(db_path) as db:
        found = apart(live_marks(db, name), make_task(db.campaign(name).task))
    for d in found[:limit]:
        if as_json:
            click.echo(json.dumps(d._asdict()))
            continue
        said = "; ".join(f"{p}: {', '.join(f'{k} {v}' for k, v in a.items())}" for p, a in sorted(d.said.items()))
        click.echo(f"{d.spread:5.2f}  {d.item}  {said}")
    if not as_json:
        click.echo(f"{len(found)} items with a disagreement.")


@annotate.command()
@click.argument("name")
@_DB
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The file (JSON lines) to write.")
def gold(name: str, db_path: Path, out: Path) -> None:
    """Write the settled items of campaign NAME (decided by a lead, or unanimous) as training items.

    Example: scedit annotate gold pilot --ratings r.sqlite --out gold.jsonl
    """
    from annotation_ui.gold import write_gold
    from annotation_ui.ratings_db import RatingsDB

    with RatingsDB(db_path) as db:
        click.echo(f"{write_gold(db, name, out)} settled items written to {out}.")


@annotate.command()
@click.argument("person")
@_DB
@click.confirmation_option(prompt="Delete this person with all answers?")
def forget(person: str, db_path: Path) -> None:
    """Delete PERSON from a ratings file with all answers, assignments and sessions.

    What was imported into a store stands there under the pseudonym; docs/annotate.md says how it is removed.

    Example: scedit annotate forget ann --ratings r.sqlite --yes
    """
    from annotation_ui.people import forget as delete
    from annotation_ui.ratings_db import RatingsDB

    with RatingsDB(db_path) as db:
        click.echo(f"{delete(db, person)} answers of '{person}' deleted.")


@annotate.command("add-scripts")
@click.argument("scripts", type=click.Path(path_type=Path))
@_STORE
def add_scripts(scripts: Path, store_path: Path) -> None:
    """Add generated SCRIPTS (JSON lines of generated-script records) to a store, to be rated.

    Example: scedit annotate add-scripts generated.jsonl --store my.duckdb
    """
    from annotation_ui.scripts_file import add

    seen, fresh = add(scripts, store_path)
    click.echo(f"{seen} scripts read, {fresh} new in the store.")


def plain(found: TaskReport) -> dict[str, Any]:
    """A report as JSON values."""

    def value(x: Any) -> Any:
        if hasattr(x, "_asdict"):
            return {k: value(v) for k, v in x._asdict().items()}
        if isinstance(x, dict):
            return {"/".join(map(str, k)) if isinstance(k, tuple) else str(k): value(v) for k, v in x.items()}
        if isinstance(x, list | tuple):
            return [value(v) for v in x]
        return x

    out: dict[str, Any] = value(found)
    return out


def _lines(found: TaskReport) -> list[str]:
    from annotation_ui.agreement import PUBLISHED_MEAN, PUBLISHED_POOLED, outlook

    people = f"{len(found.people)} people ({', '.join(found.people) or 'nobody yet'})"
    lines = [f"{found.task}: {found.items} items in {found.cases} cases, {people}"]
    if found.synthetic:
        lines.append(f"SYNTHETIC: {', '.join(found.synthetic)} are programs; nothing here says how people agree.")
    for a in found.aspects:
        g = a.agreement
        lines += ["", f"{a.aspect} ({g.ratings} answers)"]
        beside = f"   (ScEdit Table 5: {a.published:.2f}, three people, 400 scripts)" if a.published is not None else ""
        lines.append(f"  {g.alpha.name:24} {g.alpha.text()}{beside}")
        rows = [("exact agreement", g.exact), ("AC1", g.ac1)]
        if g.level == "ordinal":
            rows += [("within one", g.within_one), ("AC2 (quadratic)", g.ac2), (a.ceiling.name, a.ceiling)]
        lines += [f"  {n:24} {e.text()}" for n, e in rows]
        shares = ", ".join(f"{k:g}: {e.value:.0%}" if not isinstance(k, str) else f"{k}: {e.value:.0%}"
                           for k, e in g.prevalence.items() if e.value)  # fmt: skip
        lines.append(f"  {'answers':24} {shares}")
        lines += [f"  {p.first} and {p.second}: Spearman {p.spearman.text()}, exact {p.exact.text()}" for p in a.pairs]
        lines += [f"  {who} rates {e.text()} above the others" for who, e in a.severity.items()]
        lines += [f"  {p.first} against the mean of people: Spearman {p.spearman.text()}" for p in a.judges]
    if found.pooled is not None:
        lines += ["", f"{found.pooled.name}: {found.pooled.text()}"]
        lines.append(
            f"  (ScEdit prints {PUBLISHED_POOLED} pooled beside a mean of {PUBLISHED_MEAN} over its four metrics: "
            "pooling raises alpha where metrics differ in level.)"
        )
    for row in outlook(found):
        if row["now"] is not None:
            wide = ", ".join(f"{n} more cases: {w:.2f}" for n, w in row.items() if n not in ("aspect", "now"))
            lines.append(f"Width of the interval of alpha, {row['aspect']}: now {row['now']:.2f}; {wide}")
    return lines
