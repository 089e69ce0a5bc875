"""Secrets stay out of everything that is kept or shown, also where an endpoint sends them back."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import unquote, urlsplit

_WIRE = ("openai", "httpx", "httpx2", "httpcore", "httpcore2")  # their debug lines quote headers
_SHORTEST = 8  # characters; a shorter "key" such as EMPTY is a word that replies may contain


class Mask:
    """Replaces secrets in text.

    Args:
        secrets: Keys and passwords; empty ones and those too short to be secrets are left alone in replies.

    Example:
        >>> Mask(["sk-0123456789"])("Incorrect key sk-0123456789.")
        'Incorrect key ***.'
    """

    def __init__(self, secrets: Sequence[str]) -> None:
        self._secrets = sorted({s for s in secrets if len(s) >= _SHORTEST}, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        """The text without the secrets."""
        for secret in self._secrets:
            if secret in text:
                text = text.replace(secret, "***")
        return text


def secrets_of(key: str, address: str | None) -> list[str]:
    """The key, and what an address carries in its user name, password or query."""
    secrets = [key]
    if address:
        parts = urlsplit(address)
        secrets += [unquote(parts.password or ""), parts.password or "", parts.username or ""]
        secrets += [piece.partition("=")[2] for piece in parts.query.split("&")]
    return secrets


@contextmanager
def quiet_wire() -> Iterator[None]:
    """No debug lines of the HTTP packages while calls are made, whatever ``-vv`` says: they quote headers."""
    loggers = [logging.getLogger(name) for name in _WIRE]
    before = [log.level for log in loggers]
    for log in loggers:
        log.setLevel(logging.WARNING)
    try:
        yield
    finally:
        for log, level in zip(loggers, before, strict=True):
            log.setLevel(level)
