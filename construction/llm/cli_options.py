"""What all commands that ask a model share: options, the estimate in words, the end with calls unanswered."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from curation.cli.options import json_option, shared_option
from schemas.core.errors import UserError
from schemas.text.counting import counted

_POSITIVE = click.FloatRange(min=0, min_open=True)
_OPTIONS = (
    click.option(
        "--model",
        default="embedded",
        show_default=True,
        help="Model name at the endpoint; or on this machine: embedded, local, gguf:PATH, hf:OWNER/REPOSITORY/FILE.",
    ),
    click.option("--base-url", help="OpenAI-compatible endpoint up to /v1, such as http://127.0.0.1:8000/v1."),
    click.option(
        "--api-key-env",
        "key_name",
        default="OPENAI_API_KEY",
        show_default=True,
        help="Environment variable with the key.",
    ),
    click.option(
        "--concurrency", type=click.IntRange(1, 512), help="Calls in flight at once (8; a model on this machine: 1)."
    ),
    click.option(
        "--context",
        type=click.IntRange(256, 1_048_576),
        help="Tokens of prompt and reply, for a model on this machine (4096; embedded: 2048).",
    ),
    click.option(
        "--threads", type=click.IntRange(1, 512), help="Processor threads at most, for a model on this machine (2)."
    ),
    click.option("--rpm", type=_POSITIVE, help="At most this many requests a minute."),
    click.option("--tpm", type=_POSITIVE, help="At most this many tokens a minute, in and out together."),
    click.option(
        "--timeout", type=_POSITIVE, help="Seconds until a call is given up (120; a model on this machine: 3600)."
    ),
    click.option(
        "--max-cost",
        type=click.FloatRange(min=0),
        help="Budget in US dollars, earlier runs on the same journal included.",
    ),
    click.option(
        "--max-tokens", type=click.IntRange(min=0), help="Budget in tokens, earlier runs on the same journal included."
    ),
    click.option(
        "--reply-tokens",
        type=click.IntRange(min=1),
        help="At most this many tokens in one reply (with a budget: 2048).",
    ),
    click.option("--prices", type=click.Path(path_type=Path), help="Your own price table (TOML); it takes precedence."),
    click.option(
        "--batch", is_flag=True, help="Use the Batch API: half the price at many endpoints, hours of waiting."
    ),
    click.option(
        "--batch-poll",
        "poll",
        type=_POSITIVE,
        default=30.0,
        show_default=True,
        help="Seconds between two checks of a batch.",
    ),
    click.option(
        "--attempts",
        type=click.IntRange(1, 10),
        help="Times to ask where a reply is empty, cut off, refused or malformed (construct: 2; else 1).",
    ),
    shared_option(
        "--retry-failed", is_flag=True, also="Cached calls that were refused, could not be read, or failed for good."
    ),
    click.option(
        "--replay",
        is_flag=True,
        help="Ask nobody: every reply comes from the journal, and one that it does not hold is an error.",
    ),
    click.option(
        "--strict",
        is_flag=True,
        help="Stop, instead of warning, where the endpoint answers with a second model or configuration.",
    ),
)


def journal_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--journal``: the parameter ``journal_path``; where it is None, the journal is ``journal_of(store)``."""
    option = click.option(
        "--journal",
        "journal_path",
        type=click.Path(path_type=Path),
        help="File of recorded replies (default: STORE.llm.jsonl).",
    )
    return option(command)


def journal_of(store: Path) -> Path:
    """The journal of a store's replies where no other is named: beside it.

    Example:
        >>> journal_of(Path("mine/my.duckdb")).as_posix()
        'mine/my.duckdb.llm.jsonl'
    """
    return store.with_name(f"{store.name}.llm.jsonl")


def calls_in_words(calls: int, tokens_in: int, tokens_out: int, cost: float | None) -> str:
    """An estimate of calls, for people.

    Example:
        >>> calls_in_words(2, 1200, 80, 0.0125)
        '2 calls, about 1,200 tokens in and 80 out, $0.0125'
    """
    dollars = f", ${cost:.4f}" if cost is not None else ""
    return f"{counted(calls, 'call')}, about {counted(tokens_in, 'token')} in and {tokens_out:,} out{dollars}"


def refuse_unanswered(waiting: int, noun: str) -> None:
    """End a command some of whose calls got no answer; what was answered stands.

    Raises:
        UserError: there are any.
    """
    if waiting:
        raise UserError(f"{counted(waiting, noun)} without an answer so far", fix="give the same command again")


def writing_options(*, licence: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Options of a command that has a model write records: prompts, licence, journal, trial run, the model's own.

    Args:
        licence: Help text of ``--licence``.
    """
    options = (
        click.option("--profile", help="Prompts to use: 'paper', or 'embedded' for the model of this name."),
        click.option(
            "--prompts", "prompts_path", type=click.Path(path_type=Path), help="Folder with your own prompts."
        ),
        click.option("--licence", default="not stated", show_default=True, help=licence),
        journal_option,
        click.option("--fsync", is_flag=True, help="Flush every reply to disk, so that it survives a power cut."),
        shared_option("--dry-run", is_flag=True, also="Shows calls, rough tokens and cost."),
        model_options,
        json_option,
    )

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options, and its function one ``access`` (``construction.llm.endpoint.Access``) for them."""

    @functools.wraps(command)
    def with_access(**options: Any) -> Any:
        from construction.llm.endpoint import Access

        fields = {name: options.pop(name) for name in list(options) if name in Access.model_fields}
        return command(access=Access(**fields), **options)

    for option in reversed(_OPTIONS):
        with_access = option(with_access)
    return with_access
