"""Fast ways of the store and of the exact join against the plain ways they must equal, in one run, with the ratio.

    python -m benchmarks.curation_speed                                      (from the repository root)
    python -m benchmarks.curation_speed --only earlier --revision a6e7ed8 --n 100000      (in a clone)

Import: records written by pydantic and json one by one, with a line of lineage each, against the writers of
``schemas.core.json_text`` and one act for all. Join: one product of all prefixes (``support.prefix_products``)
against ``curation.similarity.prefix_join``. The two ways alternate; seconds are those of the processor, the least of
the rounds. Rows, pairs and values are compared: where they differ, the run ends with an error.

Earlier: the commands ``data import`` and ``split freeze`` of an earlier commit and of this one, in turn, each in a
process of its own, with its peak memory; both freeze one store, and the digests must be the same.
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

from benchmarks.curation import questions
from benchmarks.run import HERE, write
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


def with_earlier(revision: str, number: int, rounds: int) -> dict[str, Any]:
    """Both commands by both programs; of the rounds the least processor time and the greatest peak count."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        programs = {"before": earlier(revision, folder / "before"), "now": HERE.parent}
        for program in programs.values():  # what is compiled once is of no command
            measured(program, "data", "import", "--help")
            measured(program, "split", "freeze", "--help")
        (rule := folder / "rule.toml").write_text(RULE, "utf-8")
        with open(file := folder / "items.jsonl", "w", encoding="utf-8") as out:
            for item in items(number):
                out.write(json.dumps({"kind": item.kind, **item.payload()}, ensure_ascii=False) + "\n")
        spent_by_command: dict[str, dict[str, list[dict[str, float]]]] = {"import": {}, "freeze": {}}
        for n in range(rounds):
            for name, program in programs.items():
                spent, _ = measured(program, "data", "import", file, "--store", folder / f"{name}{n}.duckdb")
                spent_by_command["import"].setdefault(name, []).append(spent)
        judged = folder / "before0.duckdb"
        measured(programs["before"], "store", "dedup", "--store", judged, "--similarity", "minhash", "--threshold", 0.8)
        digests = set()
        for _ in range(rounds):
            for name, program in programs.items():
                shutil.copy(judged, store := folder / "freeze.duckdb")
                spent, output = measured(program, "split", "freeze", "all", "--store", store, "--rule", rule, "--json")
                spent_by_command["freeze"].setdefault(name, []).append(spent)
                digests.add(json.loads(output)["digest"])
    if len(digests) != 1:
        raise SystemExit("the two programs freeze different splits")
    return {"items": number, "questions": number // 10 * 4, "revision": revision, "rounds": rounds} | {
        command: _ratio(**both) for command, both in spent_by_command.items()
    }


def _ratio(before: list[dict[str, float]], now: list[dict[str, float]]) -> dict[str, Any]:
    least = [min(run["cpu_seconds"] for run in runs) for runs in (before, now)]
    peaks = [max(run["peak_mib"] for run in runs) for runs in (before, now)]
    return {"cpu_seconds": least, "ratio": round(least[0] / least[1], 2), "peak_mib": peaks}


def main(number: int = 30_000, rounds: int = 3, *, only: str = "", revision: str = "a6e7ed8") -> dict[str, Any]:
    """Everything, or one part beside what is on record of the others."""
    path = HERE / "results" / "curation_speed.json"
    results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["result"] if only and path.exists() else {}
    if only in ("", "import"):
        results["import"] = imports(number, rounds)
    if only in ("", "join"):
        results["join"] = [joins(number, t, 1) for t in (0.8, 0.7)] + [joins(min(number, 5_000), 0.4, 1)]
    if only in ("", "earlier"):
        results["earlier"] = with_earlier(revision, number, rounds)
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=30_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=("import", "join", "earlier"), default="")
    parser.add_argument("--revision", default="a6e7ed8", help="the commit that earlier is about")
    args = parser.parse_args()
    write("curation_speed", main(args.n, args.rounds, only=args.only, revision=args.revision))
