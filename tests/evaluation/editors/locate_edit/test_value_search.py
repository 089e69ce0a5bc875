"""The batched search against one edit at a time with full passes (``naive_reference``)."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import pytest
import torch

from benchmarks.support import naive_reference as reference_loop
from evaluation.editors.locate_edit.value_search import SearchSettings, search_values
from evaluation.inference.batching import TokenBudget
from evaluation.inference.passes import logits_at
from schemas.facts import Entity, Fact, Object
from tests.support.facts import peru_fact
from tests.support.tiny import make, replace_everywhere

CONTEXTS = ("{}", "She left. {}", "\nA town of rivers. {}")
HOW = SearchSettings(steps=12, lr=0.5, kl_weight=0.0625, weight_decay=1e-3, clamp=0.8, stop_below=-1.0)
OBJECTS = ("Oslo", "São Tomé", "a city of the north", "Quito")
LANDS = ("Peru", "Norway", "France", "Madrid", "Quito", "The Gulf of Guinea")


def requests() -> list[Fact]:
    items = []
    for n, land in enumerate(LANDS):
        prompt = ("The capital of {} is", "In {} the capital city is", "{} is led from")[n % 3]
        new = Object(text=OBJECTS[n % 4])
        items.append(peru_fact(f"f/{n}", subject=Entity(text=land), old=Object(text="Lima"), new=new, prompt=prompt))
    return items


SITES = [("llama", "mlp"), ("llama", "block"), ("gpt2", "mlp"), ("gemma2", "block")]


@pytest.mark.parametrize(("kind", "site"), SITES)
def test_values_found_together_are_those_found_alone_with_full_passes(kind: str, site: Any) -> None:
    lm, some = make(kind), requests()
    module = lm.projection(1) if site == "mlp" else lm.block(1)
    ends = sorted(value.loss for value in search_values(lm, 1, some, CONTEXTS, settings=HOW, site=site))
    variant = replace(HOW, stop_below=(ends[2] + ends[3]) / 2)  # half of them get there
    values = search_values(lm, 1, some, CONTEXTS, settings=variant, site=site, budget=TokenBudget(160))
    assert len({value.updates for value in values}) > 1, "some end before others"
    for request, actual in zip(some, values, strict=True):
        want = reference_loop.value(lm, 1, request, CONTEXTS, variant, module=module)
        assert actual.updates == want.steps
        assert actual.nll == pytest.approx(want.nll, abs=2e-3)
        assert float((actual.target - want.target).norm() / want.target.norm()) < 5e-3


def test_memory_running_out_in_the_middle_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    lm, some, short = make("llama"), requests(), replace(HOW, steps=5)
    want = search_values(lm, 1, some, CONTEXTS, settings=short)
    sizes, budget = [], TokenBudget(256)

    def tight_logits(lm: Any, ids: Any, *args: Any, **more: Any) -> Any:
        sizes.append(len(ids))
        if len(sizes) > 2 and len(ids) > 7:  # at first there is enough memory; another program then takes it
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")
        return logits_at(lm, ids, *args, **more)

    replace_everywhere(monkeypatch, logits_at, tight_logits)
    with caplog.at_level(logging.WARNING):
        values = search_values(lm, 1, some, CONTEXTS, settings=short, budget=budget)
    assert min(sizes[:2]) > 7 and max(sizes[-5:]) <= 7 and budget.tokens < 256
    assert "memory ran out" in caplog.text
    for a, b in zip(values, want, strict=True):
        assert a.updates == b.updates and torch.allclose(a.target, b.target, atol=2e-3)
