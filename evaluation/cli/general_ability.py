"""The command ``model general-ability``: what editing does to a model's general ability."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from curation.cli.options import editors_option, json_options, limit_option, writes
from schemas.core.errors import UserError
from schemas.text.counting import counted
from schemas.text.table_lines import aligned

_FILE = click.Path(path_type=Path)


@click.command(epilog="Example: scedit model general-ability configs/mini.toml --tasks arc_easy --editors rome")
@click.argument("config", type=_FILE)
@click.option("--tasks", required=True, metavar="A,B", help="Tasks of the harness (lm-eval ls tasks) or of --include.")
@editors_option(required=True, also="Methods of CONFIG.")
@click.option("--edits", type=click.IntRange(min=1), default=1, show_default=True, help="Facts edited at once.")
@limit_option(also="documents of each task.")
@click.option("--include", type=_FILE, help="Folder with task files of your own.")
@click.option("--out", type=_FILE, help="Write the figures to this JSON file too.")
@writes("out")
@json_options
def general_ability(
    config: Path,
    tasks: str,
    editors: tuple[str, ...],
    edits: int,
    limit: int | None,
    include: Path | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Ask general tasks before and after editing, through lm-evaluation-harness (pip install 'scedit[harness]').

    The first --edits cases of the run that CONFIG describes are edited into the model at once, for every method; the
    model is as before afterwards. Tasks of the harness are fetched by it from their own places.
    """
    from curation.files.atomic import write_json
    from evaluation.editors.presets import check_options
    from evaluation.models.loading import model_depth
    from evaluation.runs.config import load_config
    from evaluation.runs.general_ability import ability as ask
    from evaluation.runs.general_ability import changes

    chosen = load_config(config, base={"limit": edits})
    missing = [m for m in editors if m not in chosen.editors]
    if missing:
        raise UserError(f"CONFIG has no method '{missing[0]}'", where=str(config), allowed=", ".join(chosen.editors))
    for label in editors:
        choice = chosen.editors[label]
        check_options(
            choice.name, chosen.model, choice.params, where=f"editors.{label}.params", depth=model_depth(chosen.model)
        )
    names = [t.strip() for t in tasks.split(",") if t.strip()]
    lm, facts, make = _prepare(chosen)
    before = ask(lm, names, limit=limit, include=include)
    lines: list[dict[str, Any]] = []
    for label in editors:
        choice = chosen.editors[label]
        edit = make(choice.name, choice.params).edit(facts)
        for c in changes(before, ask(lm, names, edit=edit, limit=limit, include=include)):
            row = {"method": label, "edits": len(facts), "task": c.before.task, "metric": c.before.metric}
            gap = c.difference
            row |= {"before": c.before.value, "after": c.after.value, "difference": gap.mean, "half_95": gap.half}
            row |= {"low_95": gap.low, "high_95": gap.high, "paired": bool(c.before.by_document), "why": c.before.why}
            lines.append({**row, "documents": c.before.documents, "model": lm.name, "revision": lm.revision})
    if out is not None:
        write_json(out, {"ability": lines}, fix="name another --out")
    if as_json:
        for line in lines:
            click.echo(json.dumps(line, ensure_ascii=False))
    else:
        _print_table(lines, edits=len(facts))


def _print_table(lines: list[dict[str, Any]], *, edits: int) -> None:
    rows = [("method", "task", "metric", "before", "after", "difference")]
    for x in lines:
        ends = "" if x["low_95"] is None or not x["paired"] else f" [{x['low_95']:+.4f}, {x['high_95']:+.4f}]"
        why = f" ({x['why']})" if x["why"] else "" if ends else " (no interval: a single document)"
        figures = (f"{x['before']:.4f}", f"{x['after']:.4f}", f"{x['difference']:+.4f}{ends}{why}")
        rows.append((x["method"], x["task"], x["metric"], *figures))
    click.echo("\n".join(aligned(rows, left=6)))
    click.echo(f"{counted(edits, 'edit')} at once. Brackets: 95 % interval of the difference, paired by document.")


def _prepare(chosen: Any) -> tuple[Any, list[Any], Any]:
    """The model, the facts to edit, and how a method is made."""
    from curation.case_sources.choosing import choose
    from curation.case_sources.opening import open_split
    from curation.files.artifact_cache import Cache
    from curation.files.model_packages import cache_dir
    from evaluation.editors.presets import make_editor
    from evaluation.models.language_model import LM

    split = open_split(chosen.split)
    by_key = {c.key: c.fact for c in split.cases}
    facts = [by_key[c.key] for c in choose(split, kinds=chosen.kinds, limit=chosen.limit)]
    lm = LM.load(chosen.model, device=chosen.device, dtype=chosen.dtype)
    cache = Cache(cache_dir())
    return lm, facts, lambda name, params: make_editor(name, lm, cache, params)
