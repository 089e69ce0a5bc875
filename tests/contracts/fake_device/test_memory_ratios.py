"""Fine-tuning, whose edits are as large as a weight, where memory stands to them as on real cards: no case fails.

A tiny model stands for a large one: what the device has beside the weights is scaled by the size of one dense change.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
import torch

from curation.files.artifact_cache import Cache
from evaluation.editors.fine_tuning import training
from evaluation.editors.presets import make_editor
from evaluation.engines.base import Job, JobResult
from evaluation.engines.fast import GROUP, SHARE_OF_EDITS, FastEngine
from evaluation.inference.batched_scoring import EditScorer
from evaluation.inference.batching import TokenBudget
from evaluation.models.language_model import LM
from schemas.cases import Case
from tests.contracts.test_editors import FACTS, PROBES
from tests.support.fake_device import Machine, fake_gpu
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


class Budgets(NamedTuple):
    """What was chosen at one group."""

    cases: int
    trained: int
    tokens: int


def work(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, folder: Path, *, group: int | None
) -> tuple[list[JobResult], list[Budgets]]:
    """Four groups of cases, with the budgets of each."""
    lm = tiny()
    lm.model.to("cuda")
    editor = make_editor("ft", lm, Cache(folder), {"layer": 1, "steps": 2})
    engine, sizes, trained = FastEngine(lm, group=group), [], []
    engine.expect([editor])
    real = training.most_edits

    def counting(lm: LM, bytes_an_edit: int) -> int:
        trained.append(real(lm, bytes_an_edit))
        return trained[-1]

    monkeypatch.setattr(training, "most_edits", counting)
    few = engine.fitting_group(editor)
    jobs = [Job(f"{n}", Case(key=f"c{n}", fact=FACTS[n % 3]), tuple(PROBES[:1])) for n in range(4 * few)]
    list(engine.work(make_editor("none", lm, Cache(folder)), jobs[:few]))
    done = []
    for result in engine.work(editor, jobs):
        done.append(result)
        sizes.append(engine.scorer.budget.tokens)
    budgets = [Budgets(few, one, tokens) for one, tokens in zip(trained, sizes[few - 1 :: few], strict=False)]
    return done, budgets


def check(card: str, model: str, folder: Path, monkeypatch: pytest.MonkeyPatch, *, group: int | None) -> None:
    with fake_gpu(memory=capacity(card, model)) as machine:
        done, budgets = work(machine, monkeypatch, folder, group=group)
    assert [d.error for d in done] == [None] * len(done)
    assert len(budgets) == 4 and not machine.memory.refused, "nothing ran out of memory on the way either"
    for first, *others in zip(*budgets, strict=True):
        assert all(abs(other - first) <= 0.1 * first for other in others), budgets


def test_a_24_gb_card_and_8b(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    check("24 GB", "8B", tmp_path, monkeypatch, group=None)
    (told,) = [r.getMessage() for r in caplog.records if "groups of" in r.getMessage()]
    assert told.startswith("an edit of 'ft' takes 229,376 bytes of the device: groups of ") and told.endswith(
        ", not 256"
    )


@pytest.mark.slow
@pytest.mark.parametrize(("card", "model"), COMBINATIONS)
def test_all_ratios(card: str, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check(card, model, tmp_path, monkeypatch, group=None if card == "24 GB" and model == "8B" else 64)


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
    assert budget.shrink() and budget.shrink() and budget.tokens == 16
    calls = 0
    while budget.tokens < 64 and calls < 100:
        budget.recover()
        calls += 1
    assert budget.tokens == 64 and 4 < calls < 40
    budget.recover()
    assert budget.tokens == 64
