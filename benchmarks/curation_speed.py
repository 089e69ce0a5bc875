"""Fast ways of the store and of the exact join against the plain ways they must equal, in one run, with the ratio.

    python -m benchmarks.curation_speed      (from the repository root)

Import: records written by pydantic and json one by one, with a line of lineage each, against the writers of
``schemas.core.json_text`` and one act for all. Join: one product of all prefixes (``support.prefix_products``)
against ``curation.similarity.prefix_join``. The two ways alternate; seconds are those of the processor, the least of
the rounds. Rows, pairs and values are compared: where they differ, the run ends with an error.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import duckdb
import numpy as np

from benchmarks.curation import questions
from benchmarks.run import write
from benchmarks.store import items
from benchmarks.support.prefix_products import similar_pairs as products
from curation.loaders.importer import import_file
from curation.similarity.prefix_join import similar_pairs
from curation.similarity.rouge import encode
from curation.store.writer import PendingRows
from schemas.core import json_text
from schemas.lineage import Lineage


def _plain_acts(rows: PendingRows, ids: Sequence[str], act: Lineage) -> None:
    rows.lineage([Lineage.model_validate({**act.model_dump(), "item_id": item}) for item in ids])


@contextlib.contextmanager
def plain() -> Iterator[None]:
    """The plain way of an import."""
    with patch.object(json_text, "writer_of", lambda *_, **__: None), patch.object(PendingRows, "acts", _plain_acts):
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
    found = {}
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
                found[way] = rows_of(store)
                store.unlink()
    if found["plain"] != found["fast"]:
        raise SystemExit("the two ways of importing give different rows")
    return {"items": number, **compared(took)}


def joins(number: int, threshold: float, rounds: int) -> dict[str, Any]:
    """The exact join in both ways."""
    rows = encode(questions(number))
    took: dict[str, list[float]] = {"plain": [], "fast": []}
    found = {}
    for _ in range(rounds):
        for way, join in (("plain", products), ("fast", similar_pairs)):
            spent, blocks = seconds(lambda join=join: list(join(rows, threshold=threshold)))  # type: ignore[misc]
            took[way].append(spent)
            pairs = np.concatenate([np.empty(0, dtype=np.int64), *(b.first * number + b.second for b in blocks)])
            order = np.argsort(pairs)
            found[way] = pairs[order], np.concatenate([np.empty(0), *(b.value for b in blocks)])[order]
    if not all(np.array_equal(a, b) for a, b in zip(found["plain"], found["fast"], strict=True)):
        raise SystemExit("the two joins find different pairs")
    return {"questions": number, "threshold": threshold, "pairs": len(found["fast"][0]), **compared(took)}


def compared(took: dict[str, list[float]]) -> dict[str, float]:
    """Seconds of both ways and their ratio."""
    plain_, fast = min(took["plain"]), min(took["fast"])
    return {"plain_seconds": round(plain_, 2), "seconds": round(fast, 2), "ratio": round(plain_ / fast, 1)}


def main(number: int = 30_000, rounds: int = 3) -> dict[str, Any]:
    """Everything."""
    made = [joins(number, t, 1) for t in (0.8, 0.7)] + [joins(min(number, 5_000), 0.4, 1)]
    return {"import": imports(number, rounds), "join": made}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=30_000)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    write("curation_speed", main(args.n, args.rounds))
