"""The command ``model train``: methods that must be trained once per model, on cases that are never evaluated."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from curation.cli.options import (
    editors_option,
    heldout_option,
    json_options,
    limit_option,
    one_editor,
    options_record,
    shared_option,
    store_option,
)
from schemas.core.errors import UserError
from schemas.text.counting import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from curation.case_sources.support import Support

_FILE = click.Path(path_type=Path)


@dataclass(frozen=True)
class TrainCommandOptions:
    """What the command line said, but for the form of the output."""

    editors: tuple[str, ...]
    model: str
    name: str | None
    facts: Path | None
    split_file: Path | None
    store: Path | None
    split_name: str | None
    limit: int | None
    heldout: str | None
    drop_overlap: bool
    settings: tuple[str, ...]
    device: str
    minutes: float | None
    out: Path


@click.command(
    epilog="Example: scedit model train --editors mend --support shipped --heldout mini --out mend.safetensors"
)
@editors_option(required=True, also="Exactly one.")
@click.option("--model", default="embedded", show_default=True, help="Model: embedded, a folder or a hub name.")
@click.option(
    "--support",
    "name",
    help="Shipped cases: shipped, demonstrations, open:dev; events_from_facts, documents_from_facts.",
)
@click.option("--facts", type=_FILE, help="A file of facts; cases are made of them.")
@shared_option("--split-file", type=_FILE)
@store_option("store", required=False, also="With --split: read the cases from it.")
@click.option("--split", "split_name", metavar="NAME", help="Split in the store.")
@limit_option(minimum=2, also="cases.")
@heldout_option()
@click.option("--drop-overlap", is_flag=True, help="Leave out cases that overlap with --heldout, instead of refusing.")
@shared_option("--set", "settings", multiple=True, metavar="NAME=VALUE", also="Of the method.")
@shared_option("--device", default="auto", show_default=True)
@click.option(
    "--time-limit",
    "minutes",
    type=click.FloatRange(min=0, min_open=True),
    metavar="MINUTES",
    help="Stop after this many minutes with the best network so far.",
)
@click.option("--out", type=_FILE, required=True, help="File of the trained network (safetensors).")
@json_options
@options_record(TrainCommandOptions)
def train(options: TrainCommandOptions, *, as_json: bool) -> None:
    """Train a method for a model, or a router of events for all of them; an interrupted training of MEND resumes.

    The file records its training cases, and a run whose split shares a fact or subject with them is refused.
    """
    from curation.files.artifact_cache import Cache
    from curation.files.model_packages import cache_dir
    from schemas.core.config import override

    method = _trainable(options.editors)
    settings = override({}, options.settings)
    support = _training_cases(options, method, settings)
    from evaluation.editors.presets import make_editor, make_without_model
    from evaluation.models.language_model import LM

    cache, target = Cache(cache_dir()), "all models"
    editor: Any = make_without_model(method, cache, settings)
    if editor is None:
        lm, target = LM.load(options.model, device=options.device), options.model
        editor = make_editor(method, lm, cache, settings)
    if not as_json:
        left = f", {support.left_out} overlapping left out" if support.left_out else ""
        cases = f"{counted(len(support.cases), 'case')} of {support.name}{left}"
        click.echo(f"Training {method} for {target} on {cases}")
    tell = _progress_printer(as_json)
    trained = editor.train(support.cases, name=support.name, out=options.out, on_step=tell, minutes=options.minutes)
    _tell_trained(method, trained, options.out, support, as_json=as_json)


def _trainable(editors: tuple[str, ...]) -> str:
    """The one method, which must be trained beforehand."""
    from evaluation.editors import EDITORS

    name = one_editor(editors)
    if not EDITORS.get(name).trainable:
        able = [known for known in EDITORS.names() if EDITORS.get(known).trainable]
        raise UserError(f"'{name}' is not trained beforehand", allowed=", ".join(able))
    return name


def _training_cases(options: TrainCommandOptions, method: str, settings: dict[str, Any]) -> Support:
    """The cases to train on; the method's settings are checked before any of them is made."""
    from curation.case_sources.opening import open_named_split
    from curation.case_sources.support import SupportChoice, open_support
    from evaluation.editors import EDITORS
    from evaluation.editors.presets import check_options
    from evaluation.models.loading import model_depth
    from evaluation.runs.refusals import check_support
    from schemas.core.config import validate

    data = {
        "name": options.name or options.split_name,
        "facts": options.facts,
        "file": options.split_file,
        "store": options.store,
        "limit": options.limit,
        "overlapping": "leave_out" if options.drop_overlap else None,
    }
    choices = {name: value for name, value in data.items() if value is not None}
    where = "what to train on (--support, --facts, --split-file, --store)"
    choice = validate(SupportChoice, choices, where=where)
    check_options(method, options.model, settings, where=f"--set for '{method}'", depth=model_depth(options.model))
    heldout = None if options.heldout is None else open_named_split(options.heldout)
    support = open_support(choice, heldout)
    check_support(method, EDITORS.get(method).learns_from, support, where="what to train on", option="--support ")
    return support


def _tell_trained(method: str, trained: Any, out: Path, support: Support, *, as_json: bool) -> None:
    size = out.stat().st_size
    if as_json:
        data = {"out": str(out), "bytes": size, "cases": len(support.cases), "left_out": support.left_out}
        click.echo(json.dumps({**data, "seconds": trained.seconds, "held_out": trained.held_out._asdict()}))
        return
    click.echo(
        f"Written {out} ({size / 2**20:.1f} MiB) after {trained.seconds:.0f} s; best at step {trained.step}. "
        f'Use it: --set editors.{method}.params.checkpoint="{out}"'
    )


def _progress_printer(as_json: bool) -> Callable[[Any], None]:
    from schemas.text.status_line import duration

    def tell(step: Any) -> None:
        if as_json:
            click.echo(json.dumps({"step": step.done, "of": step.of, "seconds": round(step.seconds, 1)}))
            return
        known = ((name, value) for name, value in step.held_out._asdict().items() if value is not None)
        held = ", ".join(f"{name} {value:.3f}" for name, value in known)
        click.echo(f"  step {step.done} of {step.of}: {step.held_out_is} {held}; {duration(step.left)} left", err=True)

    return tell
