"""The command ``store check``: run the checks that look at a store's items with a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from curation.checks.store_checks import (
    STORE_CHECKS,
    CheckContext,
    CheckOutcome,
    StoreCheck,
    due_items,
    make_checks,
    run_check,
)
from curation.cli.options import json_options, limit_option, shared_option, show, store_option
from curation.store.origins import list_stale
from curation.store.store import Store
from schemas.core.config import override
from schemas.text.counting import counted
from schemas.text.status_line import StatusLine


@click.command()
@click.argument("names", nargs=-1, metavar="[NAMES]...")
@store_option(required=False)
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="[CHECK=]MODEL",
    help="Judge with this model; repeatable: one after another.",
)
@shared_option("--set", "settings", multiple=True, metavar="CHECK.NAME=VALUE")
@limit_option(also="items per check.")
@click.option("--again", is_flag=True, help="Also judge what has a verdict; the new one replaces it.")
@shared_option("--dry-run", is_flag=True, also="Items due, and cost.")
@click.option("--list", "only_list", is_flag=True, help="List the checks and stop.")
@json_options
def check(
    names: tuple[str, ...],
    store_path: Path | None,
    models: tuple[str, ...],
    settings: tuple[str, ...],
    limit: int | None,
    again: bool,
    dry_run: bool,
    only_list: bool,
    as_json: bool,
) -> None:
    """Run the checks NAMES on the items of a store that they have not judged yet.

    Where none is named, all run but those that ask a model for its opinion (the three verify_ checks):
    name these, or a model for them (--model verify_prompt=MODEL). What runs and what does not is said first.

    Records that were made from content that has changed since are listed first (stale).

    Verdicts are kept batch by batch: once stopped, the same command resumes. A check measures or describes; the split's
    rule decides what is left out (scedit split freeze --rule).

    Example: scedit store check predictability --store my.duckdb --model embedded
    """
    if only_list:
        _list(as_json=as_json)
        return
    if store_path is None:
        raise click.UsageError("Missing option '--store' / '-s'.")
    checks = make_checks(names, models=models, options=override({}, settings))
    if not names:
        _tell_choice(checks)
    with Store.open(store_path, write=not dry_run) as store:
        for line in list_stale(store.stale()):
            click.echo(line, err=True)
        around = CheckContext(store)
        for one in checks:
            if dry_run:
                _tell_due(one, around, again=again, limit=limit, as_json=as_json)
                continue
            status = StatusLine(every=None)
            progress = partial(_show_progress, status, one.name)
            try:
                done = run_check(store, one, around=around, again=again, limit=limit, on_progress=progress)
            finally:
                status.end()
            _print_results(done, as_json=as_json)


def _tell_choice(checks: Sequence[StoreCheck]) -> None:
    """Which checks run where none was named, with which model, and which do not."""
    chosen: dict[str, list[str]] = {}
    for one in checks:
        chosen.setdefault(_name_with_options(one), []).append(one.name)
    left = sorted(set(STORE_CHECKS.names()) - {one.name for one in checks})
    click.echo(f"Running {'; '.join(', '.join(names) + model for model, names in chosen.items())}.", err=True)
    if left:
        click.echo(f"Not running {', '.join(left)}: name a model, such as --model {left[-1]}=MODEL.", err=True)


def _show_progress(line: StatusLine, name: str, done: int, due: int) -> None:
    """Rewrite a line on standard error, where a person looks at it."""
    line.show(f"{name}: {done} of {due}")


def _list(*, as_json: bool) -> None:
    for name in STORE_CHECKS.names():
        cls = STORE_CHECKS.get(name)
        row = {"check": name, "version": cls.version, "on": cls.on, "model": cls.default_model, "about": cls.about}
        row["settings"] = {k: f.default for k, f in cls.Params.model_fields.items()}
        settings = ", ".join(f"{name}.{k}={value}" for k, value in row["settings"].items())
        line = f"{name}@{cls.version}  on each {cls.on}: {cls.about}"
        show(row, f"{line}\n    {settings}" if settings else line, as_json=as_json)


def _tell_due(check: StoreCheck, around: Any, *, again: bool, limit: int | None, as_json: bool) -> None:
    items = due_items(around.store, check, again=again, limit=limit)
    cost: Mapping[str, Any] = check.cost(items, around)
    row = {"check": check.by, "model": check.model, "on": check.on, "due": len(items), "cost": dict(cost)}
    more = "".join(f", {value} {name}" for name, value in cost.items())
    show(row, f"{len(items):>7}  {check.on}s due for {check.by}{_name_with_options(check)}{more}", as_json=as_json)


def _print_results(done: CheckOutcome, *, as_json: bool) -> None:
    check = done.check
    row = {"check": check.by, "model": check.model, "due": done.due, "labels": done.labels, "left": done.left}
    labels = ", ".join(f"{n} {label}" for label, n in sorted(done.labels.items())) or "nothing was due"
    left = f"; {done.left} left without a verdict, still due" if done.left else ""
    text = f"{check.by}{_name_with_options(check)}: {counted(done.due, check.on)}, {labels}{left}"
    show(row, text, as_json=as_json)


def _name_with_options(check: StoreCheck) -> str:
    return f" with {check.model}" if check.model else ""
