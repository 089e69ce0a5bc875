"""How a model is asked: where, with which key, within which limits."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from construction.llm.cost.budget import Budget
from construction.llm.cost.prices import FREE, Price, how_to_add, price_of
from construction.llm.reply_cache import ReplyCache
from curation.files.local_models import FORMS, gguf_of, label_of, names_a_file
from curation.files.model_packages import EMBEDDED
from schemas.core.config import Options
from schemas.core.errors import ModelError, UserError

NAME_WITH_ADDRESS = re.compile(r"[^@/]@(?!sha256:)(?P<scheme>https?://)?[\w.\[\]-]+(?::|/v\d)")
"""A name, and after ``@`` an address, known by a port or by the end that such addresses have; a digest is none."""
NO_KEY = "none"  # the openai package insists on one
DEFAULT_KEY = "OPENAI_API_KEY"
KEYLESS = "SCEDIT_NO_KEY"
"""The variable that stands for no key, where an endpoint asks for none."""


_TIME_LIMIT, _LOCAL_TIME_LIMIT = 120.0, 3600.0  # seconds


class Access(Options):
    """How a model is asked, as the command line's options say it.

    Attributes:
        model: Name at the endpoint, or without an address a model file on this machine: ``embedded`` (of the ``local``
            extra), ``local``, ``gguf:PATH``, ``hf:OWNER/REPOSITORY/FILE``.
        base_url: Address up to ``/v1``.
        key_name: Environment variable with the key.
        concurrency: Calls at once; None for 8, or 1 with a model on this machine.
        rpm, tpm: Requests and tokens a minute at most.
        timeout: Seconds until a call is given up; None for 120, or 3600 with a model on this machine.
        reply_tokens: Tokens of a reply at most, where the request sets no limit.
        max_cost, max_tokens: Budget in US dollars and in tokens, for the whole journal.
        prices: The user's price table.
        batch: Use the Batch API, and look every ``poll`` seconds.
        retry_failed: Ask again what was refused, could not be read or failed for good.
        attempts: Times that a call is made whose reply cannot be used; None for what the work usually takes.
        context: Tokens of prompt and reply together that a model on this machine has room for; None for the default.
        threads: Processor threads of a model on this machine at most; None for 2.
        replay: Ask nobody: the journal has to hold every reply.
        strict: Stop where a second model answers for the one that is asked.
        tries: Attempts of one call, the first included, while the endpoint is known to work.
        backoff: Seconds before the second attempt; doubles from then on.
        repairs: Rounds in which a reply that does not fit its type is shown its error.
    """

    model: str = "embedded"
    base_url: str | None = None
    key_name: str = DEFAULT_KEY
    concurrency: Annotated[int, Field(ge=1, le=512)] | None = None
    rpm: PositiveFloat | None = None
    tpm: PositiveFloat | None = None
    timeout: PositiveFloat | None = None
    reply_tokens: PositiveInt | None = None
    max_cost: NonNegativeFloat | None = None
    max_tokens: NonNegativeInt | None = None
    prices: Path | None = None
    batch: bool = False
    poll: PositiveFloat = 30.0
    retry_failed: bool = False
    context: Annotated[int, Field(ge=256, le=1_048_576)] | None = None
    threads: Annotated[int, Field(ge=1, le=512)] | None = None
    attempts: Annotated[int, Field(ge=1, le=10)] | None = None
    replay: bool = False
    strict: bool = False
    tries: PositiveInt = 6
    backoff: NonNegativeFloat = 1.0
    repairs: NonNegativeInt = 1

    @property
    def embedded(self) -> bool:
        """Whether the embedded model is meant."""
        return self.model == EMBEDDED and self.base_url is None

    @property
    def on_this_machine(self) -> bool:
        """Whether the model is a file that is served here, not a model behind an endpoint."""
        return self.base_url is None and names_a_file(self.model)

    @property
    def time_limit(self) -> float:
        """Seconds until a call is given up. What a busy machine has half written is lost then: its models get more."""
        return self.timeout or (_LOCAL_TIME_LIMIT if self.on_this_machine else _TIME_LIMIT)

    @property
    def label(self) -> str:
        """The model's name in records and price tables; of a file, with a digest of its contents.

        Raises:
            ModelError: the file is not on this machine.
        """
        return label_of(self.model) if self.on_this_machine else self.model

    def price(self) -> Price | None:
        """The model's price, or None where it is not listed; a model on this machine costs nothing."""
        if self.on_this_machine:
            return FREE
        return price_of(self.label, batch=self.batch, table=self.prices)

    def check(self) -> None:
        """Refuse what cannot go together, before anything is opened.

        Raises:
            UserError: a limit in dollars without a price, a batch of a model on this machine, settings of such a
                model for one behind an endpoint, or an address in the model's name.
            ModelError: the model's file is not on this machine, or what should be an address is none.
        """
        _check_address(self.base_url)
        holds_address = "://" in self.model or NAME_WITH_ADDRESS.search(self.model)
        if not self.on_this_machine and self.base_url is None and holds_address:
            fix = "give the name alone, and the address with --base-url (of a run: endpoint.base_url)"
            raise UserError(f"the model '{self.model}' holds an address", fix=fix)
        if self.max_cost is not None and self.price() is None:
            raise UserError("--max-cost needs a price", fix=how_to_add(self.label))
        if self.on_this_machine:
            gguf_of(self.model)
            if self.batch:
                raise UserError("a model on this machine has no batches", where=self.model, fix="leave --batch out")
            return
        for option in ("context", "threads"):
            if getattr(self, option) is not None:
                raise UserError(f"--{option} is for a model on this machine", where=self.model, allowed=FORMS)

    def budget(self, cache: ReplyCache) -> Budget:
        """The budget over a journal; to be shared by all clients that write to it.

        Raises:
            UserError: as ``check``.
        """
        self.check()
        return Budget(cache, max_cost=self.max_cost, max_tokens=self.max_tokens)


def bare_address(url: str) -> str:
    """An address without user name, password or query.

    Example:
        >>> bare_address("http://me:pw@host:9/v1/?key=1")
        'http://host:9/v1'
    """
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path}".rstrip("/")


def key_of(endpoint: Access) -> str:
    """The key from the environment. An address of one's own needs none unless a variable is named; a replay needs none.

    Raises:
        ModelError: no address, or no key in the variable.
    """
    _check_address(endpoint.base_url)
    if endpoint.replay:
        return NO_KEY
    key = os.environ.get(endpoint.key_name, "").strip()
    if not key and (endpoint.base_url is None or endpoint.key_name not in (DEFAULT_KEY, KEYLESS)):
        raise ModelError(
            f"no key: the environment variable {endpoint.key_name} is not set",
            fix="set it, name another with --api-key-env, or use --model embedded",
        )
    if not (key.isascii() and key.isprintable()):
        raise ModelError(f"the key in {endpoint.key_name} holds characters that no key has", fix="set it again")
    return key or NO_KEY


def _check_address(url: str | None) -> None:
    """Refuse what is no address of an endpoint, or leads past its beginning."""
    if url is None:
        return
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # a port that no machine has, brackets
        known = False
    if not known or any(c.isspace() for c in url):
        raise ModelError(f"'{url}' is not an address", fix="--base-url takes one like http://127.0.0.1:8000/v1")
    if parts.path.rstrip("/").endswith("/completions"):
        raise ModelError(f"'{url}' is the address of one call", fix="--base-url takes its beginning, up to /v1")
