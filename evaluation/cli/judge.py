"""The commands ``judge``, ``results calibrate`` and ``results extract-scripts``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from construction.llm.cli_options import (
    calls_in_words,
    journal_of,
    journal_option,
    model_options,
    refuse_unanswered,
)
from curation.cli.options import (
    editors_option,
    json_option,
    json_options,
    limit_option,
    seed_option,
    shared_option,
    store_option,
    writes,
)
from schemas.core.errors import UserError
from schemas.text.counting import counted
from schemas.text.status_line import StatusLine

if TYPE_CHECKING:
    from construction.llm.endpoint import Access
    from evaluation.judge.inputs import JudgeInput
    from evaluation.judge.judging import JudgeOptions, JudgeResult
    from schemas.generated_scripts import GeneratedScript


_FILE = click.Path(path_type=Path)
_ASPECTS = ("executability", "coherence", "consistency", "completeness")
_RUBRICS = ("script", "tendency", "consistency")
_PROFILE = "Wording: paper, evidence (quotes first) or embedded. Default: embedded for the embedded model, else paper."


@click.command(epilog="Example: scedit judge my.duckdb --model gpt-4.1 --max-cost 20 --dry-run")
@click.argument("store_or_run", type=_FILE)
@shared_option("--rubric", type=click.Choice(_RUBRICS), also="Default: scripts, or answers where there are none.")
@click.option("--profile", help=_PROFILE)
@click.option("--aspect", "aspects", multiple=True, type=click.Choice(_ASPECTS), help="Only this aspect; repeatable.")
@editors_option(also="Only their scripts.")
@click.option("--samples", type=click.IntRange(1, 50), default=1, show_default=True, help="Replies to each question.")
@click.option(
    "--temperature",
    type=click.FloatRange(0.01, 2.0),
    default=1.0,
    show_default=True,
    help="Sampling temperature where --samples is more than 1.",
)
@click.option(
    "--retest", type=click.FloatRange(0, 1), default=0.05, show_default=True, help="Share of scripts asked twice."
)
@click.option(
    "--control-items/--no-control-items",
    default=True,
    show_default=True,
    help="Also ask about control items, whose ratings are known.",
)
@limit_option(also="scripts, drawn by their ids: the same ones for every judge.")
@seed_option(also="Another one draws other scripts.")
@click.option("--show-only", is_flag=True, help="Ask nothing; show what the store holds.")
@journal_option
@shared_option("--dry-run", is_flag=True, also="Calls, rough tokens and cost.")
@model_options
@json_option
def judge(
    store_or_run: Path,
    rubric: str | None,
    profile: str | None,
    aspects: tuple[str, ...],
    editors: tuple[str, ...],
    samples: int,
    temperature: float,
    retest: float,
    control_items: bool,
    limit: int | None,
    seed: int,
    show_only: bool,
    journal_path: Path | None,
    dry_run: bool,
    access: Access,
    as_json: bool,
) -> None:
    """Have a language model rate the generated scripts, or the open answers about events, of STORE_OR_RUN.

    Scripts are rated on the paper's four aspects from 1 to 7, one call each. Open answers in scope are rated on four
    aspects from 1 to 5 in one call, those out of scope beside the answer before the edit.

    The judge does not see the method. Its ratings are stored beside those of people. Unusable replies, false quotes,
    ratings off the scale and refusals are unscored: counted, bounded, never imputed. Every reply is journaled before it
    is used, so an interrupted command resumes and pays for nothing twice. The texts of a run folder are put into the
    store that the run wrote to or, without one, into scripts.duckdb in the folder.

    \b
    Examples:
      scedit judge my.duckdb --model gpt-4.1 --dry-run
      scedit judge my.duckdb --model qwen --base-url http://127.0.0.1:8000/v1 --profile evidence --samples 5
      scedit judge my.duckdb --show-only
    """  # noqa: D301 - click needs the real backspace
    from evaluation.judge.inputs import sample_inputs, scripts_store
    from evaluation.judge.judging import JudgeOptions, run_judge

    store = scripts_store(store_or_run)
    how: dict[str, Any] = {
        "profile": profile or ("embedded" if access.embedded else "paper"),
        "aspects": aspects or _ASPECTS,
    }
    how |= {"samples": samples, "temperature": temperature, "retest": retest}
    options = JudgeOptions.model_validate(how)
    asks = _choose_inputs(store, rubric, aspects, editors)
    asks = sample_inputs(asks, limit, number=seed)
    if dry_run:
        _tell_price(journal_path or journal_of(store), asks, options, access, control_items, as_json=as_json)
        return
    outcome = None
    if not show_only:
        line = StatusLine()
        told, journal = partial(_print_progress, line), journal_path or journal_of(store)
        outcome = run_judge(store, journal, asks, options, access, with_controls=control_items, on_progress=told)
        line.end()
    _report(store, asks, outcome, access, as_json=as_json)
    refuse_unanswered(outcome.waiting if outcome is not None else 0, "rating")


def _choose_inputs(
    store: Path, rubric: str | None, aspects: tuple[str, ...], editors: tuple[str, ...]
) -> list[JudgeInput]:
    """The texts of a store that are to be rated; of some methods only, where they are named."""
    from curation.store.store import Store
    from evaluation.judge.inputs import texts_to_rate
    from schemas.core.registry import suggest

    with Store.open(store) as opened:
        asks = texts_to_rate(opened, rubric)
    if not asks:
        raise UserError(
            "the store has no generated scripts",
            where=str(store),
            fix="put a run's there: scedit results extract-scripts RUN --store STORE",
        )
    if aspects and not _are_scripts(asks):
        raise UserError("an open answer is rated on all aspects in one call", where="--aspect", fix="leave it out")
    there = sorted({a.editor for a in asks})
    for name in editors:
        if name not in there:
            near = suggest(name, there)
            fix = f"did you mean '{near}'?" if near else None
            what = "script" if _are_scripts(asks) else "open answer"
            raise UserError(f"no {what} is of the method '{name}'", allowed=", ".join(there), fix=fix)
    return [a for a in asks if not editors or a.editor in editors]


def _are_scripts(asks: Sequence[JudgeInput]) -> bool:
    return asks[0].fact is not None


def _tell_price(
    journal: Path,
    asks: Sequence[JudgeInput],
    options: JudgeOptions,
    access: Access,
    control_items: bool,
    *,
    as_json: bool,
) -> None:
    from evaluation.judge.judging import estimate

    price = estimate(journal, asks, options, access, with_controls=control_items)
    if as_json:
        click.echo(json.dumps(price._asdict()))
        return
    left = f" ({price.not_asked} hold nothing to rate and are not asked about)" if price.not_asked else ""
    calls = calls_in_words(price.calls, price.tokens_in, price.tokens_out, price.cost)
    what = "script" if _are_scripts(asks) else "open answer"
    click.echo(f"{counted(price.scripts, what)}{left}: {calls}. Cached replies are not asked for again.")
    if price.advice:
        click.echo(price.advice)


def _print_progress(line: StatusLine, done: int, total: int, unscored: int, spent: str) -> None:
    text = f"{done:,} of {counted(total, 'rating')}, {unscored} unscored; {spent}"
    line.show(text, last=done == total)


def _report(
    store: Path,
    asks: Sequence[JudgeInput],
    outcome: JudgeResult | None,
    access: Access,
    *,
    as_json: bool,
) -> None:
    from curation.store.store import Store
    from evaluation.judge.model_families import family_conflicts
    from evaluation.judge.ratings import question_authors, rated_scripts
    from evaluation.judge.summary import as_data, summarise_ratings
    from evaluation.report.judge_tables import summary_text
    from schemas.ratings import SCRIPT

    with Store.open(store) as opened:
        ratings = rated_scripts(opened, [a.item for a in asks])
        authors = question_authors(opened)
    judges = {g.line.model for g in ratings if g.line and g.line.model and g.rater.is_judge}
    judges |= {access.label} if outcome is not None else set()
    flagged = [
        f for j in sorted(judges) for f in family_conflicts(j, writers=[a.writer for a in asks], authors=authors)
    ]
    rubrics = {a.rubric.name: a.rubric for a in asks}
    summaries = {
        name: summarise_ratings(
            ratings,
            [a for a in asks if a.rubric is rubric],
            rubric=rubric,
        )
        for name, rubric in rubrics.items()
    }
    if as_json:
        data = {name: as_data(summary, outcome, flagged) for name, summary in summaries.items()}
        click.echo(json.dumps(data.get(SCRIPT.name, data), ensure_ascii=False))
        return
    for place, summary in enumerate(summaries.values()):
        click.echo(
            ("\n" if place else "") + summary_text(summary, None if place else outcome, () if place else flagged)
        )
    what = "scripts" if _are_scripts(asks) else "answers"
    click.echo(
        f"Ratings are in {store}. People rate the same {what}: scedit annotate. Then: scedit results calibrate {store}"
    )


_WIDTH = "Also say how many scripts people must rate for an interval of ± this, in points."


@click.command(epilog="Example: scedit results calibrate my.duckdb --judge gpt-4.1 --width 0.2 --against none")
@click.argument("store_or_run", type=_FILE)
@shared_option("--rubric", type=click.Choice(_RUBRICS), also="Default: scripts, or answers where there are none.")
@click.option("--judge", help="Judge to calibrate, by its name in ratings; not needed if there is only one.")
@click.option(
    "--people",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="People who must have rated a script.",
)
@click.option("--width", type=click.FloatRange(min=0, min_open=True), help=_WIDTH)
@click.option("--against", metavar="LABEL", help="Compare all methods with this one, instead of all pairs.")
@json_option
def calibrate(
    store_or_run: Path,
    rubric: str | None,
    judge: str | None,
    people: int,
    width: float | None,
    against: str | None,
    as_json: bool,
) -> None:
    """Estimate human ratings of all scripts, or open answers, of STORE_OR_RUN, from a judge and a human-rated sample.

    The estimate is prediction-powered (PPI++): the judge's mean over all scripts, corrected by the difference between
    people and judge on the sample. People alone and the judge alone are shown too. Only ratings with a recorded
    sampling probability count (scedit annotate new --percent); decisions of a lead do not.
    """
    from curation.store.store import Store
    from evaluation.judge.calibration import CalibrationRequest, as_data, calibrate_judge
    from evaluation.judge.inputs import scripts_store, texts_to_rate
    from evaluation.judge.ratings import control_labels, rated_scripts
    from evaluation.report.judge_tables import calibration_text
    from schemas.ratings import RUBRICS, TENDENCY

    with Store.open(scripts_store(store_or_run)) as opened:
        asks = texts_to_rate(opened, rubric)
        name = rubric or (asks[0].rubric.name if asks else TENDENCY.name)
        ratings = rated_scripts(opened, [a.item for a in asks])
        control_names = control_labels(opened, asks)
    request = CalibrationRequest(judge, people, width, against, RUBRICS[name], control_names)
    calibration = calibrate_judge(ratings, asks, request)
    click.echo(json.dumps(as_data(calibration), ensure_ascii=False) if as_json else calibration_text(calibration))


@click.command(
    epilog="Example: scedit results extract-scripts runs/mine --store my.duckdb --out runs/mine/scripts.jsonl"
)
@click.argument("run", type=_FILE)
@click.option("--out", type=_FILE, help="JSONL file of the scripts; scripts.jsonl in the run's folder otherwise.")
@store_option("store", required=False, also="The scripts are put into it too.")
@editors_option(also="Only their scripts.")
@writes("out")
@json_options
def extract_scripts(run: Path, out: Path | None, store: Path | None, editors: tuple[str, ...], as_json: bool) -> None:
    """Extract the scripts that were generated in RUN (a run's folder) from its journal.

    `scedit annotate add-scripts` and `scedit judge` read the file. A store must hold the split's facts and questions
    already.
    """
    from evaluation.runs.generated_scripts import generation_of, scripts_of_run, write_scripts
    from evaluation.runs.results import load_run

    finished = load_run(run)
    sources = scripts_of_run(finished, list(editors))
    target = out or run / "scripts.jsonl"
    write_scripts(sources, target)
    fresh = None
    if store is not None:
        from curation.store.store import Store
        from evaluation.runs.generated_scripts import store_scripts

        with Store.open(store, write=True) as opened:
            try:
                fresh = store_scripts(sources, opened, generation_of(finished))[1]
            except UserError as error:
                raise UserError(
                    f"the store lacks what the scripts belong to: {error}",
                    where=str(store),
                    fix="name the store that the split came from",
                ) from None
    _print_result([w.script for w in sources], target, fresh, as_json=as_json)


def _print_result(scripts: list[GeneratedScript], target: Path, fresh: int | None, *, as_json: bool) -> None:
    for label in dict.fromkeys(s.editor for s in scripts):
        scripts_of_label = [s for s in scripts if s.editor == label]
        row = {
            "editor": label,
            "scripts": len(scripts_of_label),
            "without_steps": sum(not s.steps for s in scripts_of_label),
            "refused": sum(s.refused for s in scripts_of_label),
        }
        if as_json:
            click.echo(json.dumps({**row, "file": str(target)}, ensure_ascii=False))
        else:
            odd = f"{row['without_steps']} without steps, {row['refused']} refused"
            click.echo(f"{label}: {counted(len(scripts_of_label), 'script')}, {odd}")
    if not as_json:
        new = "" if fresh is None else f"; {fresh} new in the store"
        click.echo(f"Written to {target}{new}. Next: scedit annotate add-scripts, scedit judge")
