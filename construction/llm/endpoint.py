"""Where and how to ask."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from pydantic import Field

from schemas.core.config import Options
from schemas.core.errors import ModelError

NO_KEY = "none"  # the openai package insists on one
DEFAULT_KEY = "OPENAI_API_KEY"


class Endpoint(Options):
    """Where and how to ask.

    Attributes:
        model: Name of the model as the endpoint knows it.
        base_url: Address up to ``/v1``; None for the ``openai`` package's own default.
        key_name: Environment variable that holds the key. Its value is read when needed, and never kept or shown.
        concurrency: Calls in flight at once.
        rpm: Requests a minute at most.
        tpm: Tokens a minute at most, in and out together.
        tries: Attempts of one call, the first included, while the endpoint is known to work.
        timeout: Seconds until an attempt is given up.
        backoff: Seconds before the second attempt; doubles from then on.
        repairs: Rounds in which a reply that does not fit its type is shown its error.
        attempts: Times that a call is made whose reply, repairs included, cannot be used or is a refusal.
        reply_tokens: Tokens of a reply at most where the request sets no limit of its own; not part of a call's key.
        batch: Use the Batch API.
        poll: Seconds between looks at open batches.
        replay: Ask nobody: a call that is not on record is an error.
    """

    model: str
    base_url: str | None = None
    key_name: str = DEFAULT_KEY
    concurrency: int = Field(default=8, ge=1)
    rpm: float | None = Field(default=None, gt=0)
    tpm: float | None = Field(default=None, gt=0)
    tries: int = Field(default=6, ge=1)
    timeout: float = Field(default=120.0, gt=0)
    backoff: float = 1.0
    repairs: int = 1
    attempts: int = Field(default=1, ge=1)
    reply_tokens: int | None = Field(default=None, ge=1)
    batch: bool = False
    poll: float = Field(default=30.0, gt=0)
    replay: bool = False


def bare_address(url: str) -> str:
    """An address without user name, password or query.

    Example:
        >>> bare_address("http://me:pw@host:9/v1/?key=1")
        'http://host:9/v1'
    """
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path}".rstrip("/")


def key_of(endpoint: Endpoint) -> str:
    """The key from the environment; an address of one's own may need none, and a replay needs none."""
    if endpoint.base_url is not None and not endpoint.base_url.startswith(("http://", "https://")):
        raise ModelError(
            f"'{endpoint.base_url}' is not an address", fix="--base-url takes one like http://127.0.0.1:8000/v1"
        )
    if endpoint.replay:
        return NO_KEY
    key = os.environ.get(endpoint.key_name, "").strip()
    if not key and endpoint.base_url is None:
        raise ModelError(
            f"no key: the environment variable {endpoint.key_name} is not set",
            fix="set it, name another with --api-key-env, or use --model embedded",
        )
    if not (key.isascii() and key.isprintable()):
        raise ModelError(f"the key in {endpoint.key_name} holds characters that no key has", fix="set it again")
    return key or NO_KEY
