"""Random edits of one model, alone or by the engine, a part of them broken off: the weights stay as they were."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from evaluation.editors import EDITORS
from evaluation.edits.delta_stack import DeltaStack
from evaluation.engines.base import Job
from evaluation.engines.fast import FastEngine
from evaluation.inference.scoring import score
from evaluation.models.language_model import LM
from tests.contracts.test_editors import PROBES, editor, requests_of, support_of
from tests.support.tiny import make

EDITS = {"llama": 40, "gpt2": 100}
MOST = 400
"""Edits at most: some moments (a delta put on) never come for methods without one, so more may be drawn."""
MOMENTS = ("making", "putting on", "scoring", "inside", "engine")
ERRORS = (KeyboardInterrupt, RuntimeError, MemoryError)


@contextmanager
def breaking(place: Any, name: str, at: int, error: type[BaseException], *, after: bool) -> Iterator[list[int]]:
    """The ``at``-th call of a function raises, before or after its work, as Ctrl-C does there; 0: no call does."""
    real: Callable[..., Any] = getattr(place, name)
    calls: list[int] = []

    def broken(*args: Any, **more: Any) -> Any:
        calls.append(1)
        if len(calls) == at and not after:
            raise error
        path = real(*args, **more)
        if len(calls) == at:
            raise error
        return path

    is_instance_attribute = name in vars(place)
    setattr(place, name, broken)
    try:
        yield calls
    finally:
        setattr(place, name, real) if is_instance_attribute else delattr(place, name)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_weights_after_random_edits(kind: str, tmp_path: Path) -> None:
    lm, draw = make(kind), random.Random(f"restore/{kind}")
    digest, before, state = lm.weights_digest(), score(lm, PROBES), torch.random.get_rng_state()
    mapping = {}
    for method in EDITORS.names():
        mapping[method] = editor(method, lm, tmp_path)
        mapping[method].prepare(support_of(method))
    counts: Counter[str] = Counter()
    enough = False
    for number in range(MOST):
        enough = all(counts[moment] >= 5 for moment in (*MOMENTS, "went through"))
        if enough and number >= EDITS[kind]:
            break
        method, error = draw.choice(EDITORS.names()), draw.choice(ERRORS)
        facts = draw.sample(requests_of(method), draw.randint(1, 3))
        moment = draw.choice(["none", *MOMENTS])
        answer = broken_off(lm, mapping[method], facts, moment, error, draw)
        counts[moment if answer else "went through"] += 1
        assert lm.weights_digest() == digest, (method, moment, error)
        assert not any(m._forward_hooks or m._forward_pre_hooks for m in lm.model.modules()), (method, moment)
        assert not any("forward" in m.__dict__ for m in lm.model.modules()), (method, moment)
        assert not any(p.requires_grad or p.grad is not None for p in lm.model.parameters()), (method, moment)
    assert enough, counts
    assert score(lm, PROBES) == before and torch.equal(torch.random.get_rng_state(), state)


def broken_off(lm: LM, made: Any, facts: Any, moment: str, error: type[BaseException], draw: random.Random) -> bool:
    """Make an edit and use it, breaking off at the moment told; False where the moment never came."""
    last, after = lm.module(lm.layout.block(lm.layout.depth - 1)), draw.random() < 0.5
    try:
        if moment == "engine":
            jobs = [Job(str(n), SimpleNamespace(key=str(n), request=fact), PROBES) for n, fact in enumerate(facts)]  # type: ignore[arg-type]
            with breaking(last, "forward", draw.randint(1, 12), error, after=after) as calls:
                results = list(FastEngine(lm, group=2).work(made, jobs))
            return len(calls) > 0 and len(results) == len(jobs)  # it made a result of the error, or worked around it
        with breaking(last, "forward", draw.randint(1, 4) if moment == "making" else 0, error, after=after):
            edit = made.edit(facts)
        counts = breaking(
            DeltaStack, "_change", draw.randint(1, 3) if moment == "putting on" else 0, error, after=after
        )
        with counts, edit.on(lm), breaking(last, "forward", int(moment == "scoring"), error, after=after):
            score(lm, PROBES[:1], rewrite=edit.rewrite)
            if moment == "inside":
                raise error
    except ERRORS:
        return True
    return False
