"""Scoring: the one scorer against the plain way, side by side in one run, equal answers required.

The plain way is that of the published code: one prompt with one target at a time, a full forward pass each, logits of
the whole vocabulary at every position.
"""

from __future__ import annotations

import time
from typing import Any

import torch

from curation.shipped import mini_split
from evaluation.lm import LM
from evaluation.metrics import METRICS
from schemas.cases import Answer, ScoreProbe, TargetScore


def plainly(lm: LM, probe: ScoreProbe) -> Answer:
    """One sequence a target, nothing shared."""
    found = []
    for target in probe.targets:
        text = probe.prompt + probe.separator + target
        start = len(probe.prompt) + len(probe.separator)
        coded = lm.tokenizer(text, return_offsets_mapping=True)
        ids = torch.tensor([coded["input_ids"]], device=lm.device)
        with torch.no_grad():
            logits = lm.model(ids).logits.float().log_softmax(-1)[0]
        first = next(i for i, (_, end) in enumerate(coded["offset_mapping"]) if end > start)
        places = range(first, ids.shape[1])
        total = sum(float(logits[i - 1, ids[0, i]]) for i in places)
        found.append(TargetScore(text=target, logprob=total, tokens=len(places)))
    return Answer(probe=probe.id, targets=tuple(found))


def main(cases: int = 8) -> dict[str, Any]:
    """Score the script probes of some cases of mini both ways; raises where they differ by more than 1e-3 nats."""
    lm = LM.load("embedded", device="cpu")
    metrics = [METRICS.get(name)() for name in ("s_es", "s_ns", "s_bo")]
    probes = {p.id: p for case in mini_split().cases[:cases] for m in metrics for p in m.probes(case)}
    asked = list(probes.values())
    lm.score(asked[:2])
    plainly(lm, asked[0])
    start = time.perf_counter()
    ours = lm.score(asked)
    fast = time.perf_counter() - start
    start = time.perf_counter()
    theirs = [plainly(lm, p) for p in asked]
    slow = time.perf_counter() - start
    gap = max(
        abs(a.logprob - b.logprob)
        for x, y in zip(ours, theirs, strict=True)
        for a, b in zip(x.targets, y.targets, strict=True)
    )
    if gap > 1e-3:
        raise AssertionError(f"the two ways differ by {gap} nats")
    return {
        "what": "scoring of script probes, one scorer against one pair at a time",
        "model": "SmolLM2-135M-Instruct (embedded), float32, cpu",
        "probes": len(asked),
        "targets": sum(len(p.targets) for p in asked),
        "seconds_plain": round(slow, 2),
        "seconds_ours": round(fast, 2),
        "ratio": round(slow / fast, 2),
        "largest_difference_nats": gap,
    }
