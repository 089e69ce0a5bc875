"""Programs in processes of their own, forked from one that has imported the slow packages already.

A test that starts twenty commands would import openai and DuckDB twenty times, two seconds each. A forked process is a
process like any other: it is killed, leaves locks and files, and ends with a status. That a fresh interpreter starts
our commands is shown by ``tests/contracts/test_commands.py`` and by the wheel's own trial.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import types
import warnings
from collections.abc import Mapping
from multiprocessing import forkserver, get_context
from pathlib import Path
from typing import Any

from tests.support import ROOT

CLI = "import sys, scedit.commands; sys.exit(scedit.commands.main())"
BUILD = ("construction.pipeline.runner", "construction.pipeline.job", "construction.llm.connection")
CONTEXT = get_context("forkserver")
LOADED: list[str] = []
"""What the process imports from which programs are forked."""


class Program:
    """A program that runs; the members that tests use of ``subprocess.Popen``."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        self._out, self._err = tempfile.NamedTemporaryFile(), tempfile.NamedTemporaryFile()  # noqa: SIM115 - kept open
        self._process = CONTEXT.Process(target=_become, kwargs={**request, "streams": (self._out.name, self._err.name)})
        with contextlib.chdir(ROOT):
            self._process.start()

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if (status := self.poll()) is None:
            raise subprocess.TimeoutExpired(["forked program"], timeout or 0, self.stdout, self.stderr)
        return status

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self._process.pid or 0, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    @property
    def stdout(self) -> str:
        """What it has written so far."""
        return Path(self._out.name).read_bytes().decode("utf-8")

    @property
    def stderr(self) -> str:
        return Path(self._err.name).read_bytes().decode("utf-8")


def start(
    program: object,
    *words: object,
    env: Mapping[str, str] | None = None,
    cwd: str | Path = ROOT,
    modules: tuple[str, ...] = BUILD,
) -> Program:
    """Start Python source with those words as ``sys.argv[1:]``."""
    if list(modules) != LOADED:
        forkserver._forkserver._stop()  # type: ignore[attr-defined]
        LOADED[:] = modules
        CONTEXT.set_forkserver_preload(LOADED)
    environment = dict(os.environ if env is None else env)
    return Program({"program": str(program), "words": list(map(str, words)), "env": environment, "cwd": str(cwd)})


def run(program: object, *words: object, timeout: float = 600, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run it to its end; text of both streams."""
    child = start(program, *words, **options)
    try:
        status = child.wait(timeout)
    finally:
        child.kill()
    return subprocess.CompletedProcess(["python", *map(str, words)], status, child.stdout, child.stderr)


def _become(program: str, words: list[str], env: dict[str, str], cwd: str, streams: tuple[str, str]) -> None:
    """In the child: be what a fresh interpreter with ``-c`` would be."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, path in enumerate(streams, 1):
        os.dup2(os.open(path, os.O_WRONLY), number)
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    sys.stderr.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    sys.argv = ["-c", *words]
    if env.get("PYTHONWARNINGS") == "ignore":
        warnings.simplefilter("ignore")
    sys.modules["__main__"] = main = types.ModuleType("__main__")
    exec(compile(program, "<string>", "exec"), main.__dict__)
