"""The command ``model doctor``: what works with a model."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from curation.cli.options import json_option, shared_option
from schemas.core.config import read_toml, validate

if TYPE_CHECKING:
    from evaluation.checks.model_compatibility import Diagnosis

_COLOURS = {"ok": "green", "note": "yellow", "no": "red"}


@click.command()
@click.argument("name")
@shared_option("--device", default="auto", show_default=True, also="Or map: spread over all.")
@shared_option("--dtype", default="float32", show_default=True)
@click.option("--trust-remote-code", is_flag=True, help="Run code that the model brings along. Read it first.")
@click.option(
    "--layout",
    "layout_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="TOML file with a table [layout]: names of the parts of a model that is not known.",
)
@json_option
def doctor(
    name: str, device: str, dtype: str, trust_remote_code: bool, layout_file: Path | None, as_json: bool
) -> None:
    """Examine the model NAME: 'embedded', a folder, a GGUF file or a hub name.

    Reports blocks, MLP and weight orientation, head, start token, character offsets and subject lookup, compares the
    fast scorer with plain passes and makes one test edit. Ends with status 1 if something cannot work.

    Example: scedit model doctor embedded
    """
    from evaluation.checks.model_compatibility import diagnose
    from evaluation.models.layout_choice import LayoutChoice

    layout = None
    if layout_file is not None:
        layout = validate(LayoutChoice, read_toml(layout_file).get("layout", {}), where=f"{layout_file}, [layout]")
    diagnosis = diagnose(name, device=device, dtype=dtype, trust_remote_code=trust_remote_code, layout=layout)
    if as_json:
        rows = [f._asdict() for f in diagnosis.findings]
        click.echo(
            json.dumps({"model": diagnosis.model, "works": diagnosis.works, "findings": rows}, ensure_ascii=False)
        )
    else:
        _print_diagnosis(diagnosis)
    if not diagnosis.works:
        sys.exit(1)


def _print_diagnosis(diagnosis: Diagnosis) -> None:
    import textwrap

    width = max(len(f.what) for f in diagnosis.findings)
    for finding in diagnosis.findings:
        first, *rest = textwrap.wrap(finding.text, width=100 - width - 8) or [""]
        click.echo(f"{click.style(f'{finding.state:4}', fg=_COLOURS[finding.state])}  {finding.what:{width}}  {first}")
        for line in rest:
            click.echo(" " * (width + 8) + line)
    noted = sum(f.state == "note" for f in diagnosis.findings)
    failed = sum(f.state == "no" for f in diagnosis.findings)
    if diagnosis.works:
        click.echo(f"\n'{diagnosis.model}' works" + (f"; {noted} thing{'s' * (noted != 1)} to know." if noted else "."))
    else:
        click.echo(f"\n'{diagnosis.model}' does not work: {failed} of {len(diagnosis.findings)} findings say why.")
