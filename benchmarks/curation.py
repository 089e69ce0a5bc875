"""Near-duplicates among made questions as their number grows, and the import of all CounterFact edits.

    python -m benchmarks.curation --n 100000      (from the repository root)

Every size runs in a process of its own, so that its peak memory is its own. A question is made from its number alone,
so none has to be held: a fifth of them are an earlier question with one to three words changed, the rest come from
templates and made names. Recall and precision are measured against a plain comparison of sampled questions with all
earlier ones: of at least 300 questions, and until there are enough true pairs. The CounterFact files lie in
../shared/data/counterfact (or SCEDIT_SHARED). Results go to benchmarks/results/curation.json, with the machine and the
versions.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from schemas.core.clock import now

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "benchmarks" / "results" / "curation.json"
PLAN = [  # (number, method, threshold)
    *((10_000, "rouge1", t) for t in (0.4, 0.7, 0.8)),
    (100_000, "rouge1", 0.7),
]
LEAST = 300
VERBS = ["reach", "visit", "explore", "paint", "photograph", "restore", "study", "describe", "cross", "protect"]
VERBS += ["film", "rent", "sell", "measure", "repair"]
THINGS = ["harbour", "library", "temple", "museum", "bridge", "garden", "castle", "market", "tower", "station"]
THINGS += ["valley", "theatre", "canal", "school"]
FIRST = [
    "by train from {a} through {b}",
    "together with {a} and {b}",
    "if the road between {a} and {b} is closed",
    "and send a postcard to {a} in {b}",
    "before the {a} season in {b}",
    "with a map that {a} drew of {b}",
    "for the school of {a} near {b}",
    "when {a} wins against {b}",
]
SECOND = [
    "without spending more than {n} {c} coins",
    "during the {c} festival of {d}",
    "as described in the {c} guide to {d}",
    "with only {n} days before meeting {c}",
    "to please the mayor of {c} and {d}",
    "using a {c} ticket bought in {d}",
    "after page {n} of the {c} report",
    "while {c} watches over {d}",
]
OPENINGS = ["How can I", "How do I", "How would a student from {q}", "How should my family", "How could a {q} tourist"]


def made_name(rng: random.Random) -> str:
    """A pronounceable name of two or three syllables."""
    parts = [rng.choice("bdfgklmnprstvz") + rng.choice("aeiou") + rng.choice(["", "n", "r", "l"]) for _ in range(3)]
    return "".join(parts[: rng.choice([2, 3])]).capitalize()


def fresh(rng: random.Random) -> str:
    """A question from the templates."""
    slots: dict[str, object] = {name: made_name(rng) for name in "abcdq"} | {"n": rng.randint(2, 999)}
    opening = rng.choice(OPENINGS).format(**slots)
    trail = f"{rng.choice(FIRST)} {rng.choice(SECOND)}".format(**slots)
    return f"{opening} {rng.choice(VERBS)} the {rng.choice(THINGS)} of {made_name(rng)} {trail}?"


def question(number: int) -> str:
    """The question of a number; in one of five cases an earlier number's with one to three words changed."""
    rng = random.Random(-number - 1)  # the templates of a number are drawn from Random(number)
    if not number or rng.random() >= 0.2:
        return fresh(random.Random(2 * number))
    words = fresh(random.Random(2 * rng.randrange(number))).rstrip("?").split()
    for _ in range(rng.randint(1, 3)):
        words[rng.randrange(len(words))] = rng.choice([made_name(rng), rng.choice(THINGS), rng.choice(VERBS)])
    return " ".join(words) + "?"


def questions(n: int) -> Iterator[str]:
    """The first n questions, one at a time."""
    return map(question, range(n))


def peak_mib() -> float:
    """Peak resident memory of this process, MiB (Linux: VmHWM, because ru_maxrss begins with the parent's peak)."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2)


def measure(n: int, *, method: str, threshold: float, pairs: int, limit: int) -> dict[str, Any]:
    """One size: find, then compare with the truth of a sample: so many true pairs, in at most so many items."""
    from curation.overlap.near_duplicates import near_duplicates
    from curation.similarity.texts import TextItem

    start, worked = time.perf_counter(), time.process_time()
    for _ in questions(n):
        pass
    seconds_to_make, before, making = time.perf_counter() - start, peak_mib(), time.process_time() - worked
    start, worked = time.perf_counter(), time.process_time()
    items = (TextItem(f"{i:09d}", f"q/{i:09d}", text) for i, text in enumerate(questions(n)))
    duplicates = near_duplicates(items, method=method, threshold=threshold)  # type: ignore[arg-type]
    seconds = time.perf_counter() - start - seconds_to_make
    result = {"n": n, "method": method, "threshold": threshold, "seconds": round(seconds, 1)}
    result["cpu_seconds"] = round(time.process_time() - worked - making, 1)
    result |= {"seconds_to_make": round(seconds_to_make, 1), "start_mib": round(before), "peak_mib": round(peak_mib())}
    result |= {"duplicates": duplicates.duplicates, "clusters": duplicates.clustered}
    return result | against_truth(duplicates, pairs=pairs, limit=limit)


def against_truth(result: Any, *, pairs: int, limit: int) -> dict[str, Any]:
    """Recall and precision per item, and pair recall of the candidates, for a sample against all earlier questions.

    The truth is plain: for every sampled question the words shared with each other question are counted.
    """
    import numpy as np

    from curation.similarity.pairs import EPSILON, encode
    from curation.similarity.texts import rouge1_f

    rows = encode(i.text for i in result.items)
    postings, n = rows.matrix.tocsc(), len(result.items)
    chosen, best, true_pairs, first = list[int](), dict[int, float](), 0, list[tuple[int, int]]()
    for j in random.Random(1).sample(range(n), min(limit, n)):
        if true_pairs >= pairs and len(chosen) >= LEAST:
            break
        shared = np.zeros(n, dtype=np.int16)
        for column in rows.matrix.indices[rows.matrix.indptr[j] : rows.matrix.indptr[j + 1]]:
            shared[postings.indices[postings.indptr[column] : postings.indptr[column + 1]]] += 1
        value = 2 * shared[:j] / np.maximum(rows.size[:j] + rows.size[j], 1)
        alike = np.flatnonzero((value >= result.threshold - EPSILON) & (shared[:j] > 0))
        chosen.append(j)
        true_pairs += len(alike)
        best[j] = float(value[alike].max()) if len(alike) else 0.0
        first += [(int(i), j) for i in alike[:5]][: max(0, 200 - len(first))]
    for i, j in first:  # the definition itself, on some of the pairs
        assert rouge1_f(result.items[i].text, result.items[j].text) >= result.threshold - EPSILON
    truth, flagged = {j for j in chosen if best[j]}, {j for j in chosen if result.partner[j] >= 0}
    out: dict[str, Any] = {"sample": len(chosen), "sample_true_pairs": true_pairs, "sample_true_items": len(truth)}
    out["item_recall"] = round(len(truth & flagged) / len(truth), 4) if truth else None
    out["item_precision"] = round(len(truth & flagged) / len(flagged), 4) if flagged else None
    out["best_value_equal"] = (
        round(sum(abs(result.best[j] - best[j]) < 1e-9 for j in truth) / len(truth), 4) if truth else None
    )
    return out


def counterfact() -> dict[str, Any] | None:
    """Time and peak memory of the import of all CounterFact edits into one store; None where the files are not here."""
    named = os.environ.get("SCEDIT_SHARED")
    folder = (Path(named) if named else ROOT.parent / "shared") / "data" / "counterfact"
    files = [folder / f"counterfact-{part}.json" for part in ("edit", "train", "val")]
    if not all(f.is_file() for f in files):
        return None
    out: dict[str, Any] = {"facts": 0, "seconds": 0.0, "peak_mib": 0, "files": []}
    with tempfile.TemporaryDirectory() as place:
        store = Path(place) / "s.duckdb"
        for file in files:
            start = time.perf_counter()
            command = [
                sys.executable,
                "-m",
                "scedit",
                "data",
                "import",
                str(file),
                "--store",
                str(store),
                "--json",
            ]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
                assert process.stdout
                reply = json.loads(process.stdout.readline())
                process.stdout.read()
                _, status, usage = os.wait4(process.pid, 0)
            if status:
                raise SystemExit(f"the import of {file.name} ended with {status}")
            one = {"file": file.name, "facts": reply["facts"], "seconds": round(time.perf_counter() - start, 2)}
            one |= {"cpu_seconds": round(usage.ru_utime + usage.ru_stime, 2), "peak_mib": usage.ru_maxrss // 1024}
            out["files"].append(one)
        out["store_mib"] = round(store.stat().st_size / 2**20)
    out["facts"] = sum(f["facts"] for f in out["files"])
    for name in ("seconds", "cpu_seconds"):
        out[name] = round(sum(f[name] for f in out["files"]), 2)
    out["peak_mib"] = max(f["peak_mib"] for f in out["files"])
    return out


def setting() -> dict[str, Any]:
    """What the timings were taken on."""
    names = ("scedit", "numpy", "scipy", "pydantic", "duckdb")
    return {
        "what": "near-duplicates of made questions (ROUGE-1 F); import of all CounterFact edits",
        "when": now(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}",
        "python": platform.python_version(),
        "load_at_end": os.getloadavg()[0],
        "versions": {name: importlib.metadata.version(name) for name in names},
    }


def main() -> None:
    """Run the sizes up to --n and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=1_000_000, help="leave out the larger sizes")
    parser.add_argument("--pairs", type=int, default=1000, help="true pairs that a sample has at the least")
    parser.add_argument("--most", type=int, default=1500, help="questions of a sample at the most")
    parser.add_argument(
        "--only", action="append", default=[], help="METHOD:NUMBER:THRESHOLD, or counterfact; merged in"
    )
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if not __package__:  # as a file it would hide the package of its name
        parser.error("run it from the repository root: python -m benchmarks.curation")
    if args.one:
        method, n, threshold = args.one.split(":")
        print(json.dumps(measure(int(n), method=method, threshold=float(threshold), pairs=args.pairs, limit=args.most)))
        return
    if not args.only:
        args.out.unlink(missing_ok=True)
    for name in args.only or [*(f"{m}:{n}:{t}" for n, m, t in PLAN if n <= args.n), "counterfact"]:
        if name == "counterfact":
            result = counterfact()
        else:
            command = [sys.executable, "-m", "benchmarks.curation", "--one", name]
            command += ["--pairs", str(args.pairs), "--most", str(args.most)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT)
            result = json.loads(done.stdout) | {"load": round(os.getloadavg()[0], 2)}
        print(json.dumps(result), flush=True)
        merge(args.out, name, result)


def merge(path: Path, name: str, result: dict[str, Any] | None) -> None:
    """Put one result in the place of an earlier one of its kind."""
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    results = {f"{r['method']}:{r['n']}:{r['threshold']}": r for r in known.get("results", [])}
    imported = known.get("counterfact_import")
    if name == "counterfact":
        imported = result or imported
    elif result:
        results[name] = result
    ordered = sorted(results.values(), key=lambda r: (r["n"], r["threshold"], r["method"]))
    text = json.dumps({**setting(), "results": ordered, "counterfact_import": imported}, indent=1)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
