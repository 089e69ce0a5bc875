"""Model files: an OpenAI-compatible server on this machine, started when needed and always stopped."""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import selectors
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from schemas.core.errors import MissingPackage, ModelError

logger = logging.getLogger(__name__)

START_SECONDS = 600.0
"""Seconds that a server may take to be ready: reading a large file on a busy machine takes long."""
EMBEDDED_CONTEXT = 2048
"""Tokens a slot of the embedded model: its few-shot prompts need about 700."""
CONTEXT = 4096
"""Tokens a slot of other models, where no option says otherwise."""


@contextmanager
def serve(gguf: Path, *, threads: int = 2, slots: int = 1, context: int = EMBEDDED_CONTEXT) -> Iterator[str]:
    """A server for a GGUF file on ``127.0.0.1`` and a free port, as a child process.

    The child ends with the ``with`` block, also after an exception, and by itself when this process dies.

    Args:
        gguf: The model.
        threads: Processor threads at most; fewer on a busy machine, see ``spare_threads``.
        slots: Calls served at once.
        context: Tokens of prompt and reply together, a slot.

    Yields:
        The address up to ``/v1``.

    Raises:
        MissingPackage: xllamacpp is not installed.
        ModelError: the server does not start.
    """
    if importlib.util.find_spec("xllamacpp") is None:
        raise MissingPackage("xllamacpp", extra="local")
    threads = spare_threads(threads)
    command = [
        sys.executable,
        "-m",
        "construction.llm.embedded.server",
        str(gguf),
        str(threads),
        str(slots),
        str(context),
    ]
    with tempfile.TemporaryFile() as log:
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        try:
            address = _wait_until_ready(child, deadline=time.monotonic() + START_SECONDS, log=log, gguf=gguf)
            logger.info("%s answers at %s", gguf.name, address)
            yield f"{address}/v1"
        finally:
            _stop(child)


def spare_threads(limit: int) -> int:
    """Threads that the machine has to spare, from 1 to ``limit``.

    The library's threads wait for each other in busy loops: two of them on two busy cores answered some fifty times
    slower than one. The text does not depend on their number.
    """
    busy = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return max(1, min(limit, round((os.cpu_count() or 1) - busy)))


def _wait_until_ready(child: subprocess.Popen[bytes], *, deadline: float, log: IO[bytes], gguf: Path) -> str:
    """The child's address, once it says that it is healthy."""
    assert child.stdout is not None
    line = b""
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        while not line.startswith(b'{"address"'):
            if not selector.select(timeout=max(0.0, deadline - time.monotonic())):
                raise ModelError("the model's server did not start in time", where=str(gguf))
            line = child.stdout.readline()
            if not line:
                raise ModelError(
                    f"the model's server ended at once: {_last_line(log)}",
                    where=str(gguf),
                    fix="the file may be damaged, or too large for this machine's memory: fetch or install it again",
                )
    address: str = json.loads(line)["address"]
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=5) as reply:
                if reply.status == 200:
                    return address
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise ModelError("the model's server is never ready", where=address)


def _last_line(log: IO[bytes]) -> str:
    log.seek(0)
    lines = [x.strip() for x in log.read().decode("utf-8", "replace").splitlines() if x.strip()]
    return lines[-1][:200] if lines else "it said nothing"


def _stop(child: subprocess.Popen[bytes]) -> None:
    if child.stdin is not None:
        child.stdin.close()
    try:
        child.wait(timeout=5)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    if child.stdout is not None:
        child.stdout.close()
