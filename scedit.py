"""The command ``scedit``. Each command's code is imported when it is called, so that help is instant."""

from __future__ import annotations

import importlib
import sys

import click

from schemas.errors import UserError
from schemas.registry import suggest

COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("evaluation.demo:demo", "The whole road in some minutes: construct, curate, run, report."),
    "construct": ("construction.commands:construct", "Write script questions, scripts and prompts for facts."),
    "prompts": ("construction.commands:prompts", "List the prompts for language models, or render one for a fact."),
    "import": ("curation.commands:import_", "Bring facts into a store."),
    "show": ("curation.commands:show", "Show one item with its lineage and verdicts."),
    "list": ("curation.commands:list_", "List items of a kind."),
    "stats": ("curation.commands:stats", "Count what a store holds."),
    "split": ("curation.commands:split", "Freeze splits, add them to a store, write them to files."),
    "run": ("evaluation.commands:run", "Edit a model and score it on a split."),
    "report": ("evaluation.commands:report", "Tables and report.html from finished runs."),
    "editors": ("evaluation.commands:editors", "List the editing methods and their settings."),
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


def main() -> None:
    """Run the command line; a user's error becomes one sentence and exit status 1."""
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
