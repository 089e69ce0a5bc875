"""Processor seconds of an edit, and of scoring a case, against the published-style loop; both in turn, in one run.

    python benchmarks/run.py speed                       all, into results/speed.json; about half an hour of one core
    python -m benchmarks.speed rome --edits 8            one method, alone and as a group of eight

The loop (``benchmarks/support/naive_reference.py``) makes one edit at a time with full passes. Ours makes every edit
alone, then all as one group. A ratio divides the two ways' sums over the same edits, on one thread. Both ways' results
are compared: edits by the negative log-likelihood of the new object after them, scores by log-probability.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch

from benchmarks.support import naive_reference
from benchmarks.support.workload import after, facts, script_cases, templates, widest
from curation.files.artifact_cache import Cache
from curation.files.model_packages import cache_dir
from evaluation.editors.locate_edit.value_search import SearchSettings
from evaluation.editors.presets import make_editor
from evaluation.edits.weight_deltas import Delta, LowRankDelta
from evaluation.inference.batched_scoring import EditScorer
from evaluation.inference.passes import EditedProbes
from evaluation.models.language_model import LM
from schemas.facts import Fact

EDITS = {"rome": 4, "memit": 8, "ft": 24}
CASES = 8
LARGEST_GAP = 1e-3
"""Nats by which the two ways of scoring may differ."""


def measured(run: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds of a call, and its result."""
    start = time.process_time()
    result = run()
    return time.process_time() - start, result


def reference_edit(lm: LM, editor: Any, inverse: torch.Tensor | None, fact: Fact) -> Sequence[Delta]:
    """One edit by the published-style loop, with the options of our editor."""
    p = editor.params
    if editor.name == "ft":
        return [naive_reference.ft(lm, p.layer, fact, steps=p.steps, lr=p.lr, stop_below=p.stop_below)[0]]
    texts, moments = editor._material()
    if editor.name == "rome":
        assert inverse is not None
        return [naive_reference.rome(lm, p.layer, fact, texts, inverse, SearchSettings.of(p))[0]]
    second = {layer: m.second for layer, m in moments.items()}
    return naive_reference.memit(lm, p.layers, [fact], texts, second, p.lam, SearchSettings.of(p))[0]


def measure_method(lm: LM, name: str, cache: Cache, count: int) -> dict[str, Any]:
    """A method's edits by the loop, ours alone and ours as one group."""
    options: dict[str, Any] = {"memit": {"lam": 100.0}}.get(name, {})
    if name == "rome":
        options = {"templates": templates(lm, cache, ((5, 10), (10, 10)))}
    editor = make_editor(name, lm, cache, options)
    editor.prepare(())
    inverse = None
    if name == "rome":
        inverse = torch.linalg.inv(editor._material()[1].second.double()).float()  # type: ignore[attr-defined]
    wanted, source = facts(count)
    editor.edit_each(wanted[:1])  # factors are made, weights packed
    loop = alone = 0.0
    theirs = []
    for fact in wanted:
        spent, deltas = measured(partial(reference_edit, lm, editor, inverse, fact))
        loop += spent
        theirs.append(deltas)
        alone += measured(partial(editor.edit_each, [fact]))[0]
    group, edits = measured(partial(editor.edit_each, wanted))
    pairs = zip(after(lm, wanted, [edit.deltas for edit in edits]), after(lm, wanted, theirs), strict=True)
    gap = max(abs(ours[0] - reference[0]) for ours, reference in pairs)
    return row(len(wanted), source, loop, gap, alone=alone, group=group)


def measure_scripts(lm: LM, cache: Cache) -> dict[str, Any]:
    """Twelve script prompts a case, two targets each, under a rank-one edit a case.

    Raises:
        AssertionError: the two ways of scoring differ by more than ``LARGEST_GAP``.
    """
    cases, layer = script_cases(lm, CASES), make_editor("rome", lm, cache).params.layer
    draw = torch.Generator().manual_seed(0)
    deltas = []
    for _ in cases:
        left, right = (torch.randn(size, 1, generator=draw) for size in (lm.layout.width, lm.layout.inner))
        deltas.append([LowRankDelta(lm.layout.weight(layer), left / left.norm(), right / right.norm())])
    scorer = EditScorer(lm, layers=[layer])
    scorer.score([EditedProbes((), None, probes) for probes in cases])  # a run scores the unedited model first
    edited = [EditedProbes(delta, None, probes) for delta, probes in zip(deltas, cases, strict=True)]

    def loop_cases() -> list[Any]:
        answers = []
        for n in range(CASES):
            with naive_reference.with_deltas(lm, deltas[n]):
                answers.append(naive_reference.evaluate(lm, cases[n]))
        return answers

    loop, theirs = measured(loop_cases)
    group, ours = measured(partial(scorer.score, edited))
    gap = widest(ours, theirs)
    if gap > LARGEST_GAP:
        raise AssertionError(f"the two ways of scoring differ by {gap} nats")
    return row(CASES, "cases of 12 script prompts", loop, gap, group=group)


def row(count: int, source: str, loop: float, gap: float, **ours: float) -> dict[str, Any]:
    """Seconds each, and the ratio for every way of ours."""
    result: dict[str, Any] = {"n": count, "of": source, "loop_seconds": round(loop / count, 3)}
    for name, total in ours.items():
        result[f"{name}_seconds"], result[f"{name}_ratio"] = round(total / count, 3), round(loop / total, 2)
    return {**result, "largest_gap_nats": float(f"{gap:.2g}"), "load_average": round(os.getloadavg()[0], 1)}


def main(what: Sequence[str] = (*EDITS, "scripts"), *, edits: int | None = None) -> dict[str, Any]:
    """Measure on one thread."""
    torch.set_num_threads(1)
    lm, cache = LM.load("embedded", device="cpu"), Cache(cache_dir())
    results: dict[str, Any] = {"model": "SmolLM2-135M-Instruct (embedded), float32, CPU", "threads": 1}
    for name in what:
        scripts = name == "scripts"
        results[name] = measure_scripts(lm, cache) if scripts else measure_method(lm, name, cache, edits or EDITS[name])
        print(f"{name}: {json.dumps(results[name])}", file=sys.stderr, flush=True)
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=[*EDITS, "scripts"], help=f"of {', '.join(EDITS)}, scripts")
    parser.add_argument("--edits", type=int, help=f"edits of a method, instead of {json.dumps(EDITS)}")
    chosen = parser.parse_args()
    print(json.dumps(main(chosen.what, edits=chosen.edits), indent=1))
