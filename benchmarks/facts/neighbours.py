"""Neighbours for every CounterFact edit: the seeded draw, and the nearest subjects, beside the naive search.

Run: python benchmarks/run.py neighbours

The data are the three flat files of ../shared/data/counterfact (or SCEDIT_SHARED), where a template is the relation.
Seconds are of the processor: one thread works, and other work on the machine does not count.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

K, SAMPLE = 10, 200


def neighbours() -> dict[str, Any]:
    """Seconds for all edits; the naive twins are timed on some of them and multiplied."""
    from benchmarks.support.naive_neighbours import nearest_one_by_one
    from construction.neighbours.near_subjects import nearest
    from construction.neighbours.same_object import draw_same_object, names, norm
    from construction.neighbours.vectors import CharacterTfidf
    from curation.loaders import load

    folder = Path(os.environ.get("SCEDIT_SHARED", "../shared")) / "data/counterfact"
    paths = sorted(folder.glob("counterfact-*.json"))
    if not paths:
        return {"skipped": f"no counterfact-*.json in {folder}: set SCEDIT_SHARED"}
    facts = [fact for path in paths for fact in load(str(path)).facts]
    some = facts[:: len(facts) // SAMPLE][:SAMPLE]

    def scan() -> None:
        for edit in some:
            place = edit.relation.id, norm(edit.old.text)
            group = [f for f in facts if (f.relation.id, norm(f.old.text)) == place]
            group = [f for f in group if not names(f.subject) & names(edit.subject)]

    def warm() -> None:
        for fact in facts:
            names(fact.subject, fact.old)

    norm.cache_clear()
    drawn, seconds = _timed(lambda: draw_same_object(facts, facts, k=K))
    warm()
    _, slow = _timed(scan)
    near, seconds_near = _timed(lambda: nearest(facts, facts, k=K, space=CharacterTfidf()))
    few = some[:20]
    _, fast_few = _timed(lambda: nearest(few, facts, k=K, space=CharacterTfidf()))
    _, slow_few = _timed(lambda: nearest_one_by_one(few, facts, k=K, space=CharacterTfidf()))
    scale = len(facts) / len(some)
    return {
        "what": f"{len(facts):,} edits, {K} neighbours each, one process",
        "same_object_s": round(seconds, 2),
        "same_object_naive_s": round(slow * scale, 1),
        "same_object_ratio": round(slow * scale / seconds, 1),
        "links": sum(map(len, drawn.values())),
        "edits_with_all": sum(len(chosen) == K for chosen in drawn.values()),
        "edits_with_none": sum(not chosen for chosen in drawn.values()),
        "near_tfidf_s": round(seconds_near, 2),
        "near_links": sum(map(len, near.values())),
        "near_20_edits_s": round(fast_few, 2),
        "near_20_edits_slow_twin_s": round(slow_few, 2),
        "peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "notes": f"processor seconds, loading aside; the naive scan was timed on {len(some)} edits and multiplied",
    }


main = neighbours


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    result = work()
    return result, time.process_time() - start
