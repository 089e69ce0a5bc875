"""The command split scope-readable: what of a split of events can be told from the questions alone."""

from __future__ import annotations

import json

import click

from curation.cli.options import json_options


@click.command("scope-readable")
@click.argument("split")
@click.option("--train", help="Learn on this split instead of by cross-validation over SPLIT's own events.")
@click.option("--folds", type=click.IntRange(2, 50), default=5, show_default=True, help="Parts of the events.")
@json_options
def scope_readable(split: str, train: str | None, folds: int, as_json: bool) -> None:
    """Measure whether a classifier tells scope, unknown answers and right options of SPLIT without the events.

    An AUC of .5 tells nothing. Of ELKEN's questions the wording alone gives .94 (facts) and .97 (tendencies): a method
    can route such questions without looking at the event. SPLIT is a frozen split file of events.

    Example: scedit split scope-readable elken.jsonl
    """
    from curation.checks.scope_readable import scope_readable as measure
    from curation.shipped import named_split
    from schemas.cases import EventCase
    from schemas.core.errors import UserError

    def cases(name: str) -> list[EventCase]:
        frozen = named_split(name)
        events = [case for case in frozen.all_cases if isinstance(case, EventCase)]
        if not events:
            raise UserError("its edits are no events, so there is no scope to be told", where=name)
        return events

    for row in measure(cases(split), train=cases(train) if train else None, folds=folds):
        if as_json:
            click.echo(json.dumps(row._asdict()))
            continue
        value = "one class only" if row.value is None else f"{row.measure} {row.value:.3f} (chance {row.chance:.3f})"
        click.echo(f"{row.kind:10s} {row.told:7s} from {row.part:19s}  {value}  n={row.questions}, {row.events} events")
