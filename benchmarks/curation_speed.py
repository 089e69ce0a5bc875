"""Fast ways of the store and of the exact join against the plain ways they must equal, in one run, with the ratio.

    python -m benchmarks.curation_speed                                      (from the repository root)
    python -m benchmarks.curation_speed --only earlier --revision a6e7ed8 --n 100000      (in a clone)

Import: records written by pydantic and json one by one, with a line of lineage each, against the writers of
``schemas.core.json_text`` and one act for all. Join: one product of all prefixes (``support.prefix_products``)
against ``curation.similarity.prefix_join``. The two ways alternate; seconds are those of the processor, the least of
the rounds. Rows, pairs and values are compared: where they differ, the run ends with an error.

Earlier: the commands ``data import``, ``split freeze`` and ``store dedup --similarity rouge1`` of an earlier commit and
of this one, in turn, each in a process of its own, with its peak memory. Both freeze one store, and the digests must be
the same; so must the verdicts of ``dedup``, whose store has ``--questions`` questions. Results are kept by the number
of items, each round's seconds with them; the interval is that of the mean logarithm of the rounds' ratios (t, 95 %).
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import duckdb
import numpy as np
from scipy.stats import t as student_t

from benchmarks.curation import questions
from benchmarks.run import HERE, machine, write
from benchmarks.store import items
from benchmarks.support.prefix_products import similar_pairs as products
from curation.loaders.importer import import_file
from curation.similarity.prefix_join import similar_pairs
from curation.similarity.rouge import encode
from curation.store import store as store_module
from curation.store import writer
from curation.store.writer import PendingRows
from schemas.core import json_text
from schemas.core.records import Record
from schemas.lineage import Lineage


class _PlainRows(PendingRows):
    """Takes records in as parameters of a statement, with a line of lineage each that is made by itself."""

    def records(self, records: Sequence[Record]) -> None:
        """Keep some records."""
        act, self._act = self._act, None
        super().records(records)
        self._act = act
        if act is not None:
            self.lineage([Lineage.model_validate({**act.model_dump(), "item_id": r.id}) for r in records])


def _plain_insert(db: Any, sql: str, rows: Sequence[tuple[object, ...]], names: Sequence[tuple[str, str]]) -> None:
    values = ", ".join(f"unnest(?::{kind}[]) AS {name}" for name, kind in names)
    source = f"(SELECT {values})"
    db.execute(sql.format(", ".join(name for name, _ in names), source), [list(c) for c in zip(*rows, strict=True)])


RULE = '[rule]\n[[rule.thresholds]]\ncheck = "near_duplicate"\nbelow = 0.8\nclusters = true\n'


@contextlib.contextmanager
def plain() -> Iterator[None]:
    """The plain way of an import."""
    names = ("writer_of", "_usual_numbers")
    with contextlib.ExitStack() as patched:
        for name in names:
            patched.enter_context(patch.object(json_text, name, lambda *_, **__: None))
        patched.enter_context(patch.object(writer, "_insert", _plain_insert))
        patched.enter_context(patch.object(store_module, "PendingRows", _PlainRows))
        yield


def rows_of(store: Path) -> list[Any]:
    """Hashes of a store's tables, times left out."""
    with duckdb.connect(str(store), read_only=True) as db:
        records = "SELECT count(*), bit_xor(hash(seq, id, kind, key, parent, current, body)) FROM records"
        lineage = "SELECT count(*), bit_xor(hash(item_id, stage, replace(body, made_at, ''))) FROM lineage"
        held = "SELECT count(*), bit_xor(hash(source, kind, key, id)) FROM source_items"
        return [db.execute(sql).fetchall() for sql in (records, lineage, held)]


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds of some work, and what came of it."""
    start = time.process_time()
    done = work()
    return time.process_time() - start, done


def imports(number: int, rounds: int) -> dict[str, Any]:
    """An import in both ways."""
    took: dict[str, list[float]] = {"plain": [], "fast": []}
    rows_by_way = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "items.jsonl"
        with open(file, "w", encoding="utf-8") as out:
            for item in items(number):
                out.write(json.dumps({"kind": item.kind, **item.payload()}, ensure_ascii=False) + "\n")
        for n in range(rounds):
            for way, around in (("plain", plain()), ("fast", contextlib.nullcontext())):
                store = Path(folder) / f"{way}{n}.duckdb"
                with around:
                    took[way].append(seconds(lambda store=store: import_file(str(file), store))[0])  # type: ignore[misc]
                rows_by_way[way] = rows_of(store)
                store.unlink()
    if rows_by_way["plain"] != rows_by_way["fast"]:
        raise SystemExit("the two ways of importing give different rows")
    return {"items": number, **compared(took)}


def joins(number: int, threshold: float, rounds: int) -> dict[str, Any]:
    """The exact join in both ways."""
    rows = encode(questions(number))
    took: dict[str, list[float]] = {"plain": [], "fast": []}
    pairs_by_way = {}
    for _ in range(rounds):
        for way, join in (("plain", products), ("fast", similar_pairs)):
            spent, blocks = seconds(lambda join=join: list(join(rows, threshold=threshold)))  # type: ignore[misc]
            took[way].append(spent)
            pairs = np.concatenate([np.empty(0, dtype=np.int64), *(b.first * number + b.second for b in blocks)])
            order = np.argsort(pairs)
            pairs_by_way[way] = pairs[order], np.concatenate([np.empty(0), *(b.value for b in blocks)])[order]
    if not all(np.array_equal(a, b) for a, b in zip(pairs_by_way["plain"], pairs_by_way["fast"], strict=True)):
        raise SystemExit("the two joins find different pairs")
    return {"questions": number, "threshold": threshold, "pairs": len(pairs_by_way["fast"][0]), **compared(took)}


def compared(took: dict[str, list[float]]) -> dict[str, float]:
    """Seconds of both ways and their ratio."""
    plain_, fast = min(took["plain"]), min(took["fast"])
    return {"plain_seconds": round(plain_, 2), "seconds": round(fast, 2), "ratio": round(plain_ / fast, 1)}


def earlier(revision: str, folder: Path) -> Path:
    """The files of a commit, in a folder."""
    packed = subprocess.run(["git", "archive", revision], cwd=HERE.parent, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def measured(program: Path, *words: object) -> tuple[dict[str, float], str]:
    """Processor seconds and peak memory (MiB) of one command of a program, and what it printed."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env |= {"PYTHONPATH": str(program), "PYTHONPYCACHEPREFIX": str(Path(tempfile.gettempdir()) / "scedit-bytecode")}
    command = [sys.executable, "-m", "scedit", *map(str, words)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, cwd=program, text=True
    ) as process:
        assert process.stdout
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if status:
        raise SystemExit(f"{words[:3]} ended with {status}")
    return {"cpu_seconds": round(usage.ru_utime + usage.ru_stime, 2), "peak_mib": usage.ru_maxrss // 1024}, output


def with_earlier(revision: str, number: int, rounds: int, questions: int) -> dict[str, Any]:
    """Commands by both programs, in turn, round by round."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        programs = {"before": earlier(revision, folder / "before"), "now": HERE.parent}
        for program in programs.values():  # what is compiled once is of no command
            for command in ("data import", "split freeze", "store dedup"):
                measured(program, *command.split(), "--help")
        runs = Runs(programs)
        store_of_earlier = _imports(runs, number, rounds, folder / "freeze")
        (rule := folder / "rule.toml").write_text(RULE, "utf-8")
        minhash = ("--similarity", "minhash", "--threshold", 0.8)
        measured(programs["before"], "store", "dedup", "--store", store_of_earlier, *minhash)
        for _ in range(rounds):
            for name in programs:
                shutil.copy(store_of_earlier, store := folder / "freeze.duckdb")
                words = ("split", "freeze", "all", "--store", store, "--rule", rule, "--json")
                runs.add("freeze", name, *words, same=lambda output: json.loads(output)["digest"])
        if questions:
            store_of_earlier = _imports(Runs(programs), questions * 10 // 4, 1, folder / "dedup")
        for _ in range(rounds if questions else 0):
            for name in programs:
                shutil.copy(store_of_earlier, store := folder / "dedup.duckdb")
                words = ("store", "dedup", "--store", store, "--similarity", "rouge1", "--threshold", 0.8)
                runs.add("dedup rouge1 0.8", name, *words, same=lambda _, store=store: verdicts_of(store))
    sizes = {"items": number, "questions": number // 10 * 4, "questions of dedup": questions}
    return {**sizes, "revision": revision, "rounds": rounds, "machine": machine()} | runs.compared()


def _imports(runs: Runs, number: int, rounds: int, folder: Path) -> Path:
    """Imports by both programs; returns the first store of the earlier one, whose rows the other's must equal."""
    folder.mkdir()
    with open(file := folder / "items.jsonl", "w", encoding="utf-8") as out:
        for item in items(number):
            out.write(json.dumps({"kind": item.kind, **item.payload()}, ensure_ascii=False) + "\n")
    for n in range(rounds):
        for name in runs.programs:
            store = folder / f"{name}{n}.duckdb"
            runs.add("import", name, "data", "import", file, "--store", store, same=lambda _, s=store: records_of(s))
            if n or name == "now":
                store.unlink()
    return folder / "before0.duckdb"


def records_of(store: Path) -> str:
    """A hash of the records that a store of whatever version holds."""
    return _hash_of(store, "SELECT count(*), bit_xor(hash(id, kind, key, current, body)) FROM records")


def verdicts_of(store: Path) -> str:
    """A hash of what a search of duplicates said of each item."""
    columns = "count(*), bit_xor(hash(key, json_extract(body, ['label', 'value', 'related'])))"
    return _hash_of(store, f"SELECT {columns} FROM records WHERE kind = 'verdict' AND body LIKE '%\"near_duplicate@%'")


def _hash_of(store: Path, sql: str) -> str:
    """What a query answers, asked by another process: the peak of one that is started counts this one's memory."""
    ask = "import duckdb, sys; print(duckdb.connect(sys.argv[1], read_only=True).execute(sys.argv[2]).fetchall())"
    return subprocess.run([sys.executable, "-c", ask, store, sql], check=True, capture_output=True, text=True).stdout


class Runs:
    """Runs of commands by several programs, the first of which is the one that the others are compared with."""

    def __init__(self, programs: dict[str, Path]) -> None:
        self.programs = programs
        self._spent: dict[str, dict[str, list[dict[str, float]]]] = {}
        self._results: dict[str, Any] = {}

    def add(self, command: str, name: str, *words: object, same: Callable[[str], Any]) -> None:
        """Run a program; ``same`` says of its output what must be the same for all of them."""
        spent, output = measured(self.programs[name], *words)
        print(command, name, spent, file=sys.stderr, flush=True)
        self._spent.setdefault(command, {}).setdefault(name, []).append(spent)
        if self._results.setdefault(command, result := same(output)) != result:
            raise SystemExit(f"{command}: the two programs give different results")

    def compared(self) -> dict[str, Any]:
        """Of each command the seconds of every round, the ratio of their sums, its interval, and the greatest peaks."""
        return {command: _ratio(*by_program.values()) for command, by_program in self._spent.items()}


def _ratio(before: list[dict[str, float]], now: list[dict[str, float]]) -> dict[str, Any]:
    seconds_ = [[run["cpu_seconds"] for run in runs] for runs in (before, now)]
    result: dict[str, Any] = {"cpu_seconds": seconds_, "ratio": round(sum(seconds_[0]) / sum(seconds_[1]), 2)}
    if len(before) > 1:
        logs = np.log(np.divide(*seconds_))
        half = student_t.ppf(0.975, len(logs) - 1) * logs.std(ddof=1) / np.sqrt(len(logs))
        result["ratio_95"] = [round(float(np.exp(logs.mean() + side * half)), 2) for side in (-1, 1)]
    return {**result, "peak_mib": [max(run["peak_mib"] for run in runs) for runs in (before, now)]}


def main(
    number: int = 30_000, rounds: int = 3, *, only: str = "", revision: str = "a6e7ed8", questions: int = 0
) -> dict[str, Any]:
    """Everything, or one part beside what is on record of the others."""
    path = HERE / "results" / "curation_speed.json"
    results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["result"] if only and path.exists() else {}
    if only in ("", "import"):
        results["import"] = imports(number, rounds)
    if only in ("", "join"):
        results["join"] = [joins(number, t, 1) for t in (0.8, 0.7)] + [joins(min(number, 5_000), 0.4, 1)]
    if only in ("", "earlier"):
        done = with_earlier(revision, number, rounds, questions)
        others = [run for run in results.get("earlier", []) if run["items"] != number]
        results["earlier"] = sorted([*others, done], key=lambda run: run["items"])
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=30_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=("import", "join", "earlier"), default="")
    parser.add_argument("--revision", default="a6e7ed8", help="the commit that earlier is about")
    parser.add_argument("--questions", type=int, default=0, help="how many the exact join of earlier is timed on")
    args = parser.parse_args()
    result = main(args.n, args.rounds, only=args.only, revision=args.revision, questions=args.questions)
    write("curation_speed", result)
