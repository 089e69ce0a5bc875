"""Commands of construction: construct, prompts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from construction.funnel import Yield
    from construction.pipeline import Progress

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


@click.command()
@click.argument("facts")
@click.option("--store", "-s", "store_path", type=click.Path(path_type=Path), required=True, help="The store to fill.")
@click.option("--format", "format_name", help="Format of FACTS; found from the file.")
@click.option("--skip-bad", is_flag=True, help="Leave bad records out instead of stopping.")
@click.option("--model", default="embedded", show_default=True, help="Model name at the endpoint, or 'embedded'.")
@click.option("--base-url", help="OpenAI-compatible endpoint up to /v1, such as http://127.0.0.1:8000/v1.")
@click.option("--api-key-env", default="OPENAI_API_KEY", show_default=True, help="Environment variable with the key.")
@click.option("--profile", help="Prompts to use; 'embedded' for the embedded model, else 'paper'.")
@click.option("--questions", type=click.IntRange(1, 20), default=4, show_default=True, help="Script questions a fact.")
@click.option("--neighbours", type=click.IntRange(0, 50), default=2, show_default=True, help="Neighbour facts a fact.")
@click.option(
    "--neighbour-questions",
    type=click.IntRange(1, 20),
    default=1,
    show_default=True,
    help="Questions each.",
)
@click.option("--limit", type=click.IntRange(min=1), help="Edit only the first N facts; neighbours from all.")
@click.option("--concurrency", type=click.IntRange(1, 512), help="Calls at once (8; embedded: 1).")
@click.option("--journal", "journal_path", type=click.Path(path_type=Path), help="Replies on record (STORE.llm.jsonl).")
@click.option("--retry-failed", is_flag=True, help="Ask again what was refused or failed for good.")
@click.option("--fsync", is_flag=True, help="Force every reply to the disk: survives a power cut.")
@click.option("--snapshot", type=click.Path(path_type=Path), help="Keep a copy of the store here for readers.")
@click.option("--dry-run", is_flag=True, help="Only count the calls and their rough tokens.")
@_JSON
def construct(
    facts: str,
    store_path: Path,
    format_name: str | None,
    skip_bad: bool,
    model: str,
    base_url: str | None,
    api_key_env: str,
    profile: str | None,
    questions: int,
    neighbours: int,
    neighbour_questions: int,
    limit: int | None,
    concurrency: int | None,
    journal_path: Path | None,
    retry_failed: bool,
    fsync: bool,
    snapshot: Path | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Write script questions, scripts and prompts for FACTS (a file, or 'shipped') with a language model.

    Every reply goes into a journal before it is used, so a run that is stopped or killed goes on when the same
    command is given again, and no reply is paid for twice. The key is read from the environment and written nowhere.

    \b
    Examples:
      scedit construct shipped --store my.duckdb --limit 6
      scedit construct facts.csv --store my.duckdb --model gpt-4o-mini --dry-run
      scedit construct facts.csv --store my.duckdb --model qwen --base-url http://127.0.0.1:8000/v1
    """  # noqa: D301 - click needs the real backspace
    from construction.estimate import estimate
    from construction.pipeline import Plan, lay_out
    from construction.session import Session, run
    from curation.loaders import load

    loaded = load(facts, format_name)
    for problem in loaded.problems if skip_bad else [p for p in loaded.problems if not p.lost]:
        click.echo(f"{problem.where}: {problem.kind}: {problem.what}", err=True)
    table = loaded.require(skip_bad=skip_bad)
    embedded = model == "embedded" and base_url is None
    plan = Plan(
        profile=profile or ("embedded" if embedded else "paper"),
        questions=questions,
        neighbours=neighbours,
        neighbour_questions=neighbour_questions,
        batch=2 if embedded else 20,
    )
    edits = [f for f in table if f.new is not None][:limit]
    if not edits:
        raise click.UsageError("none of the facts has a new object: there is nothing to edit")
    work = lay_out(edits, table, plan)
    if dry_run:
        expected = estimate(work, plan)
        click.echo(expected.model_dump_json() if as_json else expected.sentence())
        return
    session = Session(
        store=store_path,
        journal=journal_path or store_path.with_name(f"{store_path.name}.llm.jsonl"),
        model=model,
        base_url=base_url,
        key_name=api_key_env,
        concurrency=concurrency or (1 if embedded else 8),
        embedded=embedded,
        retry_failed=retry_failed,
        fsync=fsync,
        snapshot=snapshot,
    )
    try:
        result = run(session, work, plan, origin=facts, progress=_show)
    except KeyboardInterrupt:
        click.echo("Interrupted: finished work is kept. Give the same command again to go on.", err=True)
        raise SystemExit(130) from None
    click.echo(result.model_dump_json() if as_json else _table(result, store_path))
    if result.unfinished:
        click.echo(f"{result.unfinished} facts wait for an answer: give the same command again.", err=True)
        raise SystemExit(1)


def _show(progress: Progress) -> None:
    click.echo(
        f"{progress.done}/{progress.total} facts, {progress.kept} questions kept, {progress.calls} calls made", err=True
    )


def _table(y: Yield, store: Path) -> str:
    """The funnel as text: what was kept, and why the rest was not, with one example each."""
    from construction.funnel import PAPER_EARLY, PAPER_FILTERED

    share = [f"{100 * n / y.asked if y.asked else 0:5.1f} %" for n in (y.kept, y.unsure, y.rejected)]
    lines = [
        f"{y.facts} facts ({y.edits} to edit), {y.facts_kept} with at least one kept prompt; {y.calls} calls made.",
        f"{y.questions} questions, {y.scripts} scripts, {y.prompts} prompts written, rejected attempts included.",
        "",
        f"  asked for   {y.asked:6d}",
        f"  kept        {y.kept:6d}  {share[0]}",
        f"  unsure      {y.unsure:6d}  {share[1]}  for people to decide",
        f"  rejected    {y.rejected:6d}  {share[2]}  (the paper filtered {PAPER_FILTERED} %)",
        f"  cut early   {y.early:6d}  {y.early_percent:5.1f} %  of prompts, in step 1 (the paper: {PAPER_EARLY} %)",
    ]
    if y.links:
        lines.append(f"  neighbours  {y.links:6d}  links, {y.links_kept} with a prompt that fits")
    if y.reasons:
        lines += ["", "Why, with one example each:"]
        for r in y.reasons:
            lines.append(f"  {r.count:5d}  {r.label:6s}  {r.check} ({r.stage}): {r.reason}")
            lines.append(f"                 {_clip(r.example)}")
    if y.quality:
        lines += [
            "",
            f"This text is of {y.quality} quality: a small model shows that the road works, no more.",
        ]
    lines += ["", f"Stored in {store}. Next: scedit stats --store {store}"]
    return "\n".join(lines)


def _clip(text: str, length: int = 100) -> str:
    text = " / ".join(text.split("\n"))
    return text if len(text) <= length else text[: length - 3] + "..."


@click.command()
@click.option("--profile", help="Only this profile.")
@click.option("--fact", "fact_path", help="Render the prompts for the first fact of this file (or 'shipped').")
@click.option("--key", help="With --fact: the fact with this key instead.")
@_JSON
def prompts(profile: str | None, fact_path: str | None, key: str | None, as_json: bool) -> None:
    """List the prompts of construction, or show them filled in for a fact.

    \b
    Examples:
      scedit prompts
      scedit prompts --profile paper --fact shipped
    """  # noqa: D301 - click needs the real backspace
    from construction.preview import listing, rendered

    if fact_path is None:
        for row in listing(profile):
            click.echo(
                json.dumps(row) if as_json else "{label:24} {task:10} {profile:10} {shape:6} {path}".format(**row)
            )
        return
    from curation.loaders import load
    from schemas.errors import UserError

    facts = load(fact_path).facts
    chosen = next((f for f in facts if key is None or f.key == key), None)
    if chosen is None:
        raise UserError(f"no fact '{key or ''}'", where=fact_path, fix="see the keys with: scedit list fact")
    for row in rendered(chosen, profile):
        click.echo(json.dumps(row, ensure_ascii=False) if as_json else "== {label}, {role}\n{content}\n".format(**row))


@click.command()
@click.argument("cases", type=click.Path(path_type=Path))
@click.option("--store", "-s", "store_path", type=click.Path(path_type=Path), required=True, help="The store to fill.")
@click.option("--source", default="written by hand", show_default=True, help="Name of the source, kept with each fact.")
@click.option("--licence", default="not stated", show_default=True, help="Licence, kept with each fact.")
@_JSON
def adopt(cases: Path, store_path: Path, source: str, licence: str, as_json: bool) -> None:
    """Take CASES (JSONL of facts, questions and scripts written by hand or elsewhere) through the same cut and checks.

    One case a line, in the shape of the shipped mini/source.jsonl: key, kind, relation, subject, prompt, paraphrases,
    old, new, changed_on, questions ({question, steps}) and neighbours ({subject, prompt, object, question, steps}).

    Example: scedit adopt mine.jsonl --store my.duckdb --source "our lab" --licence CC-BY-4.0
    """
    from construction.authored import adopt as take
    from construction.authored import keep
    from schemas.facts import Source

    adopted = take(cases, source=Source(name=source, licence=licence))
    keep(adopted, store_path, origin=str(cases))
    bad = [v for v in adopted.verdicts if v.label != "keep"]
    if as_json:
        reasons = [{"check": v.by, "label": v.label, "reason": v.reason, "item": v.item_id} for v in bad]
        click.echo(json.dumps({"cases": adopted.cases, "records": len(adopted.records), "not_kept": reasons}))
        return
    judged = f"{len(bad)} of {len(adopted.verdicts)} verdicts are not 'keep'"
    click.echo(f"{adopted.cases} cases, {len(adopted.records)} records; {judged}.")
    for v in bad[:20]:
        click.echo(f"  {v.label:6s}  {v.check}: {v.reason}")
    click.echo(f"Next: scedit split freeze NAME --store {store_path}")
