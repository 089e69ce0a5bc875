"""The command prompts: list them, show them filled in, copy them to be changed."""

from __future__ import annotations

import json
from pathlib import Path

import click

from curation.cli.options import json_options


@click.command()
@click.option("--profile", help="Only this profile.")
@click.option(
    "--prompts", "folder", type=click.Path(path_type=Path), help="Show the prompts of your own in this folder."
)
@click.option("--fact", "fact_path", help="Render the prompts for the first fact of this file (or 'shipped').")
@click.option("--key", help="With --fact: the fact with this key instead.")
@click.option(
    "--write", "target", type=click.Path(path_type=Path), help="Copy a profile's prompts here, to change them."
)
@json_options
def prompts(
    profile: str | None,
    folder: Path | None,
    fact_path: str | None,
    key: str | None,
    target: Path | None,
    as_json: bool,
) -> None:
    """List the prompts of construction, show them filled in for a fact, or copy them to make your own.

    \b
    Examples:
      scedit prompts
      scedit prompts --profile paper --fact shipped
      scedit prompts --profile paper --write my-prompts
      scedit prompts --prompts my-prompts --fact shipped
    """  # noqa: D301 - click needs the real backspace
    from construction.pipeline.prompt_preview import prompt_list, render_messages

    if target is not None:
        from construction.prompts.prompt_file import copy_prompts

        for path in copy_prompts(profile or "paper", target):
            click.echo(json.dumps({"path": str(path)}) if as_json else f"Wrote {path}")
        if not as_json:
            click.echo(f"Change the name and the words, then: scedit construct FACTS --store S --prompts {target}")
        return
    if fact_path is None:
        for row in prompt_list(profile, folder):
            line = "{label:26} {task:14} {profile:9} {shape:6} {path}"
            click.echo(json.dumps(row, ensure_ascii=False) if as_json else line.format(**row))
        return
    from curation.loaders import load
    from schemas.core.errors import UserError

    facts = load(fact_path).facts
    chosen = next((f for f in facts if key is None or f.key == key), None)
    if chosen is None:
        raise UserError(f"no fact '{key or ''}'", where=fact_path, fix="see the keys with: scedit store list fact")
    for row in render_messages(chosen, profile, folder):
        line = "== {label}, {role}\n{content}\n"
        click.echo(json.dumps(row, ensure_ascii=False) if as_json else line.format(**row))
