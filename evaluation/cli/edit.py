"""The command ``edit``: edit a model and take it home."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from curation.cli.options import (
    editors_option,
    json_option,
    limit_option,
    one_editor,
    shared_option,
)
from schemas.core.errors import UserError
from schemas.text.counting import counted

if TYPE_CHECKING:
    from evaluation.saved_edits.save import SavedEdit
    from schemas.cases import Case


@click.command(epilog="Example: scedit edit mini --limit 1 --editors ft --save edited")
@click.argument("facts")
@click.option("--model", default="embedded", show_default=True, help="Model: embedded, a folder or a hub name.")
@editors_option(required=True, also="Exactly one.")
@click.option(
    "--save", type=click.Path(path_type=Path), required=True, metavar="DIR", help="A new or empty folder to save into."
)
@click.option(
    "--save-as",
    "saved_as",
    type=click.Choice(["model", "adapter", "deltas"]),
    default="model",
    show_default=True,
    help="The edited model, a LoRA adapter for PEFT and vLLM (low-rank edits), or the changes of weights as data.",
)
@shared_option("--set", "settings", multiple=True, metavar="NAME=VALUE", also="Of the method.")
@limit_option(also="facts.")
@shared_option("--device", default="auto", show_default=True)
@shared_option("--dtype", default="float32", show_default=True)
@json_option
def edit(
    facts: str,
    model: str,
    editors: tuple[str, ...],
    save: Path,
    saved_as: Any,
    settings: tuple[str, ...],
    limit: int | None,
    device: str,
    dtype: str,
    as_json: bool,
) -> None:
    """Edit the FACTS into a model, all together, and save it with a model card that says how it scores.

    FACTS is a file of facts (any format of 'scedit data formats'), a frozen split file, whose script prompts are then
    scored too, or mini. The folder holds everything or does not exist; nothing is overwritten.
    """
    from curation.files.artifact_cache import Cache
    from curation.files.model_packages import cache_dir
    from evaluation.saved_edits.save import open_edit_cases, refuse_taken, save_edit
    from schemas.core.config import override

    name = one_editor(editors)
    chosen = override({}, settings)
    refuse_taken(save)
    cases = open_edit_cases(facts, limit=limit)
    _check(name, model, cases, chosen)
    from evaluation.editors.presets import make_editor
    from evaluation.models.language_model import LM

    lm = LM.load(model, device=device, dtype=dtype)
    editor = make_editor(name, lm, Cache(cache_dir()), chosen)
    saved = save_edit(editor, cases, save, saved_as=saved_as)
    _tell(saved, cases, as_json=as_json)


def _check(name: str, model: str, cases: tuple[Case, ...], settings: dict[str, Any]) -> None:
    """Refuse, before a model is loaded, bad settings and methods that this command cannot prepare."""
    from curation.case_sources.support import Support
    from curation.splits.split_file import make_split
    from evaluation.editors import EDITORS
    from evaluation.editors.presets import check_options
    from evaluation.models.loading import model_depth
    from evaluation.runs.config import EditorChoice
    from evaluation.runs.refusals import check_editors
    from evaluation.saved_edits.formats import not_savable

    kind = EDITORS.get(name)
    params = check_options(name, model, settings, where=f"--set for '{name}'", depth=model_depth(model))
    if kind.wants_support(params.model_dump()):
        raise UserError(
            f"'{name}' learns from declared cases, which this command does not take",
            fix=f"scedit model train --editors {name}, then --set checkpoint=FILE"
            if kind.trainable
            else "use a method that changes weights, such as rome, memit, ft or lora",
        )
    if kind.routes:
        raise not_savable(name)
    choice = EditorChoice(name=name, params=settings)
    split = make_split("edit", cases)
    check_editors({name: choice}, {name: params}, split=split, support=Support())


def _tell(saved: SavedEdit, cases: tuple[Case, ...], *, as_json: bool) -> None:
    from evaluation.report.formatting import ARROWS, mean_with_interval

    if as_json:
        description = {
            name: saved.about[name] for name in ("saved_as", "method", "model", "facts_digest", "scores", "files")
        }
        click.echo(json.dumps({"folder": str(saved.folder), "facts": len(cases), **description}, ensure_ascii=False))
        return
    click.echo(f"{counted(len(cases), 'fact')} edited into {saved.about['model']} by {saved.about['method']}")
    for change in saved.scores:
        name = f"{change.metric.title} {ARROWS[change.metric.better]}"
        change_text = f"{mean_with_interval(change.before.interval)} -> {mean_with_interval(change.after.interval)}"
        click.echo(f"  {name:10s} {change_text}  ({counted(change.after.cases, 'case')})")
    if saved.about["rounding"] > 0.01:
        click.echo(
            f"  Rounding to {saved.about['dtype']} changed the edit by {saved.about['rounding']:.1%} of its norm; "
            "an adapter keeps it whole."
        )
    click.echo(f"Saved in {saved.folder}: README.md says what was edited, how, and how it scores.")
