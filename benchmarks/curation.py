"""Near-duplicates among made questions: time, memory, recall and precision as the number grows.

    python -m benchmarks.curation --n 1000000      (from the repository root)

Every size runs in a process of its own, so that its peak memory is its own. The questions are made from a seed: a fifth
of them are an earlier question with one to three words changed, the rest come from templates and made names. Recall and
precision are measured against an exact comparison of a sample of questions with all others. Results go to
benchmarks/results/curation.json, one entry a size, with the machine and the versions.
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
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

OUT = Path(__file__).parent / "results" / "curation.json"
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


def questions(n: int, *, seed: int = 0) -> list[str]:
    """n questions; about a fifth are near-duplicates of an earlier one."""
    rng = random.Random(seed)
    out: list[str] = []
    for _ in range(n):
        if out and rng.random() < 0.2:
            words = rng.choice(out).rstrip("?").split()
            for _ in range(rng.randint(1, 3)):
                words[rng.randrange(len(words))] = rng.choice([made_name(rng), rng.choice(THINGS), rng.choice(VERBS)])
            out.append(" ".join(words) + "?")
        else:
            out.append(fresh(rng))
    return out


def peak_mib() -> float:
    """Peak resident memory of this process, MiB (Linux: VmHWM, because ru_maxrss begins with the parent's peak)."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2)


def measure(n: int, *, method: str, threshold: float, sample: int) -> dict[str, Any]:
    """One size: find, then compare with the truth of a sample."""
    from curation.dedup import Item, near_duplicates

    start = time.perf_counter()
    items = [Item(f"{i:09d}", f"q/{i:09d}", text) for i, text in enumerate(questions(n))]
    made, memory = time.perf_counter() - start, peak_mib()
    start = time.perf_counter()
    found = near_duplicates(items, method=method, threshold=threshold)  # type: ignore[arg-type]
    seconds = time.perf_counter() - start
    peak = peak_mib()
    clusters = sum(1 for _ in found.clusters())
    result = {"n": n, "method": method, "threshold": threshold, "seconds": round(seconds, 2)}
    result |= {"seconds_to_make": round(made, 2), "questions_mib": round(memory), "peak_mib": round(peak)}
    result |= {"duplicates": found.duplicates, "clusters": clusters}
    if sample:
        result |= against_truth(items, found, threshold=threshold, sample=sample)
    return result


def against_truth(items: list[Any], found: Any, *, threshold: float, sample: int) -> dict[str, Any]:
    """Item recall and precision, and pair recall of the candidates, for a sample against all earlier questions."""
    import numpy as np

    from curation.minhash import candidate_pairs, plan
    from curation.similarity import EPSILON, encode, rouge1_f

    rows = encode(i.text for i in items)
    chosen = sorted(random.Random(1).sample(range(len(items)), min(sample, len(items))))
    transposed, true_pairs, best = rows.matrix.T.tocsr(), set(), {}
    for j in chosen:
        shared = np.asarray((rows.matrix[j] @ transposed).todense()).ravel()
        value = 2 * shared / (rows.size + rows.size[j])
        alike = np.flatnonzero(value[:j] >= threshold - EPSILON)
        true_pairs |= {(int(i), j) for i in alike}
        best[j] = float(value[alike].max()) if len(alike) else 0.0
    checked = sorted(true_pairs)[:200]
    assert all(rouge1_f(items[i].text, items[j].text) >= threshold - EPSILON for i, j in checked)
    truth = {j for j in chosen if best[j]}
    said = {j for j in chosen if found.partner[j] >= 0}
    out: dict[str, Any] = {"sample": len(chosen), "sample_true_pairs": len(true_pairs)}
    out["item_recall"] = round(len(truth & said) / len(truth), 4) if truth else None
    out["item_precision"] = round(len(truth & said) / len(said), 4) if said else None
    out["best_value_equal"] = (
        round(sum(abs(found.best[j] - best[j]) < 1e-9 for j in truth) / len(truth), 4) if truth else None
    )
    if found.method == "minhash" and true_pairs and len(items) <= 100_000:  # a second pass over the candidates
        keys = np.asarray(sorted(i * len(items) + j for i, j in true_pairs))
        hit, candidates = np.zeros(len(keys), dtype=bool), 0
        for first, second in candidate_pairs(rows, how=plan(threshold)):
            candidates += len(first)
            hit |= np.isin(keys, first * len(items) + second)
        out |= {"plan": plan(threshold)._asdict(), "candidates": candidates, "pair_recall": round(float(hit.mean()), 4)}
        out["expected_recall_at_threshold"] = round(plan(threshold).recall(threshold), 4)
    return out


def main() -> None:
    """Run the sizes up to --n and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=1_000_000)
    parser.add_argument("--sample", type=int, default=500, help="questions compared with all others for the truth")
    parser.add_argument("--threshold", type=float, default=0.8)
    parser.add_argument("--exact-up-to", type=int, default=100_000, help="also time the exact join up to this size")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if not __package__:  # as a file it would hide the package of its name
        parser.error("run it from the repository root: python -m benchmarks.curation")
    if args.one:
        method, n = args.one.split(":")
        print(json.dumps(measure(int(n), method=method, threshold=args.threshold, sample=args.sample)))
        return
    sizes = sorted({n for n in (10_000, 100_000, 1_000_000) if n < args.n} | {args.n})
    results = []
    for n in sizes:
        for method in ["minhash"] + (["rouge1"] if n <= args.exact_up_to else []):
            command = [
                sys.executable,
                "-m",
                "benchmarks.curation",
                "--one",
                f"{method}:{n}",
                "--sample",
                str(args.sample),
            ]
            command += ["--threshold", str(args.threshold)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=OUT.parents[2])
            results.append(json.loads(done.stdout))
            print(json.dumps(results[-1]), flush=True)
    names = ("scedit", "numpy", "scipy", "pydantic")
    about = {
        "what": "near-duplicates of made questions (ROUGE-1 F)",
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}",
        "python": platform.python_version(),
        "load_at_end": os.getloadavg()[0],
        "versions": {name: importlib.metadata.version(name) for name in names},
        "results": results,
    }
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    print(f"written: {args.out}")


if __name__ == "__main__":
    main()
