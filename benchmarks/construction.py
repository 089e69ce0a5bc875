"""Construction: how near calls come to the rate that latency and concurrency allow.

Run: python benchmarks/run.py construction
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.support.fake_endpoint import serving

LATENCY, CONCURRENCY, CALLS = 0.5, 64, 4096
FACTS = 800  # of 4 questions each: 800 + 3,200 calls


def endpoint() -> dict[str, Any]:
    """An endpoint of 500 ms at concurrency 64: plain ``openai``, our client, the whole command."""
    ideal = CONCURRENCY / LATENCY
    rows: dict[str, dict[str, float]] = {}
    for name in ("plain", "client", "construct"):
        with serving(LATENCY) as url, tempfile.TemporaryDirectory() as folder:
            rows[name] = _measured(name, url, folder)
        rows[name]["percent_of_ideal"] = round(100 * rows[name]["calls_per_s"] / ideal, 1)
    return {
        "what": f"endpoint of {LATENCY * 1000:.0f} ms at concurrency {CONCURRENCY}; ideal {ideal:.0f} calls/s",
        **rows,
        "notes": "plain: the openai package in a loop, nothing kept; client: journaled, parsed; construct: the command,"
        " start and loading included, with checks and the store",
    }


def _measured(name: str, url: str, folder: str) -> dict[str, float]:
    """One way in a process of its own: rate, CPU a call, peak memory."""
    line = [sys.executable, "-m", "benchmarks.construction", name, url, folder, str(CALLS)]
    if name == "construct":
        _facts(Path(folder) / "facts.jsonl")
        options = ["--base-url", url, "--concurrency", str(CONCURRENCY), "--neighbours", "0", "--model", "m", "--json"]
        files = [f"{folder}/facts.jsonl", "--store", f"{folder}/s.duckdb"]
        line = [sys.executable, "-m", "scedit", "construct", *files, *options]
    start = time.perf_counter()
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    reply = json.loads(process.stdout.read())
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{name} ended with {status}")
    seconds = reply.get("seconds") or time.perf_counter() - start
    cpu = reply.get("cpu") or usage.ru_utime + usage.ru_stime
    return {
        "calls": reply["calls"],
        "seconds": round(seconds, 2),
        "calls_per_s": round(reply["calls"] / seconds, 1),
        "cpu_ms_per_call": round(1000 * cpu / reply["calls"], 2),
        "peak_mib": round(usage.ru_maxrss / 1024),
    }


def _facts(path: Path) -> None:
    from schemas.facts import Entity, Fact, Object, Relation, Source

    source = Source(name="made", licence="CC0-1.0")
    with open(path, "w", encoding="utf-8") as out:
        for i in range(FACTS):
            fact = Fact(
                key=f"made/{i:05d}", subject=Entity(text=f"Subject {i}"), relation=Relation(id=f"P{i % 50}"),
                prompt="The capital of {} is", old=Object(text=f"Oldtown {i}"), new=Object(text=f"Newville {i}"),
                change="counterfactual", source=source,
            )  # fmt: skip
            out.write(fact.model_dump_json() + "\n")


async def _plain(url: str, folder: str, calls: int) -> None:
    """The openai package in a loop: what everybody writes first."""
    import openai

    places = asyncio.Semaphore(CONCURRENCY)
    async with openai.AsyncOpenAI(api_key="none", base_url=url, max_retries=0) as client:

        async def one(n: int) -> None:
            async with places:
                messages: Any = [m.model_dump() for m in _request(n).messages]
                reply = await client.chat.completions.create(model="m", messages=messages, temperature=0.7)
                json.loads(reply.choices[0].message.content or "")

        await asyncio.gather(*[one(n) for n in range(calls)])


async def _client(url: str, folder: str, calls: int) -> None:
    from construction.llm.client import gather_all
    from construction.llm.connection import Access, open_client
    from curation.files.journal import Journal

    with Journal(Path(folder) / "j.jsonl", write=True) as journal:
        access = Access(model="m", base_url=url, concurrency=CONCURRENCY)
        async with open_client(access, journal) as client:
            replies = await gather_all([client.ask(_request(n)) for n in range(calls)])
            assert {r.status for r in replies} == {"ok"} and client.calls == calls


def _request(n: int) -> Any:
    """A question call with our longest prompt."""
    from construction.llm.step import Message, Request
    from construction.prompts.prompt_file import load_prompt
    from construction.scripts.question_step import QuestionList

    if "turns" not in _kept:
        values = {"subject": "S", "statement": "S is in", "relation": "r", "old": "A", "new": "B", "count": "4"}
        _kept["turns"] = load_prompt("questions", "paper").messages(values)
    *before, last = _kept["turns"]
    turns = (*before, Message(role="user", content=f"{last.content}\nCall: {n}"))
    return Request(turns, QuestionList, {"temperature": 0.7})


_kept: dict[str, Any] = {}


def _way(name: str, url: str, folder: str, calls: int) -> None:
    """What a child process does: the seconds and the CPU of the calls alone, the start aside."""
    _request(0)
    before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    asyncio.run({"plain": _plain, "client": _client}[name](url, folder, calls))
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(json.dumps({"calls": calls, "seconds": time.perf_counter() - start, "cpu": cpu}))


def main() -> dict[str, Any]:
    """The only section."""
    return {"endpoint": endpoint()}


if __name__ == "__main__":
    _way(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
