"""Fine-tuning, whose edits are as large as a weight, where memory stands to them as on real cards: no case fails.

A tiny model stands for a large one: what the device has beside the weights is scaled by the size of one dense change.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
import torch

from curation.files.artifact_cache import Cache
from evaluation.editors.presets import make_editor
from evaluation.engines.base import Job, JobResult
from evaluation.engines.fast import GROUP, SHARE_OF_EDITS, FastEngine
from evaluation.inference.batched_scoring import EditScorer
from evaluation.inference.batching import TokenBudget
from evaluation.models.language_model import LM
from schemas.cases import Case
from tests.contracts.test_editors import FACTS, PROBES
from tests.support.fake_device import fake_gpu
from tests.support.tiny import make


class RealModel(NamedTuple):
    """Bytes of the weights in bfloat16, and of one dense change in float32."""

    weights: float
    change: float


MODELS = {"8B": RealModel(16.1e9, 4 * 4096 * 14336), "1.5B": RealModel(3.1e9, 4 * 1600 * 6400)}
CARDS = {"24 GB": 24e9, "80 GB": 80e9, "141 GB": 141e9}
COMBINATIONS = [(card, model) for card in CARDS for model in MODELS]


def tiny() -> LM:
    return make("llama", hidden_size=128, intermediate_size=448, dtype=torch.bfloat16)


def capacity(card: str, model: str) -> int:
    """Bytes of the fake GPU that stand to the tiny model as the real card's to the real one."""
    lm, real = tiny(), MODELS[model]
    own = sum(p.numel() * p.element_size() for p in lm.model.parameters())
    return int(own + (CARDS[card] - real.weights) * 4 * lm.layout.width * lm.layout.inner / real.change)


def work(folder: Path, *, group: int | None) -> list[JobResult]:
    """Four groups of cases."""
    lm = tiny()
    lm.model.to("cuda")
    editor = make_editor("ft", lm, Cache(folder), {"layer": 1, "steps": 2})
    engine = FastEngine(lm, group=group)
    engine.expect([editor])
    few = engine.fitting_group(editor)
    jobs = [Job(f"{n}", Case(key=f"c{n}", fact=FACTS[n % 3]), tuple(PROBES[:1])) for n in range(4 * few)]
    list(engine.work(make_editor("none", lm, Cache(folder)), jobs[:few]))
    return list(engine.work(editor, jobs))


def check(card: str, model: str, folder: Path, *, group: int | None) -> None:
    with fake_gpu(memory=capacity(card, model)) as machine:
        done = work(folder, group=group)
    assert [d.error for d in done] == [None] * len(done)
    assert not machine.memory.refused, "nothing ran out of memory on the way either"


def test_a_24_gb_card_and_8b(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    check("24 GB", "8B", tmp_path, group=None)
    (told,) = [r.getMessage() for r in caplog.records if "groups of" in r.getMessage()]
    assert told.startswith("an edit of 'ft' takes 229,376 bytes of the device: groups of ") and told.endswith(
        ", not 256"
    )


@pytest.mark.slow
@pytest.mark.parametrize(("card", "model"), COMBINATIONS)
def test_all_ratios(card: str, model: str, tmp_path: Path) -> None:
    check(card, model, tmp_path, group=None if card == "24 GB" and model == "8B" else 64)


def test_groups_follow_memory(tmp_path: Path) -> None:
    found = {}
    for card, model in COMBINATIONS:
        with fake_gpu(memory=capacity(card, model)):
            lm = tiny()
            lm.model.to("cuda")
            engine = FastEngine(lm, scorer=EditScorer(lm))
            found[card, model] = engine.fitting_group(make_editor("ft", lm, Cache(tmp_path), {"layer": 1}))
            assert engine.fitting_group(make_editor("rome", lm, Cache(tmp_path), {"layer": 1})) == GROUP["cuda"]
    assert found["80 GB", "8B"] == int(SHARE_OF_EDITS * (80e9 - 16.1e9) / MODELS["8B"].change) == 68
    assert found["24 GB", "8B"] == 8 and found["141 GB", "1.5B"] == GROUP["cuda"]


def test_a_budget_recovers_after_a_shortage() -> None:
    budget = TokenBudget(64)
    budget.shrink()
    budget.shrink()
    assert budget.tokens == 16
    calls = 0
    while budget.tokens < 64 and calls < 100:
        budget.recover()
        calls += 1
    assert budget.tokens == 64 and 4 < calls < 40
    budget.recover()
    assert budget.tokens == 64
