"""The commands ``model doctor``, ``model train``, ``model tune`` and ``model general-ability``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from curation.cli.options import (
    editors_option,
    heldout_option,
    json_option,
    json_options,
    limit_option,
    one_editor,
    seed_option,
    shared_option,
    store_option,
    writes,
)
from schemas.core.config import read_toml, validate
from schemas.core.errors import UserError
from schemas.text.counting import counted
from schemas.text.table_lines import aligned

if TYPE_CHECKING:
    from collections.abc import Callable

    from curation.case_sources.support import Support
    from curation.splits.split_file import Split
    from evaluation.checks.model_compatibility import Diagnosis
    from evaluation.runs.config import RunConfig
    from evaluation.tuning.search import SearchResult


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


_FILE = click.Path(path_type=Path)


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
    """Train a method for a model, or a router of events for all of them; an interrupted training of MEND resumes.

    The file records its training cases, and a run whose split shares a fact or subject with them is refused.
    """
    from curation.files.artifact_cache import Cache
    from curation.files.model_packages import cache_dir
    from evaluation.editors.presets import check_options
    from evaluation.models.loading import model_depth
    from schemas.core.config import override

    method = _trainable(editors)
    chosen = override({}, settings)
    check_options(method, model, chosen, where=f"--set for '{method}'", depth=model_depth(model))
    overlapping = "leave_out" if drop_overlap else None
    data: dict[str, Any] = {"name": name or split_name, "facts": facts, "file": split_file, "store": store}
    data |= {"limit": limit, "overlapping": overlapping}
    support = _training_cases({k: v for k, v in data.items() if v is not None}, method, heldout)
    from evaluation.editors.presets import make_editor, make_without_model
    from evaluation.models.language_model import LM

    cache, target = Cache(cache_dir()), "all models"
    editor: Any = make_without_model(method, cache, chosen)
    if editor is None:
        lm, target = LM.load(model, device=device), model
        editor = make_editor(method, lm, cache, chosen)
    if not as_json:
        left = f", {support.left_out} overlapping left out" if support.left_out else ""
        cases = f"{counted(len(support.cases), 'case')} of {support.name}{left}"
        click.echo(f"Training {method} for {target} on {cases}")
    tell = _progress_printer(as_json)
    trained = editor.train(support.cases, name=support.name, out=out, on_step=tell, minutes=minutes)
    _tell_trained(method, trained, out, support, as_json=as_json)


def _trainable(editors: tuple[str, ...]) -> str:
    """The one method, which must be trained beforehand."""
    from evaluation.editors import EDITORS

    name = one_editor(editors)
    if not EDITORS.get(name).trainable:
        able = [known for known in EDITORS.names() if EDITORS.get(known).trainable]
        raise UserError(f"'{name}' is not trained beforehand", allowed=", ".join(able))
    return name


def _training_cases(choices: dict[str, Any], method: str, heldout: str | None) -> Support:
    """The cases to train on."""
    from curation.case_sources.support import SupportChoice, open_support
    from curation.shipped import named_split
    from evaluation.editors import EDITORS
    from evaluation.runs.refusals import check_support

    where = "what to train on (--support, --facts, --split-file, --store)"
    choice = validate(SupportChoice, choices, where=where)
    support = open_support(choice, None if heldout is None else named_split(heldout))
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
        click.echo(f"  step {step.done} of {step.of}: held out: {held}; {duration(step.left)} left", err=True)

    return tell


_SUBJECT_TO = "Metric that settings must reach, such as em_spec=0.9; repeatable."
_DEVELOPMENT = "a split file, open:dev, mini, shipped, or a name with --store"


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
def tune(
    editors: tuple[str, ...],
    development: str,
    store: Path | None,
    heldout: tuple[str, ...],
    budget: int,
    objective: str,
    subject_to: tuple[str, ...],
    specificity: Path | None,
    seed: int,
    first: int,
    space: Path | None,
    settings: tuple[str, ...],
    model: str,
    device: str,
    dtype: str,
    out: Path,
    as_json: bool,
) -> None:
    """Search settings of methods on development cases, each with the same budget, and print presets.

    A budget of N means N edits; trying one setting on one case is one edit. The method's present preset competes on
    every case. An interrupted search resumes with the next edit. DEV 'shipped' means all facts that come with the
    program and share nothing with the first --heldout split (mini if none is named).
    """
    from curation.shipped import named_split
    from evaluation.models.language_model import LM
    from evaluation.runs.progress import Progress
    from evaluation.tuning.search import search, snippet

    constants = _checked_options(editors, model, settings)
    evaluated = [named_split(name) for name in heldout]
    split = _development_cases(development, store, evaluated)
    names = tuple(name.strip() for name in objective.split(",") if name.strip())
    least = _subject_to(subject_to)
    run = {"model": model, "device": device, "dtype": dtype, "editors": editors, "metrics": (*names, *least)}
    config = _tuning_config(split, specificity, out, run)
    lm = LM.load(model, device=device, dtype=dtype)
    for method in editors:
        result = search(
            method,
            lm,
            split,
            config,
            budget=budget,
            objective=names,
            subject_to=least,
            number=seed,
            first=first,
            space=space,
            constants=constants,
            on_event=Progress(),
        )
        preset = snippet(result, model=model, split=split, number=seed, objective=names, subject_to=least)
        _print_result(result, preset, names, as_json=as_json)
    if not evaluated and not as_json:
        click.echo("No evaluation split was named (--heldout): nothing was checked for shared facts.")


def _checked_options(editors: tuple[str, ...], model: str, settings: tuple[str, ...]) -> dict[str, Any]:
    """Options of ``--set``, which each of these methods has.

    Raises:
        UserError: one does not know an option or its value.
    """
    from evaluation.editors.presets import check_options
    from evaluation.models.loading import model_depth
    from schemas.core.config import override

    options = override({}, settings)
    for method in editors:
        check_options(method, model, options, where=f"--set for '{method}'", depth=model_depth(model))
    return options


def _subject_to(words: tuple[str, ...]) -> dict[str, float]:
    """Shares that metrics must reach, by name.

    Raises:
        UserError: what is written is no metric with a share.
    """
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


def _development_cases(name: str, store: Path | None, evaluated: list[Split]) -> Split:
    from curation.case_sources.opening import SplitChoice, open_split
    from curation.case_sources.support import SupportChoice, open_support, refuse_reserved
    from curation.shipped import mini_split, named_split
    from curation.splits.split_file import make_split
    from evaluation.tuning.search import refuse_evaluated

    if name == "shipped":
        free = open_support(SupportChoice(name="shipped"), evaluated[0] if evaluated else mini_split())
        split = make_split("shipped", free.cases)
    elif store is not None:
        split = open_split(SplitChoice(store=store, name=name))
    else:
        split = named_split(name, allowed=_DEVELOPMENT)
    refuse_reserved(split.all_cases, where=f"--split {name}")
    refuse_evaluated(split, evaluated)
    return split


def _tuning_config(split: Split, specificity: Path | None, out: Path, run: dict[str, Any]) -> RunConfig:
    from evaluation.runs.config import RunConfig

    run = {**run, "metrics": tuple(dict.fromkeys(run["metrics"])), "out": str(out)}
    if specificity is not None:
        run["specificity"] = {"file": str(specificity)}
    return validate(RunConfig, {**run, "split": {"file": str(_save_split(split, out))}}, where="tune")


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
    from curation.case_sources.opening import choose, open_split
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
