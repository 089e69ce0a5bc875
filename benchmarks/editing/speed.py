"""Processor seconds of an edit, and of scoring a case, against the published-style loop; both in turn, in one run.

    python -m benchmarks.editing.speed --write                   all; about an hour of one core
    python -m benchmarks.editing.speed rome --edits 8            one method, alone and as a group of eight

The loop (``benchmarks/support/naive_reference.py``) makes one edit at a time with full passes. Ours makes every edit
alone, then all as one group. A ratio divides the two ways' sums over the same edits, on one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch

from benchmarks.run import write
from benchmarks.support import naive_reference
from benchmarks.support.workload import facts, script_cases, templates
from curation.files.artifact_cache import Cache
from curation.files.model_packages import cache_dir
from evaluation.editors.locate_edit.value_search import SearchSettings
from evaluation.editors.presets import make_editor
from evaluation.edits.weight_deltas import LowRankDelta
from evaluation.inference.batched_scoring import EditScorer
from evaluation.inference.request import EditedProbes
from evaluation.models.language_model import LM
from schemas.facts import Fact

EDITS = {"rome": 4, "memit": 8, "ft": 24}
CASES = 8


def seconds(run: Callable[[], Any]) -> float:
    """Processor seconds of a call."""
    start = time.process_time()
    run()
    return time.process_time() - start


def reference_edit(lm: LM, editor: Any, inverse: torch.Tensor | None, fact: Fact) -> Any:
    """One edit by the published-style loop, with the options of our editor."""
    p = editor.params
    if editor.name == "ft":
        return naive_reference.ft(lm, p.layer, fact, steps=p.steps, lr=p.lr, stop_below=p.stop_below)
    texts, moments = editor._material()
    if editor.name == "rome":
        assert inverse is not None
        return naive_reference.rome(lm, p.layer, fact, texts, inverse, SearchSettings.of(p))
    second = {layer: m.second for layer, m in moments.items()}
    return naive_reference.memit(lm, p.layers, [fact], texts, second, p.lam, SearchSettings.of(p))


def measure_method(lm: LM, name: str, cache: Cache, count: int) -> dict[str, Any]:
    """A method's edits by the loop, ours alone and ours as one group."""
    options: dict[str, dict[str, Any]] = {
        "rome": {"templates": templates(lm, cache, ((5, 10), (10, 10)))} if name == "rome" else {},
        "memit": {"lam": 100.0},
    }
    editor = make_editor(name, lm, cache, options.get(name, {}))
    editor.prepare(())
    inverse = None
    if name == "rome":
        inverse = torch.linalg.inv(editor._material()[1].second.double()).float()  # type: ignore[attr-defined]
    wanted, source = facts(count)
    editor.edit_each(wanted[:1])  # factors are made, weights packed
    loop = alone = 0.0
    for fact in wanted:
        loop += seconds(partial(reference_edit, lm, editor, inverse, fact))
        alone += seconds(partial(editor.edit_each, [fact]))
    group = seconds(partial(editor.edit_each, wanted))
    return _row(len(wanted), source, loop, alone=alone, group=group)


def measure_scripts(lm: LM, cache: Cache) -> dict[str, Any]:
    """Twelve script prompts a case, two targets each, under a rank-one edit a case."""
    cases, layer = script_cases(lm, CASES), make_editor("rome", lm, cache).params.layer
    draw = torch.Generator().manual_seed(0)
    deltas = []
    for _ in cases:
        left, right = (torch.randn(size, 1, generator=draw) for size in (lm.layout.width, lm.layout.inner))
        deltas.append([LowRankDelta(lm.layout.weight(layer), left / left.norm(), right / right.norm())])
    scorer = EditScorer(lm, layers=[layer])
    scorer.score([EditedProbes((), None, probes) for probes in cases])  # a run scores the unedited model first
    edited = [EditedProbes(delta, None, probes) for delta, probes in zip(deltas, cases, strict=True)]

    def loop_case(n: int) -> None:
        with naive_reference.in_force(lm, deltas[n]):
            naive_reference.evaluate(lm, cases[n])

    loop = sum(seconds(partial(loop_case, n)) for n in range(CASES))
    return _row(CASES, "cases of 12 script prompts", loop, group=seconds(partial(scorer.score, edited)))


def _row(count: int, source: str, loop: float, **ours: float) -> dict[str, Any]:
    """Seconds each and the ratio, for every way of ours."""
    row: dict[str, Any] = {"n": count, "of": source, "loop_seconds": round(loop / count, 3)}
    for name, total in ours.items():
        row[f"{name}_seconds"], row[f"{name}_ratio"] = round(total / count, 3), round(loop / total, 2)
    return {**row, "load_average": round(os.getloadavg()[0], 1)}


def main() -> None:
    """Measure, print, and with ``--write`` store the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=[*EDITS, "scripts"], help=f"of {', '.join(EDITS)}, scripts")
    parser.add_argument("--edits", type=int, help="edits of a method, instead of " + json.dumps(EDITS))
    parser.add_argument("--write", action="store_true", help="store the result in results/speed.json")
    options = parser.parse_args()
    torch.set_num_threads(1)
    lm, cache = LM.load("embedded", device="cpu"), Cache(cache_dir())
    results: dict[str, Any] = {"model": "SmolLM2-135M-Instruct (embedded), float32, CPU", "threads": 1}
    for name in options.what:
        scripts = name == "scripts"
        results[name] = (
            measure_scripts(lm, cache) if scripts else measure_method(lm, name, cache, options.edits or EDITS[name])
        )
        print(f"{name}: {json.dumps(results[name])}", file=sys.stderr, flush=True)
    if options.write:
        write("speed", results)
    else:
        print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
