"""Training of the cross scorer: it learns a rule, the same way each time, and says what it cannot learn from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from evaluation.editors.routed.cross import CrossScorer
from evaluation.editors.routed.cross_training import CrossSettings, CrossTrainer
from evaluation.editors.routed.head_training import questions_of
from schemas.cases import EventCase
from schemas.core.errors import UserError
from tests.support.evaluation.routed_events import TOWNS, HashedVectors, tiny_encoder, town_cases

CASES = town_cases(TOWNS[:24])
SETTINGS = CrossSettings(
    epochs=3, lr=2e-3, weight_decay=0.0, batch=16, near=4, far=2, held_out=0.2, shortlist=6, seed=0
)


def trainer(folder: Path, cases: list[EventCase] = CASES, **changes: Any) -> CrossTrainer:
    texts = [text for case in CASES for text in (case.event.text, *(q.text for q in questions_of(case)))]
    torch.manual_seed(0)
    scorer = CrossScorer(tiny_encoder(folder / "tiny", texts))
    return CrossTrainer(cases, HashedVectors(), scorer, SETTINGS._replace(**changes))


def test_the_loss_falls_and_the_same_seed_gives_the_same_weights(tmp_path: Path) -> None:
    """Beside their own event alone, questions about mayors are in scope and those about rents are not."""
    steps: list[Any] = []
    cases = [c.model_copy(update={"facts": c.facts[:1], "tendencies": c.tendencies[1:]}) for c in CASES]
    rule: dict[str, Any] = {"near": 1, "far": 0, "batch": 4, "epochs": 8, "lr": 5e-3, "shortlist": 1}
    first = trainer(tmp_path, cases, **rule).run(steps.append)
    assert len(steps) == 8 and steps[-1].loss < 0.5 * steps[0].loss
    assert first.held_out == steps[first.step - 1].held_out and first.held_out.tendencies == 1.0
    again = trainer(tmp_path, cases, **rule).run()
    assert all(torch.equal(a, b) for a, b in zip(first.network.parameters(), again.network.parameters(), strict=True))
    assert not any(p.requires_grad for p in first.network.parameters()) and not first.network.training


def test_minutes_end_it_within_an_epoch(tmp_path: Path) -> None:
    steps: list[Any] = []
    assert trainer(tmp_path, epochs=50).run(steps.append, minutes=1e-9).step == 1
    assert len(steps) == 1


def test_what_cannot_be_learnt_from(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="3 events are too few to learn from"):
        trainer(tmp_path, CASES[:3])
    outside = [c.model_copy(update={"facts": c.facts[1:], "tendencies": c.tendencies[1:]}) for c in CASES[:6]]
    with pytest.raises(UserError, match="no question is in scope of its event"):
        trainer(tmp_path, outside)
