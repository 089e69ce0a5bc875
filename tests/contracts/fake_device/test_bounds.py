"""How often the host waits, per edit, per token and per pass: bounded, so that waits cannot creep back."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from evaluation.engines.base import Job
from evaluation.engines.fast import FastEngine
from evaluation.inference.batched_scoring import EditScorer
from evaluation.inference.batching import TokenBudget
from evaluation.models.language_model import LM
from schemas.cases import Case
from tests.contracts.test_editors import FACTS, PROBES, editor, requests_of, support_of
from tests.support.fake_device import Machine, fake_gpu
from tests.support.tiny import make


def on_card(kind: str = "llama", **more: Any) -> LM:
    lm = make(kind, **more)
    lm.model.to("cuda")
    return lm


class Spent(NamedTuple):
    """What some work cost; ``stalls`` are copies to the device that the host waited for."""

    waits: int
    copies: int
    stalls: int
    launches: int


def spent(machine: Machine) -> Spent:
    counts = machine.counts
    result = Spent(counts.waits, counts.to_device.total(), counts.stalls.total(), counts.launches.total())
    counts.clear()
    return result


PROMPTS = ["The capital of Peru is", "Norway is a kingdom in the north, and its capital is"]


WAITS_AN_EDIT = {"ft": 4, "rome": 8, "memit": 20, "mend": 14, "mend_doc": 4, "prompt": 0, "lora": 0, "boost": 0}
"""Measured, and a little more: numbers of the notes, mostly."""


@pytest.mark.parametrize("method", WAITS_AN_EDIT)
def test_waits_grow_little_with_the_edits(method: str, tmp_path: Path) -> None:
    with fake_gpu() as machine:
        lm = on_card()
        instance = editor(method, lm, tmp_path, steps=3)
        instance.prepare(support_of(method))
        instance.edit_each(requests_of(method)[:1])  # what is read once
        results = []
        for facts in (requests_of(method)[:2], requests_of(method) * 2):
            spent(machine)
            instance.edit_each(facts)
            results.append(spent(machine))
    few, many = results
    assert many.waits - few.waits <= 4 * WAITS_AN_EDIT[method], results
    assert few.launches == 0 or many.launches < 3 * few.launches, results


def test_scoring_waits_once_however_many_passes(tmp_path: Path) -> None:
    """The next pass is built and launched while the last one runs: no pass's values are waited for by themselves."""
    with fake_gpu() as machine:
        lm = on_card()
        none = editor("none", lm, tmp_path)
        results = []
        for tokens in (10_000, 40):
            engine = FastEngine(lm, scorer=EditScorer(lm, budget=TokenBudget(tokens)))
            jobs = [Job(str(n), Case(key=f"c{n}", fact=FACTS[n % 3]), tuple(PROBES)) for n in range(12)]
            spent(machine)
            assert not any(answers.error for answers in engine.work(none, jobs))
            results.append(spent(machine))
    assert results[1].launches > 3 * results[0].launches, "many passes against few"
    assert results[0].waits == results[1].waits <= 2 and results[0].stalls == results[1].stalls == 0, results


def test_launches_of_scoring_do_not_hang_on_the_cases(tmp_path: Path) -> None:
    with fake_gpu() as machine:
        lm = on_card()
        none = editor("none", lm, tmp_path)
        engine, results = FastEngine(lm, scorer=EditScorer(lm, budget=TokenBudget(10_000))), []
        for count in (3, 12):
            jobs = [Job(str(n), Case(key=f"c{n}", fact=FACTS[n % 3]), tuple(PROBES)) for n in range(count)]
            spent(machine)
            list(engine.work(none, jobs))
            results.append(spent(machine))
    assert results[1].launches <= 1.2 * results[0].launches, results
