"""The command ``model train``: methods that must be trained once per model, on cases that are never evaluated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from curation.cli.options import editors_option, heldout_option, json_options, limit_option, shared_option, store_option
from schemas.core.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable

    from evaluation.runs.support import SupportChoice

_FILE = click.Path(path_type=Path)


@click.command(
    epilog="Example: scedit model train --editors mend --support shipped --heldout mini --out mend.safetensors"
)
@editors_option(required=True, also="Exactly one.")
@click.option("--model", default="embedded", show_default=True, help="Model: embedded, a folder or a hub name.")
@click.option("--support", "name", help="Shipped cases: shipped or demonstrations.")
@click.option("--facts", type=_FILE, help="A file of facts; cases are made of them.")
@shared_option("--split-file", type=_FILE)
@store_option("store", required=False, also="With --split: the cases come from it.")
@click.option("--split", "split_name", metavar="NAME", help="Split in the store.")
@limit_option(least=2, also="cases.")
@heldout_option()
@click.option("--drop-overlap", is_flag=True, help="Leave out what overlaps with --heldout, instead of refusing.")
@shared_option("--set", "settings", multiple=True, metavar="NAME=VALUE", also="Of the method.")
@shared_option("--device", default="auto", show_default=True)
@click.option(
    "--time-limit",
    "minutes",
    type=click.FloatRange(min=0, min_open=True),
    metavar="MINUTES",
    help="End then, with the best network so far.",
)
@click.option("--out", type=_FILE, required=True, help="File of the trained network (safetensors).")
@json_options
def train(
    editors: tuple[str, ...],
    model: str,
    name: str | None,
    facts: Path | None,
    split_file: Path | None,
    store: Path | None,
    split_name: str | None,
    limit: int | None,
    heldout: str | None,
    drop_overlap: bool,
    settings: tuple[str, ...],
    device: str,
    minutes: float | None,
    out: Path,
    as_json: bool,
) -> None:
    """Train a method for a model. Stopped at any moment, the same command goes on.

    The file says what it was trained on; a run whose split shares a fact or subject with it is refused.
    """
    if len(editors) != 1:
        raise click.UsageError("--editors takes exactly one method here")
    method = editors[0]
    given = {"name": name or split_name, "facts": facts, "file": split_file, "store": store, "limit": limit}
    choice = _choice({k: v for k, v in given.items() if v is not None}, leave_out=drop_overlap)
    from evaluation.editors import EDITORS

    kind = EDITORS.get(method)
    if not kind.trainable:
        able = [known for known in EDITORS.names() if EDITORS.get(known).trainable]
        raise UserError(f"'{method}' is not trained beforehand", allowed=", ".join(able))
    from evaluation.editors.presets import check_options
    from evaluation.runs.support import open_support
    from schemas.core.config import override

    given_options = override({}, settings)
    check_options(method, model, given_options, where=f"--set for '{method}'")
    support = open_support(choice, _split(heldout))
    from curation.files.artifact_cache import Cache
    from curation.files.model_packages import cache_dir
    from evaluation.editors.presets import make_editor
    from evaluation.models.language_model import LM

    lm = LM.load(model, device=device)
    editor: Any = make_editor(method, lm, Cache(cache_dir()), given_options)
    left = f", {support.left_out} overlapping left out" if support.left_out else ""
    if not as_json:
        click.echo(f"Training {method} for {model} on {len(support.cases)} cases of {support.name}{left}")
    trained = editor.train(support.cases, name=support.name, out=out, tell=_teller(as_json), minutes=minutes)
    size = out.stat().st_size
    if as_json:
        data = {"out": str(out), "bytes": size, "cases": len(support.cases), "left_out": support.left_out}
        click.echo(json.dumps({**data, "seconds": trained.seconds, "held_out": trained.held_out._asdict()}))
        return
    click.echo(
        f"Written {out} ({size / 2**20:.1f} MiB) after {trained.seconds:.0f} s; best at step {trained.step}. "
        f'Use it: --set editors.{method}.params.checkpoint="{out}"'
    )


def _choice(data: dict[str, Any], *, leave_out: bool) -> SupportChoice:
    from evaluation.runs.support import SupportChoice
    from schemas.core.config import validate

    if leave_out:
        data = {**data, "overlapping": "leave_out"}
    return validate(SupportChoice, data, where="what to train on (--support, --facts, --split-file, --store)")


def _split(apart: str | None) -> Any:
    if apart is None:
        return None
    from evaluation.runs.config import SplitChoice
    from evaluation.runs.session import open_split

    return open_split(SplitChoice(name="mini") if apart == "mini" else SplitChoice(file=Path(apart)))


def _teller(as_json: bool) -> Callable[[Any], None]:
    from schemas.text.status_line import duration

    def tell(step: Any) -> None:
        if as_json:
            click.echo(json.dumps({"step": step.done, "of": step.of, "seconds": round(step.seconds, 1)}))
            return
        held = ", ".join(f"{name} {value:.3f}" for name, value in step.held_out._asdict().items())
        click.echo(f"  step {step.done} of {step.of}: held-out losses {held}; {duration(step.left)} left", err=True)

    return tell
