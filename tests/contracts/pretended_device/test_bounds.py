"""How often the host waits, per edit, per token and per pass: bounded, so that waits cannot creep back."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from evaluation.engines.base import Job
from evaluation.engines.fast import FastEngine
from evaluation.inference.generation import PromptToContinue, Sampling, generate
from evaluation.models.language_model import LM
from schemas.cases import Case
from tests.contracts.test_editors import FACTS, PROBES, SUPPORT, editor
from tests.support.pretended_device import Machine, pretended
from tests.support.tiny import make


def on_card(kind: str = "llama") -> LM:
    lm = make(kind)
    lm.model.to("cuda")
    return lm


class Spent(NamedTuple):
    """What some work cost."""

    waits: int
    copies: int
    launches: int


def spent(machine: Machine) -> Spent:
    counts = machine.counts
    found = Spent(counts.waits, counts.to_device.total(), counts.launches.total())
    counts.clear()
    return found


@pytest.mark.parametrize(("temperature", "waits"), [(0.0, 2), (0.8, 2)])
def test_waits_of_a_step_of_writing_do_not_hang_on_the_rows(temperature: float, waits: int) -> None:
    most, found = 6, {}
    with pretended() as machine:
        lm = on_card()
        for rows in (2, 12):
            prompts = [PromptToContinue("The capital of Peru is", seed=n) for n in range(rows)]
            spent(machine)
            texts = generate(lm, prompts, sampling=Sampling(most, temperature))
            steps = max(len(text.ids) for text in texts)
            found[rows] = spent(machine)
            assert found[rows].waits <= waits * steps + 2  # the tokens, and the decoder's look at its mask
    assert found[12].launches < 1.5 * found[2].launches


WAITS_AN_EDIT = {"ft": 4, "rome": 8, "memit": 20, "mend": 14, "prompt": 0}
"""Measured, and a little more: numbers of the notes, mostly."""


@pytest.mark.parametrize("method", WAITS_AN_EDIT)
def test_waits_grow_little_with_the_edits(method: str, tmp_path: Path) -> None:
    with pretended() as machine:
        lm = on_card()
        made = editor(method, lm, tmp_path, steps=3)
        made.prepare(SUPPORT)
        made.edit_each(FACTS[:1])  # what is read once
        found = []
        for facts in (FACTS[:2], FACTS * 2):
            spent(machine)
            made.edit_each(facts)
            found.append(spent(machine))
    few, many = found
    assert many.waits - few.waits <= 4 * WAITS_AN_EDIT[method], found
    assert few.launches == 0 or many.launches < 3 * few.launches, found


def test_scoring_waits_once_a_pass(tmp_path: Path) -> None:
    with pretended() as machine:
        lm = on_card()
        none = editor("none", lm, tmp_path)
        engine, found = FastEngine(lm), []
        for count in (3, 12):
            jobs = [Job(str(n), Case(key=f"c{n}", fact=FACTS[n % 3]), tuple(PROBES)) for n in range(count)]
            spent(machine)
            list(engine.work(none, jobs))
            found.append(spent(machine))
    assert found[1].waits <= found[0].waits + 2 and found[1].launches <= 1.2 * found[0].launches, found
