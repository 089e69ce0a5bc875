"""Training learns to compare question and event, does it again the same way, and refuses what teaches nothing."""

from __future__ import annotations

import pytest
import torch

from evaluation.editors.routed.head import HeadRouter
from evaluation.editors.routed.head_training import HeadSettings, HeadTrainer, TrainedHead
from schemas.cases import EventCase
from schemas.core.errors import UserError
from tests.support.evaluation.routed_events import ELSEWHERE, TOWNS, HashedVectors, town_cases

SETTINGS = HeadSettings(8, 0.2, 25, 5e-3, 0.0, 16, 4, 2, 0.25, 8, False, 0)


def trained(cases: list[EventCase], **changes: object) -> TrainedHead:
    return HeadTrainer(cases, HashedVectors(), SETTINGS._replace(**changes)).run()  # type: ignore[arg-type]


def test_new_towns_are_told_from_others_though_both_are_asked_about_in_the_same_words() -> None:
    rows = trained(town_cases(TOWNS[:32]))
    texts = [c.event.text for c in town_cases(TOWNS[32:])]
    router = HeadRouter(rows.network, texts, HashedVectors(), shortlist=8, threshold=0.5, names_apart=False)
    right = [router.route(f"Who is mayor of {town}?").item == n for n, town in enumerate(TOWNS[32:])]
    assert sum(right) >= 26, right
    right = [router.route(f"Who is mayor of {town}?").item is None for town in ELSEWHERE[32:]]
    assert sum(right) >= 26, right
    assert rows.held_out.facts is not None and rows.held_out.mean > 0.7


def test_the_same_seed_gives_the_same_head_and_another_one_another() -> None:
    first, heads, other = (trained(town_cases(TOWNS[:16]), epochs=2, seed=s) for s in (0, 0, 1))
    weights = [t.network.state_dict()["first.weight"] for t in (first, heads, other)]
    assert torch.equal(weights[0], weights[1]) and not torch.equal(weights[0], weights[2])
    assert first.held_out == heads.held_out


def test_the_order_of_the_cases_changes_nothing_and_neither_does_the_callers_generator() -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    first = trained(town_cases(TOWNS[:16]), epochs=1)
    assert torch.equal(before, torch.get_rng_state())
    second = trained(town_cases(TOWNS[:16])[::-1], epochs=1)
    assert torch.equal(first.network.state_dict()["first.weight"], second.network.state_dict()["first.weight"])


def test_too_few_events_and_nothing_in_scope_are_refused() -> None:
    with pytest.raises(UserError, match="3 events are too few"):
        trained(town_cases(TOWNS[:3]))
    out_of_scope = [
        c.model_copy(update={"facts": c.facts[1:], "tendencies": c.tendencies[1:]}) for c in town_cases(TOWNS[:8])
    ]
    with pytest.raises(UserError, match="no question is in scope"):
        trained(out_of_scope)


def test_steps_are_told_and_a_time_limit_ends_after_an_epoch() -> None:
    steps = []
    trainer = HeadTrainer(town_cases(TOWNS[:16]), HashedVectors(), SETTINGS)
    training = trainer.run(steps.append, minutes=1e-9)
    assert [s.done for s in steps] == [1] and steps[0].of == 25 and training.step == 1
