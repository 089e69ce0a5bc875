"""One method from its preparation to scored, written and continued edits, on a fake device."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from curation.files.artifact_cache import Cache
from evaluation.editors import EDITORS
from evaluation.editors.presets import make_editor
from evaluation.edits.routed_deltas import RoutedDelta
from evaluation.edits.weight_deltas import Delta, LowRankDelta
from evaluation.engines.base import Job
from evaluation.engines.fast import FastEngine
from evaluation.inference.answering import write
from evaluation.inference.scoring import score
from schemas.cases import Case
from schemas.probes import GenerateProbe
from tests.contracts import test_editors
from tests.contracts.test_editors import editor, requests_of, support_of
from tests.support.fake_device import fake_gpu
from tests.support.tiny import make

FACTS, PROBES = test_editors.FACTS[:2], test_editors.PROBES[:2]
FLOAT32_ONLY = {"ft_lm", "side", "unke"}  # train the weights themselves: narrow ones would round the changes away
TEXTS = [
    GenerateProbe(purpose="text", item=f.key, prompt=f.fact_prompt, most=3, seed=1, temperature=t, top_p=0.9)
    for f, t in zip(FACTS, (0.0, 0.8), strict=True)
]


def exercise(method: str, kind: str, dtype: torch.dtype, folder: Path) -> None:
    """Everything that an engine or a regime asks of a method.

    Raises:
        Refused: something was done that the device refuses.
    """
    with fake_gpu() as machine:
        lm = make(kind, dtype=dtype, **{"n_positions" if kind == "gpt2" else "max_position_embeddings": 1024})
        lm.model.to("cuda")
        instance = editor(method, lm, folder, steps=2)
        instance.prepare(support_of(method))
        edits = instance.edit_each(requests_of(method)[:2])
        for delta in (d for edit in edits for d in edit.deltas or ()):
            assert all(x.dtype == torch.float32 for x in parts_of(delta))
        one = instance.edit(requests_of(method)[:2])
        with one.on(lm):
            answers = [*score(lm, PROBES, rewrite=one.rewrite), *write(lm, TEXTS, rewrite=one.rewrite)]
        assert [a.error for a in answers] == [None] * len(answers)
        jobs = [Job(str(n), case, (*PROBES, *TEXTS)) for n, case in enumerate(cases_of(method))]
        engine = FastEngine(lm)
        engine.expect([instance])
        list(engine.work(make_editor("none", lm, Cache(folder)), jobs))
        results = list(engine.work(instance, jobs))
        assert [d.error for d in results] == [None] * len(jobs)
        instance.edit_after(requests_of(method)[:1], [one])
        assert not machine.counts.refused, dict(machine.counts.refused)  # none was swallowed on its way either


def parts_of(delta: Delta) -> tuple[torch.Tensor, ...]:
    """The tensors that a change is made of."""
    if isinstance(delta, RoutedDelta):
        return delta.tensors
    return (delta.left, delta.right) if isinstance(delta, LowRankDelta) else (delta.value,)


def cases_of(method: str) -> list[Any]:
    """Two cases of edits that a method takes; an engine is handed statements by the simplification around a method."""
    if "fact" in EDITORS.get(method).takes:
        return [Case(key=f"c{n}", fact=fact) for n, fact in enumerate(FACTS)]
    return [SimpleNamespace(key=f"c{n}", request=one) for n, one in enumerate(requests_of(method)[:2])]
