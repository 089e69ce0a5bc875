"""Programs in processes of their own, forked from one that has imported the slow packages already.

A test that starts twenty commands would import openai and DuckDB twenty times, two seconds each. A forked process is a
process like any other: it is killed, leaves locks and files, and ends with a status. That a fresh interpreter starts
our commands is shown by ``tests/contracts/test_commands.py`` and by the wheel's own trial.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import io
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import types
import warnings
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.support import ROOT

CLI = "import sys, scedit.commands; sys.exit(scedit.commands.main())"
BUILD = ("construction.pipeline.runner", "construction.pipeline.job", "construction.llm.connection")


class Program:
    """A program that runs; the members that tests use of ``subprocess.Popen``."""

    def __init__(self, server: Server, pid: int, out: io.BufferedRandom, err: io.BufferedRandom) -> None:
        self.pid, self._server, self._out, self._err = pid, server, out, err
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            self.returncode = self._server.ask({"pid": self.pid})
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        end = None if timeout is None else time.monotonic() + timeout
        while (status := self.poll()) is None:
            if end is not None and time.monotonic() > end:
                raise subprocess.TimeoutExpired(["forked program"], timeout or 0, self.stdout, self.stderr)
            time.sleep(0.01)
        return status

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    @property
    def stdout(self) -> str:
        """What it has written so far."""
        self._out.seek(0)
        return self._out.read().decode("utf-8")

    @property
    def stderr(self) -> str:
        self._err.seek(0)
        return self._err.read().decode("utf-8")


class Server:
    """The process that programs are forked from."""

    def __init__(self, modules: tuple[str, ...]) -> None:
        near_end, far_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with far_end:
            words = [sys.executable, "-m", __name__, str(far_end.fileno()), *modules]
            self.process = subprocess.Popen(words, cwd=ROOT, pass_fds=[far_end.fileno()])
        self.socket = near_end

    def ask(self, request: Mapping[str, Any], files: tuple[int, ...] = ()) -> Any:
        socket.send_fds(self.socket, [json.dumps(request).encode()], files)
        answer = self.socket.recv(1 << 16)
        assert answer, "the process that programs are forked from has died"
        return json.loads(answer)


@functools.cache
def server(modules: tuple[str, ...]) -> Server:
    return Server(modules)


def start(
    program: object,
    *words: object,
    env: Mapping[str, str] | None = None,
    cwd: str | Path = ROOT,
    modules: tuple[str, ...] = BUILD,
) -> Program:
    """Start Python source with those words as ``sys.argv[1:]``."""
    out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 - the program writes to them
    request = {
        "program": str(program),
        "words": list(map(str, words)),
        "env": dict(os.environ if env is None else env),
        "cwd": str(cwd),
    }
    home = server(modules)
    return Program(home, home.ask(request, (out.fileno(), err.fileno())), out, err)


def run(program: object, *words: object, timeout: float = 600, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run it to its end; text of both streams."""
    starts = start(program, *words, **options)
    try:
        status = starts.wait(timeout)
    finally:
        starts.kill()
    return subprocess.CompletedProcess(
        ["python", "-c", str(program), *map(str, words)], status, starts.stdout, starts.stderr
    )


def _become(request: dict[str, Any], files: list[int]) -> int:
    """In the child: be what a fresh interpreter with ``-c`` would be."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    for file, weight in zip(files, (1, 2), strict=True):
        os.dup2(file, weight)
        os.close(file)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False))
    sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), encoding="utf-8")
    to_err = io.FileIO(2, "w", closefd=False)
    sys.stderr = io.TextIOWrapper(to_err, encoding="utf-8", errors="backslashreplace", line_buffering=True)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    sys.argv = ["-c", *request["words"]]
    if request["env"].get("PYTHONWARNINGS") == "ignore":
        warnings.simplefilter("ignore")
    sys.modules["__main__"] = main = types.ModuleType("__main__")
    try:
        exec(compile(request["program"], "<string>", "exec"), main.__dict__)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException as error:  # noqa: BLE001 - all that an interpreter would print
        traceback.print_exc()
        if isinstance(error, KeyboardInterrupt):
            return -signal.SIGINT
        return 1
    return 0


def _status(pid: int) -> int | None:
    process_id, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if process_id else None


def _fork(request: dict[str, Any], files: list[int], channel: socket.socket) -> int:
    if pid := os.fork():
        return pid
    status = 1
    try:
        channel.close()
        status = _become(request, files)
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        if status < 0:  # as an interpreter that was interrupted ends
            signal.signal(-status, signal.SIG_DFL)
            os.kill(os.getpid(), -status)
    finally:
        os._exit(status)


def serve(channel: socket.socket, modules: list[str]) -> None:
    """Fork and report until the test process has gone."""
    for module in modules:
        import_module(module)
    end: dict[int, int] = {}
    while True:
        data, files, _, _ = socket.recv_fds(channel, 1 << 20, 2)
        if not data:
            return
        request = json.loads(data)
        if "program" in request:
            answer = _fork(request, files, channel)
            for number in files:
                os.close(number)
        else:
            pid = request["pid"]
            answer = end[pid] if pid in end else _status(pid)
            if answer is not None:
                end[pid] = answer
        channel.send(json.dumps(answer).encode())


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2:])
