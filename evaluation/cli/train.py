"""The command ``model train``: methods that must be trained once per model, on cases that are never evaluated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from schemas.core.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable

    from evaluation.runs.support import SupportChoice

_FILE = click.Path(path_type=Path)


@click.command(
    epilog="Example: scedit model train mend --model embedded --support shipped --apart mini --out mend.safetensors"
)
@click.argument("method")
@click.option("--model", default="embedded", show_default=True, help="Model: embedded, a folder or a hub name.")
@click.option("--support", "name", help="Shipped cases: shipped or demonstrations.")
@click.option("--facts", type=_FILE, help="A file of facts; cases are made of them.")
@click.option("--split-file", type=_FILE, help="A frozen split file.")
@click.option("--store", type=_FILE, help="A store, with --split.")
@click.option("--split", "split_name", metavar="NAME", help="Split in the store.")
@click.option("--limit", type=click.IntRange(min=2), help="Only so many cases.")
@click.option(
    "--apart", metavar="SPLIT", help="Split that will be evaluated: mini or a split file. Overlap is refused."
)
@click.option("--leave-out", is_flag=True, help="Leave out what overlaps with --apart instead.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="An option of the method; repeatable.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda ...")
@click.option("--minutes", type=click.FloatRange(min=0, min_open=True), help="End then, with the best network so far.")
@click.option("--out", type=_FILE, required=True, help="File of the trained network (safetensors).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines.")
def train(
    method: str,
    model: str,
    name: str | None,
    facts: Path | None,
    split_file: Path | None,
    store: Path | None,
    split_name: str | None,
    limit: int | None,
    apart: str | None,
    leave_out: bool,
    settings: tuple[str, ...],
    device: str,
    minutes: float | None,
    out: Path,
    as_json: bool,
) -> None:
    """Train METHOD for a model. Stopped at any moment, the same command goes on.

    The file says what it was trained on; a run whose split shares a fact or subject with it is refused.
    """
    given = {"name": name or split_name, "facts": facts, "file": split_file, "store": store, "limit": limit}
    choice = _choice({k: v for k, v in given.items() if v is not None}, leave_out=leave_out)
    from evaluation.editors import EDITORS

    kind = EDITORS.get(method)
    if not kind.trainable:
        able = [known for known in EDITORS.names() if EDITORS.get(known).trainable]
        raise UserError(f"'{method}' is not trained beforehand", allowed=", ".join(able))
    from evaluation.runs.support import open_support

    support = open_support(choice, _split(apart))
    from curation.files.artifact_cache import Cache
    from curation.files.model_packages import cache_dir
    from evaluation.editors.presets import make_editor
    from evaluation.models.language_model import LM
    from schemas.core.config import override

    lm = LM.load(model, device=device)
    editor: Any = make_editor(method, lm, Cache(cache_dir()), override({}, settings))
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
