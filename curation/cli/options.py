"""Options that several commands share: one idea, one name, one help text.

This is the one module of a ``cli`` folder that other packages' ``cli`` folders may import (as they may import all of
curation below them). A command adds what is its own to the shared text with ``also``; it never says it in other words.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from curation.splits.split_file import Split
    from curation.store.import_sources import SourceUpdate
    from curation.store.store import Store

F = TypeVar("F", bound=Callable[..., Any])
PATH = click.Path(path_type=Path)
TEXTS = {
    "--store": "The store (a DuckDB file).",
    "--editors": "Editing methods, by label or name; divided by commas or given again.",
    "--heldout": "Split that will be evaluated (mini, open:test, or a split file); nothing may be shared with it.",
    "--seed": "Seed of the random draw.",
    "--metrics": "Only these metrics, by name.",
    "--limit": "Take at most this many:",
    "--json": "Print one JSON value instead of text.",
    "--jsonl": "Print JSON lines instead of text.",
    "--set": "Override a setting; repeatable.",
    "--device": "Where to compute: auto, cpu, cuda, cuda:1 ...",
    "--dtype": "Precision: float32, tf32 (float32 whose products a CUDA device rounds), bfloat16 or float16.",
    "--dry-run": "Only count what would be done; write nothing.",
    "--format": "Format of the file.",
    "--split-file": "A frozen split file.",
    "--rule": "TOML file with a [rule] table.",
    "--rubric": "What is rated: scripts, open answers about events (tendency), or pairs of them (consistency).",
    "--errata": "File of known faults (JSONL), as scedit split errata add writes it.",
    "--resamples": "Bootstrap resamples for the intervals.",
    "--retry-failed": "Try again what failed.",
    "--force": "Replace an output that another command wrote or that was changed since.",
}


def shared_option(name: str, *declarations: str, also: str = "", **attrs: Any) -> Callable[[F], F]:
    """A click option with the text that it has everywhere, and what this command adds to it."""
    return click.option(name, *declarations, help=f"{TEXTS[name]} {also}".strip(), **attrs)


def store_option(param: str = "store_path", *, required: bool = True, also: str = "") -> Callable[[F], F]:
    """``--store``, ``-s``; ``param`` is the parameter's name."""
    return shared_option("--store", "-s", param, type=PATH, required=required, also=also)


def editors_option(*, required: bool = False, default: str = "", also: str = "") -> Callable[[F], F]:
    """``--editors``: the parameter ``editors``, a tuple of names without repetition; empty where none is given."""
    return shared_option(
        "--editors",
        multiple=True,
        required=required,
        metavar="A,B",
        default=(default,) if default else (),
        show_default=bool(default),
        callback=lambda context, option, values: names_of(values),
        also=also,
    )


def names_of(values: tuple[str, ...]) -> tuple[str, ...]:
    """Names out of values that may hold several, divided by commas.

    Raises:
        BadParameter: a value names nothing.

    Example:
        >>> names_of(("rome,ft", " memit "))
        ('rome', 'ft', 'memit')
    """
    names: dict[str, None] = {}
    for value in values:
        parts = [part.strip() for part in value.split(",") if part.strip()]
        if not parts:
            raise click.BadParameter("names no method")
        names |= dict.fromkeys(parts)
    return tuple(names)


def one_editor(editors: tuple[str, ...]) -> str:
    """The method of a command that takes exactly one.

    Raises:
        UsageError: none or several.
    """
    if len(editors) != 1:
        raise click.UsageError(f"--editors takes exactly one method here, not {len(editors)}")
    return editors[0]


def heldout_option(*, multiple: bool = False) -> Callable[[F], F]:
    """``--heldout``: the parameter ``heldout``, a split's name or file; several with ``multiple``."""
    return shared_option("--heldout", metavar="SPLIT", multiple=multiple)


def writes(*files: str, folders: tuple[str, ...] = ()) -> Callable[[F], F]:
    """Guard a command's outputs and give it ``--force``; every other file that it is given counts as an input.

    Args:
        files: Parameters that name a file to write.
        folders: Parameters that name a folder to write files into (or a folder or a file, as a format has it).
    """

    def decorate(command: F) -> F:
        @functools.wraps(command)
        def with_guard(*args: Any, force: bool, **values: Any) -> Any:
            from curation.files.atomic import outputs_of

            outputs = {name: values[name] for name in (*files, *folders) if values[name] is not None}
            others = [value for name, value in values.items() if name not in outputs]
            inputs = [place for value in others for place in _files_in(value)]
            path = click.get_current_context().command_path.partition(" ")[2]
            of_files, of_folders = ([Path(outputs[n]) for n in names if n in outputs] for names in (files, folders))
            of_folders = [p.parent if p.suffix.lower() in (".html", ".htm") else p for p in of_folders]
            with outputs_of(path or command.__name__, of_files, of_folders, inputs=inputs, force=force):
                return command(*args, **values)

        return shared_option("--force", is_flag=True)(with_guard)  # type: ignore[return-value]

    return decorate


def _files_in(value: Any) -> list[Path]:
    """The files that a parameter's value names."""
    if isinstance(value, (tuple, list)):
        return [place for one in value for place in _files_in(one)]
    if not isinstance(value, (str, Path)) or "\0" in str(value) or len(str(value)) > 4096:
        return []
    try:
        return [Path(value)] if Path(value).is_file() else []
    except OSError:  # a text that is no name of a file
        return []


def identity_options(command: F, name: str = "--source") -> F:
    """``--source``, ``--replace``, ``--as`` and ``--yes``: as what a file is known to a store (``identity``).

    Where ``--source`` names where the facts come from, the source in the store has another ``name``.
    """

    @functools.wraps(command)
    def with_identity(
        *args: Any, source_name: str | None, replace: bool, prefix: str | None, yes: bool, **options: Any
    ) -> Any:
        from curation.loaders.importer import Identity

        if replace and prefix is not None:
            raise click.UsageError("give --replace or --as, not both")
        return command(*args, identity=Identity(source_name, replace, prefix, name, shrink=yes), **options)

    beside = "Put this name before all keys, so that both versions are kept."
    taken = "Take the place of other sources' records with the same keys."
    again = "Name of the source in the store; the same name again replaces all that it brought."
    gone = "Import also where more than a tenth of what the source brought before is gone."
    with_identity = click.option("--yes", is_flag=True, help=gone)(with_identity)
    with_identity = click.option("--as", "prefix", metavar="NAME", help=beside)(with_identity)
    with_identity = click.option("--replace", is_flag=True, help=taken)(with_identity)
    with_identity = click.option(name, "source_name", metavar="NAME", help=again)(with_identity)
    return with_identity  # type: ignore[return-value]


UPDATED = ("source", "changed", "gone", "set_aside", "taken", "changed_keys", "gone_keys")
"""What ``--json`` says of a source's update, beside its new keys."""


def update_text(update: SourceUpdate) -> str:
    """What a source changed, in a clause; what did not happen is left out."""
    parts = [f"{update.new:,} of them new"]
    parts += [f"{update.changed:,} changed"] if update.changed else []
    parts += [f"{update.taken:,} taken over from others"] if update.taken else []
    parts += [f"{update.gone:,} gone"] if update.gone else []
    parts += [f"{update.set_aside:,} dependent records were archived"] if update.set_aside else []
    return ", ".join(parts)


def echo_keys(update: SourceUpdate) -> None:
    """The keys that a source changed and those that are gone, on standard error."""
    for what, keys, number in (
        ("changed", update.changed_keys, update.changed),
        ("no longer current", update.gone_keys, update.gone + update.set_aside),
    ):
        for key in keys:
            click.echo(f"{what}: {key}", err=True)
        if number > len(keys):
            click.echo(f"{what}: ... and {number - len(keys):,} more", err=True)


@contextlib.contextmanager
def error_with_lines() -> Iterator[None]:
    """Print what an error is about (conflicts, stale records) on standard error before the error itself."""
    from schemas.core.errors import UserError

    try:
        yield
    except UserError as error:
        for line in error.lines:
            click.echo(line, err=True)
        raise


def limit_option(*, default: int | None = None, minimum: int = 1, also: str = "") -> Callable[[F], F]:
    """``--limit``: the parameter ``limit``."""
    shown = {} if default is None else {"default": default, "show_default": True}
    return shared_option("--limit", type=click.IntRange(min=minimum), also=also, **shown)


def seed_option(*, also: str = "") -> Callable[[F], F]:
    """``--seed``: the parameter ``seed``, 0 where it is not given."""
    return shared_option("--seed", type=int, default=0, show_default=True, also=also)


def split_of(store: Store | None, name: str) -> Split:
    """The split that a command names: a file, one in the store, or (without a store) a shipped one."""
    from curation.shipped import named_split

    return store.open_split(name) if store is not None and not Path(name).is_file() else named_split(name)


def show(data: Any, text: str, *, as_json: bool) -> None:
    """Print a value as JSON, or its text."""
    click.echo(json.dumps(data, ensure_ascii=False, default=str) if as_json else text)


def json_option(command: F) -> F:
    """``--json``: the parameter ``as_json``, for a command that prints one value."""
    return shared_option("--json", "as_json", is_flag=True)(command)


def json_options(command: F) -> F:
    """``--json`` and ``--jsonl``, for a command that prints a JSON line a row where ``as_json`` is true.

    With ``--json`` the lines become one array, printed at the end; a command that fails before its first row prints
    nothing.
    """

    @functools.wraps(command)
    def with_rows(*args: Any, as_json: bool, as_lines: bool, **options: Any) -> Any:
        if as_json and as_lines:
            raise click.UsageError("give --json or --jsonl, not both")
        with array_of_lines() if as_json else contextlib.nullcontext():
            return command(*args, as_json=as_json or as_lines, **options)

    with_rows = shared_option("--jsonl", "as_lines", is_flag=True)(with_rows)
    with_rows = shared_option("--json", "as_json", is_flag=True)(with_rows)
    return with_rows  # type: ignore[return-value]


@contextlib.contextmanager
def array_of_lines() -> Iterator[None]:
    """What is printed inside, a JSON value a line, becomes one JSON array, also if the block fails later on."""
    printed, failed = io.StringIO(), True
    try:
        with contextlib.redirect_stdout(printed):
            yield
        failed = False
    finally:
        rows = [row for row in printed.getvalue().split("\n") if row]
        if rows or not failed:
            click.echo("[\n" + ",\n".join(rows) + "\n]" if rows else "[]")
