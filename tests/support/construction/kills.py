"""A command that constructs, killed at random calls and given again until it ends; beside it one without a kill."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tests.support import forked_programs as programs
from tests.support.commands import invoke
from tests.support.construction.stored import contents, replies
from tests.support.scripted_server import ScriptedServer

ENV = {**os.environ, "OPENAI_API_KEY": "sk-secret-for-tests", "PYTHONWARNINGS": "ignore"}
Answer = Callable[[dict[str, Any]], Any]


class KilledRun(NamedTuple):
    """What a whole run prints and a killed one too, calls of the last run aside; the calls that each sent."""

    printed: Any
    calls: int
    sent: int


def slowly(answer: Answer) -> Answer:
    """An answer that takes long enough to be killed at."""

    def answer_late(payload: dict[str, Any]) -> Any:
        time.sleep(0.02)
        return answer(payload)

    return answer_late


def killed(
    command: Callable[[Path, str], list[Any]],
    folder: Path,
    answer: Callable[[], Answer],
    *,
    kills: int,
    seed: int = 3,
    pause: float = 0.0,
    key_of: Callable[[dict[str, Any]], str] | None = None,
) -> KilledRun:
    """Run it whole in ``folder/whole`` and killed so often in ``folder/parts``: both leave and print the same.

    Args:
        command: The command for a folder and the address of an endpoint.
        folder: Where both work.
        answer: Makes the answers of one endpoint.
        kills: How often.
        seed: Of the calls at which it is killed.
        pause: Seconds after such a call within which it is killed.
        key_of: Gives the journal key of a call: then none is made again whose reply was on record.
    """
    for name in ("whole", "parts"):
        (folder / name).mkdir(parents=True)
    with ScriptedServer(answer()) as server:
        whole = ended(command(folder / "whole", server.url))
        calls = len(server.requests)
    rng = random.Random(seed)
    with ScriptedServer(answer()) as server:
        again = command(folder / "parts", server.url)

        def resume(kill_at: int | None = None) -> Any:
            on_record, before = replies(folder / "parts/s.duckdb"), len(server.requests)
            result = ended(again) if kill_at is None else _kill(again, server, kill_at, rng.uniform(0, pause))
            asked = {key_of(payload) for payload in server.requests[before:]} if key_of else set[str]()
            assert not asked & on_record, "what was answered is not asked again"
            return result

        for moment in sorted(rng.sample(range(2, int(0.8 * calls)), kills)):
            resume(moment)
        parts = resume()
    first, second = (folder / name / "s.duckdb" for name in ("whole", "parts"))
    assert contents(first) == contents(second) and replies(first) == replies(second)
    assert whole.pop("calls") >= parts.pop("calls") and whole == parts
    return KilledRun(whole, calls, len(server.requests))


def _kill(command: list[Any], server: ScriptedServer, moment: int, pause: float) -> None:
    """Start it, and kill it so many seconds after so many calls."""
    child = programs.start(*command, env=ENV)
    while len(server.requests) < moment and child.poll() is None:
        time.sleep(0.002)
    time.sleep(pause)
    assert child.poll() is None, f"it ended before it could be killed: {child.stderr[-2000:]}"
    child.send_signal(signal.SIGKILL)
    child.wait()
    time.sleep(0.05)


def ended(command: list[Any]) -> Any:
    """What a command prints as JSON when it ends well."""
    done = programs.run(*command, env=ENV, timeout=1800)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def damage(journal: Path) -> None:
    """Change a letter in the last reply of a journal."""
    lines = journal.read_bytes().splitlines(keepends=True)
    last = max(n for n, line in enumerate(lines) if b'"raw":' in line)
    lines[last] = lines[last].replace(b'"raw":', b'"row":')
    journal.write_bytes(b"".join(lines))


def says_what_is_asked_again(line: tuple[Any, ...], journal: Path, server: ScriptedServer, said: str) -> None:
    """Run a command one of whose calls is refused: dry runs count it with --retry-failed, and a damaged line always."""
    invoke(*line)
    assert invoke(*line, "--dry-run").startswith(f"{said}; 0 calls")
    assert invoke(*line, "--dry-run", "--retry-failed").startswith(f"{said}; 1 call,")
    damage(journal)
    assert invoke(*line, "--dry-run").startswith(f"{said}; 1 call,")
    count = len(server.requests)
    invoke(*line)
    assert len(server.requests) == count + 1, "the run asks for what the damaged line held"
