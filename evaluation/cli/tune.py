"""The command ``model tune``: a method's settings searched on development cases at a stated budget."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from curation.cli.options import (
    editors_option,
    heldout_option,
    json_options,
    options_record,
    seed_option,
    shared_option,
    store_option,
)
from schemas.text.counting import counted

if TYPE_CHECKING:
    from curation.splits.split_file import Split
    from evaluation.runs.config import RunConfig
    from evaluation.tuning.search import SearchResult

_FILE = click.Path(path_type=Path)
_SUBJECT_TO = "Metric that settings must reach, such as em_spec=0.9; repeatable."
_DEVELOPMENT = "a split file, open:dev, mini, shipped, or a name with --store"


@dataclass(frozen=True)
class TuneCommandOptions:
    """What the command line said, but for the form of the output."""

    editors: tuple[str, ...]
    development: str
    store: Path | None
    heldout: tuple[str, ...]
    budget: int
    objective: str
    subject_to: tuple[str, ...]
    specificity: Path | None
    seed: int
    first: int
    space: Path | None
    settings: tuple[str, ...]
    model: str
    device: str
    dtype: str
    out: Path


@click.command(
    epilog="Example: scedit model tune --editors rome,memit --split dev.jsonl --heldout mini --out runs/tune"
)
@editors_option(required=True)
@click.option(
    "--split",
    "development",
    required=True,
    metavar="DEV",
    help="Development cases: a split file, open:dev, mini, or shipped.",
)
@store_option("store", required=False, also="DEV is a split of it.")
@heldout_option(multiple=True)
@click.option("--budget", type=click.IntRange(min=2), default=60, show_default=True, help="Edits for each method.")
@click.option("--objective", default="es,ps,ns", show_default=True, help="Metrics; their harmonic mean is maximised.")
@click.option("--subject-to", multiple=True, metavar="NAME=SHARE", help=_SUBJECT_TO)
@click.option("--specificity", type=_FILE, help="Specificity set that em_spec asks (documents), as in a run.")
@seed_option(also="Another one draws other settings.")
@click.option("--first", type=click.IntRange(min=1), default=4, show_default=True, help="Cases of the first round.")
@click.option("--space", type=_FILE, help="TOML file of ranges: one table per method, one range per option.")
@shared_option("--set", "settings", multiple=True, metavar="NAME=VALUE", also="It applies to every setting tried.")
@click.option("--model", default="embedded", show_default=True, help="Model: embedded, a folder or a hub name.")
@shared_option("--device", default="auto", show_default=True)
@shared_option("--dtype", default="float32", show_default=True)
@click.option("--out", type=_FILE, required=True, help="Folder for journals and results; it resumes a search.")
@json_options
@options_record(TuneCommandOptions)
def tune(options: TuneCommandOptions, *, as_json: bool) -> None:
    """Search settings of methods on development cases, each with the same budget, and print presets.

    A budget of N means N edits; trying one setting on one case is one edit. The method's present preset competes on
    every case. An interrupted search resumes with the next edit. DEV 'shipped' means all facts that come with the
    program and share nothing with the first --heldout split (mini if none is named).
    """
    from curation.case_sources.opening import open_named_split
    from curation.case_sources.support import refuse_reserved
    from evaluation.editors.presets import check_options
    from evaluation.models.language_model import LM
    from evaluation.models.loading import model_depth
    from evaluation.runs.progress import Progress
    from evaluation.tuning.search import refuse_evaluated, search, snippet
    from schemas.core.config import override

    settings = override({}, options.settings)
    for method in options.editors:
        check_options(method, options.model, settings, where=f"--set for '{method}'", depth=model_depth(options.model))
    evaluated = [open_named_split(name) for name in options.heldout]
    dev = options.development
    split = (
        _shipped_cases(evaluated) if dev == "shipped" else open_named_split(dev, options.store, allowed=_DEVELOPMENT)
    )
    refuse_reserved(split.all_cases, where=f"--split {dev}")
    refuse_evaluated(split, evaluated)
    names = tuple(name.strip() for name in options.objective.split(",") if name.strip())
    least = _subject_to(options.subject_to)
    config = _config(options, (*names, *least), split)
    lm = LM.load(options.model, device=options.device, dtype=options.dtype)
    for method in options.editors:
        result = search(
            method,
            lm,
            split,
            config,
            budget=options.budget,
            objective=names,
            subject_to=least,
            number=options.seed,
            first=options.first,
            space=options.space,
            constants=settings,
            on_event=Progress(),
        )
        preset = snippet(
            result, model=options.model, split=split, number=options.seed, objective=names, subject_to=least
        )
        _print_result(result, preset, names, as_json=as_json)
    if not evaluated and not as_json:
        click.echo("No evaluation split was named (--heldout): nothing was checked for shared facts.")


def _config(options: TuneCommandOptions, metrics: tuple[str, ...], split: Split) -> RunConfig:
    from evaluation.runs.config import RunConfig
    from schemas.core.config import validate

    data = {
        "model": options.model,
        "device": options.device,
        "dtype": options.dtype,
        "editors": list(options.editors),
        "metrics": tuple(dict.fromkeys(metrics)),
        **({} if options.specificity is None else {"specificity": {"file": str(options.specificity)}}),
        "split": {"file": str(_save_split(split, options.out))},
        "out": str(options.out),
    }
    return validate(RunConfig, data, where="tune")


def _subject_to(words: tuple[str, ...]) -> dict[str, float]:
    """Shares that metrics must reach, by name.

    Raises:
        UserError: what is written is no metric with a share.
    """
    from schemas.core.errors import UserError

    least = {}
    for word in words:
        name, _, share = word.partition("=")
        try:
            least[name.strip()] = float(share)
        except ValueError:
            least[name.strip()] = -1.0
        if not 0 <= least[name.strip()] <= 1:
            raise UserError(f"'{word}' names no share that a metric must reach", where="--subject-to", allowed="0 to 1")
    return least


def _shipped_cases(evaluated: list[Split]) -> Split:
    from curation.case_sources.support import SupportChoice, open_support
    from curation.shipped import mini_split
    from curation.splits.split_file import make_split

    free = open_support(SupportChoice(name="shipped"), evaluated[0] if evaluated else mini_split())
    return make_split("shipped", free.cases)


def _save_split(split: Split, out: Path) -> Path:
    """The split as a file of its own: a run on it feeds no store."""
    from curation.splits.split_file import write_split
    from evaluation.runs.results import split_file

    path = out / split_file(split.digest)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_split(split, path)
    return path


def _print_result(result: SearchResult, preset: str, objective: tuple[str, ...], *, as_json: bool) -> None:
    from evaluation.tuning.search import plain

    if as_json:
        click.echo(json.dumps({**plain(result), "snippet": preset}, ensure_ascii=False))
        return
    words = ", ".join(f"{counted(rung.settings, 'setting')} on {counted(rung.cases, 'case')}" for rung in result.rungs)
    used = f"{result.used:,} of {counted(result.budget, 'edit')}"
    click.echo(f"{result.method}: {words}; {used}, the preset's among them")
    for one in result.tried[:8]:
        values = "  ".join(f"{name} {100 * value:.1f}" for name, value in one.metrics.items())
        failed = f"  {one.failed} failed" if one.failed else ""
        failed += "  not enough" if one.shortfall else ""
        click.echo(f"  {one.label:<7} {one.cases:>3} cases  {one.objective:.3f}  {values}{failed}  {one.params}")
    click.echo(f"\n{preset}" if result.best.label != "preset" else "  The preset is the best.\n")
