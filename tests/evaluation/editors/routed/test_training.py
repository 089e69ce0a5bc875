"""Training compares question and event, gives the same scorer again, and refuses what teaches nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from evaluation.editors.routed.cross import CrossScorer
from evaluation.editors.routed.head import HeadRouter
from evaluation.editors.routed.serac import Serac
from evaluation.editors.routed.training import CrossTrainer, HeadTrainer, ScorerTrainer, questions_of
from schemas.cases import EventCase
from schemas.core.errors import UserError
from tests.support.evaluation.routed_events import ELSEWHERE, TOWNS, HashedVectors, tiny_encoder, town_cases

HEAD: dict[str, Any] = {
    "hidden": 8, "dropout": 0.2, "epochs": 25, "lr": 5e-3, "weight_decay": 0.0, "batch": 16, "near": 4, "far": 2,
    "held_out": 0.25, "shortlist": 8, "names_apart": False,
}  # fmt: skip
CROSS: dict[str, Any] = {
    "epochs": 3, "lr": 2e-3, "weight_decay": 0.0, "batch": 16, "near": 4, "far": 2, "held_out": 0.2, "shortlist": 6,
}  # fmt: skip
both = pytest.mark.parametrize("scorer", ["head", "cross"])


def trainer(scorer: str, folder: Path, cases: list[EventCase], **changes: Any) -> ScorerTrainer:
    if scorer == "head":
        return HeadTrainer(cases, HashedVectors(), Serac.Params(**{**HEAD, **changes}))
    texts = [text for case in cases for text in (case.event.text, *(q.text for q in questions_of(case)))]
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = CrossScorer(tiny_encoder(folder / "tiny", texts))
    return CrossTrainer(cases, HashedVectors(), Serac.Params(scorer="cross", **{**CROSS, **changes}), network)


def test_a_head_tells_new_towns_from_others_though_both_are_asked_about_in_the_same_words(tmp_path: Path) -> None:
    rows = trainer("head", tmp_path, town_cases(TOWNS[:32])).run()
    texts = [c.event.text for c in town_cases(TOWNS[32:])]
    router = HeadRouter(rows.network, texts, HashedVectors(), shortlist=8, threshold=0.5, names_apart=False)
    right = [router.route(f"Who is mayor of {town}?").item == n for n, town in enumerate(TOWNS[32:])]
    assert sum(right) >= 26, right
    right = [router.route(f"Who is mayor of {town}?").item is None for town in ELSEWHERE[32:]]
    assert sum(right) >= 26, right
    assert rows.held_out.facts is not None and rows.held_out.mean > 0.7


def test_the_loss_of_a_cross_scorer_falls(tmp_path: Path) -> None:
    """Beside their own event alone, questions about mayors are in scope and those about rents are not."""
    steps: list[Any] = []
    cases = [
        c.model_copy(update={"facts": c.facts[:1], "tendencies": c.tendencies[1:]}) for c in town_cases(TOWNS[:24])
    ]
    rule: dict[str, Any] = {"near": 1, "far": 0, "batch": 4, "epochs": 8, "lr": 5e-3, "shortlist": 1}
    first = trainer("cross", tmp_path, cases, **rule).run(steps.append)
    assert len(steps) == 8 and steps[-1].loss < 0.5 * steps[0].loss
    assert first.held_out == steps[first.step - 1].held_out and first.held_out.tendencies == 1.0
    assert not any(p.requires_grad for p in first.network.parameters()) and not first.network.training


@both
def test_the_same_seed_gives_the_same_scorer_in_any_order_of_cases(scorer: str, tmp_path: Path) -> None:
    cases, before = town_cases(TOWNS[:16]), torch.get_rng_state()
    first, again, other = (
        trainer(scorer, tmp_path, some, epochs=2, seed=number).run()
        for some, number in ((cases, 0), (cases[::-1], 0), (cases, 1))
    )
    assert torch.equal(before, torch.get_rng_state()), "the caller's generator is left alone"
    weights = [torch.cat([p.flatten() for p in run.network.parameters()]) for run in (first, again, other)]
    assert torch.equal(weights[0], weights[1]) and not torch.equal(weights[0], weights[2])
    assert first.held_out == again.held_out


@both
def test_too_few_events_and_nothing_in_scope_are_refused(scorer: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="3 events are too few to learn from"):
        trainer(scorer, tmp_path, town_cases(TOWNS[:3]))
    out_of_scope = [
        c.model_copy(update={"facts": c.facts[1:], "tendencies": c.tendencies[1:]}) for c in town_cases(TOWNS[:8])
    ]
    with pytest.raises(UserError, match="no question is in scope"):
        trainer(scorer, tmp_path, out_of_scope)


@both
def test_a_time_limit_ends_it_within_an_epoch(scorer: str, tmp_path: Path) -> None:
    steps: list[Any] = []
    run = trainer(scorer, tmp_path, town_cases(TOWNS[:16]), epochs=25).run(steps.append, minutes=1e-9)
    assert [s.done for s in steps] == [1] and steps[0].of == 25 and run.step == 1
