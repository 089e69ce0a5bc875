"""The command ``scedit``. Each command's code is imported when it is called, so that help is instant."""

from __future__ import annotations

import importlib
import sys

import click

from schemas.core.errors import UserError
from schemas.core.registry import suggest
from schemas.text.escaping import ShownStream

COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("scedit:demo", "The whole road in some minutes: construct, curate, run, report."),
    "construct": ("construction.cli.construct:construct", "Write script questions, scripts and prompts for facts."),
    "adopt": (
        "construction.cli.construct:adopt",
        "Take questions and scripts written by hand through the same cut and checks.",
    ),
    "prompts": (
        "construction.cli.prompts:prompts",
        "List the prompts for language models, render or copy them.",
    ),
    "yield": ("construction.cli.funnel:yield_", "Count what became of the facts: funnel, reasons, cost."),
    "import": ("curation.cli.items:import_", "Bring facts into a store."),
    "formats": ("curation.cli.formats:formats", "List the file formats that can be read."),
    "defects": ("curation.cli.formats:defects", "Load files and count what is wrong with them."),
    "convert": ("curation.cli.formats:convert", "Write a file's records as our JSONL."),
    "show": ("curation.cli.items:show", "Show one item with its lineage and verdicts."),
    "list": ("curation.cli.items:list_", "List items of a kind."),
    "stats": ("curation.cli.items:stats", "Count what a store holds."),
    "check": ("curation.cli.check:check", "Run model-based checks on what a store holds and has not judged."),
    "doctor": ("evaluation.cli.doctor:doctor", "Say what works with a model, and what cannot and why."),
    "dedup": ("curation.cli.overlap:dedup", "Measure near-duplicates, write verdicts, show clusters."),
    "separate": ("curation.cli.overlap:separate", "Divide a split into parts that share nothing."),
    "overlap": ("curation.cli.overlap:overlap", "Check what two collections share."),
    "split": ("curation.cli.items:split", "Freeze splits, add them to a store, write them to files."),
    "diff": ("curation.cli.releases:diff", "Compare two splits: files, or names in a store."),
    "errata": ("curation.cli.releases:errata", "Keep known faults of items, applied when a split is frozen."),
    "sample": ("curation.cli.releases:sample", "Have people judge a sample of a split."),
    "release": ("curation.cli.releases:release", "Release a split: a version that hides no change."),
    "publish": ("curation.cli.publish:publish", "Write a split as a release: formats, card, Croissant, checksums."),
    "sql": ("curation.cli.store:sql", "Ask a store with SQL, read-only."),
    "backup": ("curation.cli.store:backup", "Copy a store, consistently."),
    "restore": ("curation.cli.store:restore", "Make a store from a backup."),
    "dump": ("curation.cli.store:dump", "Write everything a store holds as JSON lines."),
    "rebuild": ("curation.cli.store:rebuild", "Make a store from a dump."),
    "run": ("evaluation.cli.run:run", "Edit a model and score it on a split."),
    "train": ("evaluation.cli.train:train", "Train a method that must learn first, on cases never evaluated."),
    "reproduce": ("evaluation.cli.reproduce:reproduce", "Published tables beside our own figures."),
    "scripts": ("evaluation.cli.scripts:scripts", "Take the scripts that a run's models wrote out of it."),
    "report": ("evaluation.cli.run:report", "Tables and report.html from finished runs."),
    "forgetting": (
        "evaluation.cli.forgetting:forgetting",
        "What a sequence of edits leaves of its earlier ones.",
    ),
    "judge": ("evaluation.cli.judge:judge", "Have a language model rate generated scripts."),
    "calibrate": ("evaluation.cli.calibrate:calibrate", "What people would say: a judge and a sample they rated."),
    "closed": ("evaluation.cli.api_models:closed", "Edit a model behind a chat endpoint by its prompt (Table 8)."),
    "ability": ("evaluation.cli.ability:ability", "Ask general tasks before and after editing (extra: harness)."),
    "moments": ("evaluation.cli.covariance:moments", "Measure and hand on the statistics that editing methods need."),
    "tune": ("evaluation.cli.tune:tune", "Search a method's settings on a development split, at a stated budget."),
    "annotate": ("annotation_ui.cli.campaigns:annotate", "Have people filter and rate: campaigns, answers, agreement."),
    "editors": ("evaluation.cli.run:editors", "List the editing methods and their settings."),
}


class Lazy(click.Group):
    """A group that knows its commands' names and one-line help without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of the work."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command."""
        if cmd_name not in COMMANDS:
            near = suggest(cmd_name, list(COMMANDS))
            hint = f" Did you mean '{near}'?" if near else ""
            raise click.UsageError(f"No such command '{cmd_name}'.{hint} Commands: {', '.join(COMMANDS)}.", ctx)
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list from the table, not from the imported commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(
    cls=Lazy,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="First look: scedit demo.   One command's help: scedit COMMAND --help",
)
@click.version_option(package_name="scedit", message="%(version)s")
@click.option("-v", "--verbose", count=True, help="Say more on standard error (-vv: everything).")
def cli(verbose: int) -> None:
    """Build, curate, rate and evaluate script-based knowledge-editing benchmarks."""
    import logging

    level = {0: logging.WARNING, 1: logging.INFO}.get(verbose, logging.DEBUG)
    logging.basicConfig(level=level, format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)


DEMO_FACTS = (
    "facts/cf/P36/italy",
    "facts/cf/P36/japan",
    "facts/cf/P37/brazil",
    "facts/cf/P103/leo-tolstoy",
    "facts/cf/P17/colosseum",
    "facts/cf/P17/mount-fuji",
)
DEMO_RUN = """# The demo's run. Change it and go on: scedit run {out}/run.toml
model = "embedded"            # SmolLM2-135M-Instruct; or a folder, or a hub name
editors = ["none", "prompt", "ft", "rome"]
split = {{ store = "{out}/store.duckdb", name = "mini" }}
limit = {{ counterfactual = 9, temporal = 3 }}
out = "{out}/run"
"""


@click.command(epilog="Example: scedit demo --out demo")
@click.option("--out", default="demo", show_default=True, help="Folder for everything that the demo makes.")
def demo(out: str) -> None:
    """Walk the whole road with the embedded model: construct, curate, run, report.

    Each step is a command that you can run yourself; it is shown before it runs. Interrupted, the demo goes on where it
    stopped. No key, GPU or network is needed. The numbers show the machinery, not how methods rank on large models.
    """
    from pathlib import Path

    from curation.loaders import load

    folder, store = Path(out), f"{out}/store.duckdb"
    folder.mkdir(parents=True, exist_ok=True)
    table = load("shipped").facts
    chosen = [f for f in table if f.key in DEMO_FACTS]
    groups = {(f.relation.id, f.old.text) for f in chosen}
    chosen += [
        f for f in table if (f.relation.id, f.old.text) in groups and f not in chosen
    ]  # neighbours are drawn here
    (folder / "facts.jsonl").write_text("".join(f.model_dump_json() + "\n" for f in chosen), encoding="utf-8")
    if not (folder / "run.toml").exists():
        (folder / "run.toml").write_text(DEMO_RUN.format(out=out), encoding="utf-8")
    click.secho("1  Construct: the embedded model writes script questions and scripts for 6 facts", bold=True)
    _step("construct", f"{out}/facts.jsonl", "--store", store, "--model", "embedded", "--limit", "6")
    click.secho("2  Curate: freeze what was kept, add the hand-written split mini", bold=True)
    try:
        _step(
            *("split", "freeze", "constructed", "--store", store),
            *("--set", "prefix=facts/", "--out", f"{out}/split.jsonl"),
        )
    except UserError as error:
        click.echo(f"   Nothing to freeze: {error}")
    _step("split", "add", "mini", "--store", store)
    click.secho("3  Run: edit SmolLM2-135M with four methods, score 12 cases of mini", bold=True)
    _step("run", f"{out}/run.toml")
    click.secho("4  Report", bold=True)
    _step("report", f"{out}/run", "--store", store, "--out", out)
    click.echo(DEMO_END.format(out=out))


DEMO_END = """
Done. Open {out}/report.html: the table, its intervals, the example cases side by side, what was rejected and why.
  store    {out}/store.duckdb    scedit stats --store {out}/store.duckdb
  split    {out}/split.jsonl     one whole case a line, with a digest
  journals {out}/run/            one line a finished case; the same command goes on from there
Next: more cases (take 'limit' out of {out}/run.toml, then scedit run {out}/run.toml), your own facts
(scedit construct --help), another model (--set model=...)."""


def _step(*args: str) -> None:
    """Show a command line, then run it."""
    click.secho("$ scedit " + " ".join(args), fg="cyan")
    cli.main(args=list(args), standalone_mode=False)
    click.echo()


def main() -> None:
    """Run the command line; a user's error becomes one sentence and exit status 1."""
    sys.stdout, sys.stderr = ShownStream(sys.stdout), ShownStream(sys.stderr)
    try:
        cli(standalone_mode=False)
    except UserError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(1)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("Stopped. Finished work is kept: the same command goes on from here.", err=True)
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(0)
    except ModuleNotFoundError as error:
        extra = {"torch": "eval", "transformers": "eval", "jinja2": "eval", "xllamacpp": "local"}.get(error.name or "")
        if not extra:
            raise
        click.echo(f"Error: the package '{error.name}' is not installed; run: pip install 'scedit[{extra}]'", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
