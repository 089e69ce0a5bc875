"""The command ``scedit``: a table of commands. Each command's code is imported when it is called."""

from __future__ import annotations

import logging
import sys

import click

from scedit.command_table import Command, Group, LazyGroup
from schemas.core.errors import MissingPackage, UserError, one_line
from schemas.text.escaping import EscapingStream

COMMANDS: dict[str, Command | Group] = {
    "demo": Command("evaluation.cli.demo:demo", "Run the full pipeline on a laptop: construct, curate, run, report."),
    "construct": Command(
        "construction.cli.construct:construct", "Have a language model write questions, scripts and prompts for facts."
    ),
    "prompts": Command("construction.cli.prompts:prompts", "List, render or copy the prompts for language models."),
    "data": Group("Import facts and texts, and check files first.", "data import shipped --store my.duckdb"),
    "data import": Command("curation.cli.data:import_", "Import facts into a store."),
    "data import-scripts": Command(
        "construction.cli.construct:import_scripts",
        "Import hand-written questions and scripts, checked like generated ones.",
    ),
    "data construct-events": Command(
        "construction.cli.construct_others:construct_events",
        "Build events and questions from templates and topics.",
    ),
    "data construct-documents": Command(
        "construction.cli.construct_others:construct_documents",
        "Have a model write probes of three levels about documents.",
    ),
    "data construct-hops": Command(
        "construction.cli.construct_others:construct_hops",
        "Build edits whose scripts need one step further, from tables.",
    ),
    "data specificity": Command(
        "evaluation.cli.specificity:specificity",
        "Draw questions that a model answers before any edit.",
    ),
    "data formats": Command("curation.cli.data:formats", "List the file formats that can be read."),
    "data audit": Command("curation.cli.data:audit", "Load files and count what is wrong with them."),
    "data convert": Command("curation.cli.data:convert", "Write a file's records as JSONL of this toolkit."),
    "store": Group("Look into a store, check it, and keep it safe.", "store stats --store my.duckdb"),
    "store list": Command("curation.cli.items:list_", "List items of a kind."),
    "store show": Command("curation.cli.items:show", "Show one item with its lineage and verdicts."),
    "store prompts": Command("curation.cli.items:prompts", "Show a split's cases as text."),
    "store stats": Command("curation.cli.items:stats", "Count what a store holds."),
    "store funnel": Command("construction.cli.funnel:funnel", "Account for every fact: funnel, reasons, cost."),
    "store check": Command("curation.cli.check:check", "Run model-based checks on items that have no verdict yet."),
    "store confirm": Command("curation.cli.items:confirm", "Confirm stale records for the content as it is now."),
    "store dedup": Command("curation.cli.overlap:dedup", "Measure near-duplicates, write verdicts, show clusters."),
    "store sql": Command("curation.cli.items:sql", "Query a store with SQL (read-only)."),
    "store merge": Command("curation.cli.items:merge", "Merge another store into one."),
    "store backup": Command("curation.cli.items:backup", "Copy a store consistently."),
    "store restore": Command("curation.cli.items:restore", "Restore a store from a backup."),
    "store dump": Command("curation.cli.items:dump", "Write everything a store holds as JSON lines."),
    "store rebuild": Command("curation.cli.items:rebuild", "Rebuild a store from a dump."),
    "split": Group("Freeze, compare, release and publish splits.", "split freeze mine --store my.duckdb"),
    "split freeze": Command("curation.cli.splits:freeze", "Freeze a store's kept items as a split."),
    "split add": Command("curation.cli.splits:add", "Add a frozen split and its records to a store."),
    "split export": Command("curation.cli.splits:export", "Write a split to a file, also in formats of other tools."),
    "split explain": Command("curation.cli.splits:explain", "Say why an item is in a split or not."),
    "split diff": Command("curation.cli.releases:diff", "Compare two splits: files, or names in a store."),
    "split errata": Group(
        "Record known faults of items, applied when a split is frozen.",
        'split errata add facts/cf/P36/france "wrong capital" --errata errata.jsonl',
    ),
    "split errata add": Command("curation.cli.releases:errata_add", "Add an erratum to a file."),
    "split errata withdraw": Command("curation.cli.releases:errata_withdraw", "Take back errata; they stay stored."),
    "split errata list": Command("curation.cli.releases:errata_list", "List errata, and whether they still apply."),
    "split sample": Group(
        "Have people judge a random sample of a split.",
        "split sample draw mine --store my.duckdb",
    ),
    "split sample draw": Command("curation.cli.releases:draw", "Draw a sample and keep it in the store."),
    "split sample report": Command("curation.cli.releases:report", "Report acceptance and agreement."),
    "split partition": Command("curation.cli.overlap:partition", "Divide a split into parts that share nothing."),
    "split overlap": Command("curation.cli.overlap:overlap", "Check what two collections share."),
    "split release": Command("curation.cli.releases:release", "Release a split with a checked version number."),
    "split publish": Command(
        "curation.cli.splits:publish", "Write a release for publication: formats, card, Croissant, checksums."
    ),
    "split push": Command("curation.cli.hub:push", "Send a published release to a hub, or list what would be sent."),
    "annotate": Group(
        "Have people filter and rate: campaigns, answers, agreement.",
        "annotate new pilot --task filter_question --store my.duckdb --ratings r.sqlite",
    ),
    "annotate tasks": Command("annotation_ui.cli.campaigns:tasks", "List the tasks and their form versions."),
    "annotate new": Command("annotation_ui.cli.campaigns:new", "Create a campaign, or add new items to one."),
    "annotate invite": Command("annotation_ui.cli.campaigns:invite", "Invite raters and leads."),
    "annotate assign": Command("annotation_ui.cli.campaigns:assign", "Assign a campaign's items to the raters."),
    "annotate sheets": Command(
        "annotation_ui.cli.campaigns:sheets", "Write a sheet for each rater, to answer offline."
    ),
    "annotate status": Command("annotation_ui.cli.campaigns:status", "Show each rater's progress."),
    "annotate serve": Command("annotation_ui.cli.serve:serve", "Serve the rating app on this machine."),
    "annotate label-studio": Group(
        "Filter and rate in Label Studio instead of the rating app.", "annotate label-studio push"
    ),
    "annotate label-studio invite": Command("annotation_ui.cli.label_studio:invite", "Make accounts for raters."),
    "annotate label-studio push": Command("annotation_ui.cli.label_studio:push", "Send a campaign's items there."),
    "annotate label-studio pull": Command("annotation_ui.cli.label_studio:pull", "Fetch annotations from there."),
    "annotate links": Command("annotation_ui.cli.campaigns:links", "Write a personal link for each rater (CSV)."),
    "annotate participants": Command(
        "annotation_ui.cli.campaigns:participants", "List raters in the form that crowd services ask for."
    ),
    "annotate add-scripts": Command("annotation_ui.cli.results:add_scripts", "Add generated scripts to a store."),
    "annotate import": Command("annotation_ui.cli.results:import_", "Import a campaign's answers into the store."),
    "annotate agreement": Command("annotation_ui.cli.results:agreement", "Measure agreement between raters."),
    "annotate disagreements": Command("annotation_ui.cli.results:disagreements", "List items that raters disagree on."),
    "annotate strengths": Command("annotation_ui.cli.results:strengths", "Show method strengths from comparisons."),
    "annotate gold": Command("annotation_ui.cli.results:gold", "Write settled items as training items."),
    "annotate forget": Command("annotation_ui.cli.campaigns:forget", "Delete a rater with all answers."),
    "judge": Command("evaluation.cli.judge:judge", "Have a language model rate generated scripts."),
    "run": Command("evaluation.cli.run:run", "Edit a model and score it on a split."),
    "edit": Command("evaluation.cli.edit:edit", "Edit facts into a model and save it, or as a LoRA adapter."),
    "report": Command("evaluation.cli.run:report", "Write tables and report.html from finished runs."),
    "results": Group("Analyse finished runs further.", "results extract-scripts runs/mine --store my.duckdb"),
    "results extract-scripts": Command(
        "evaluation.cli.judge:extract_scripts", "Extract the scripts that a run's models wrote."
    ),
    "results calibrate": Command(
        "evaluation.cli.judge:calibrate", "Estimate human ratings from a judge and a human-rated sample."
    ),
    "results forgetting": Command(
        "evaluation.cli.results:forgetting", "Show how much earlier edits are forgotten in a sequence."
    ),
    "results item-analysis": Command(
        "evaluation.cli.results:item_analysis", "Show which cases of a run discriminate between methods."
    ),
    "results cases": Command(
        "evaluation.cli.results:cases", "Say how many cases a difference between two methods needs."
    ),
    "results merge": Command("evaluation.cli.results:merge", "Join the parts of a run (run --part i/n)."),
    "results table": Command(
        "evaluation.cli.results:table", "Write all answers, scores and figures as Parquet tables."
    ),
    "results push": Command("evaluation.cli.results:push_results", "Send the tables of runs to a hub."),
    "results view": Command("evaluation.cli.results:view", "Write one page to look through all written answers."),
    "results reproduce": Command("evaluation.cli.reproduce:reproduce", "Compare runs with published tables."),
    "model": Group("Inspect models and editing methods, and prepare them.", "model doctor embedded"),
    "model fetch": Command("curation.cli.model_files:fetch", "Fetch a language model's file, once, and check it."),
    "model doctor": Command("evaluation.cli.model:doctor", "Report what works with a model, and what cannot and why."),
    "model editors": Command("evaluation.cli.run:editors", "List the editing methods and their settings."),
    "model metrics": Command("evaluation.cli.run:metrics", "List the metrics and what each measures."),
    "model push": Command("evaluation.cli.results:push_model", "Send a saved edit or a pack to a hub."),
    "model covariance": Group(
        "Measure, load and show the covariances of keys that locate-and-edit methods need.",
        "model covariance compute --model embedded --layers 4-8",
    ),
    "model covariance compute": Command("evaluation.cli.covariance:compute", "Measure layers; write them to a file."),
    "model covariance load": Command("evaluation.cli.covariance:load", "Load such a file into this machine's cache."),
    "model covariance show": Command("evaluation.cli.covariance:show", "Show what a file or the cache holds."),
    "model train": Command(
        "evaluation.cli.model:train", "Train a method that needs training, on cases never evaluated."
    ),
    "model tune": Command("evaluation.cli.model:tune", "Search a method's settings at a fixed budget."),
    "model general-ability": Command(
        "evaluation.cli.model:general_ability", "Run general benchmarks before and after editing."
    ),
}
STAGES = {
    "Start": ("demo",),
    "Build": ("construct", "prompts", "data"),
    "Curate": ("store", "split"),
    "Annotate": ("annotate", "judge"),
    "Evaluate": ("run", "edit", "report", "results", "model"),
}


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    stages=STAGES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="First look: scedit demo.   Help of a command or group: scedit COMMAND --help",
)
@click.version_option(package_name="scedit", message="%(version)s")
@click.option("-v", "--verbose", count=True, help="Say more on standard error (-vv: everything).")
def cli(verbose: int) -> None:
    """Build, curate, rate and evaluate script-based knowledge-editing benchmarks."""
    level = {0: logging.WARNING, 1: logging.INFO}.get(verbose, logging.DEBUG)
    logging.basicConfig(level=level, format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)


_EVAL = "torch transformers safetensors accelerate peft bm25s pandas psutil altair vl_convert narwhals tqdm"
EXTRAS = dict.fromkeys(_EVAL.split(), "eval") | {
    "spacy": "parse",
    "ray": "ray",
    "lm_eval": "harness",
    "streamlit": "annotate",
    "label_studio_sdk": "label-studio",
    "xllamacpp": "local",
    "gguf": "local",
}
"""The extra that brings a package, by the name under which it is imported."""


def main() -> None:
    """Run the command line; a user's error becomes one sentence and its exit status (1, or that of the signal)."""
    sys.stdout, sys.stderr = EscapingStream(sys.stdout), EscapingStream(sys.stderr)
    try:
        cli(standalone_mode=False)
    except UserError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(error.exit_status)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt) as error:
        declined = isinstance(error, click.Abort) and error.__cause__ is None  # a question was not answered with yes
        kept = "Finished work is kept: the same command resumes from here."
        click.echo("Nothing was changed." if declined else f"Stopped. {kept}", err=True)
        sys.exit(1 if declined else 130)
    except BrokenPipeError:
        sys.exit(0)
    except ModuleNotFoundError as error:
        extra = EXTRAS.get(error.name or "")
        if not extra:
            click.echo(f"Error: {one_line(error)}", err=True)
            sys.exit(1)
        click.echo(f"Error: {MissingPackage(str(error.name), extra=extra)}", err=True)
        sys.exit(1)
    except Exception as error:
        if logging.getLogger().isEnabledFor(logging.INFO):
            raise
        click.echo(f"Error: {one_line(error)}; mend that file, or add -v after 'scedit' for the traceback", err=True)
        sys.exit(1)
