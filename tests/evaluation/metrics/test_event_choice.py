"""The table ``[events]`` of a run's configuration: what it refuses, and that it reaches the probes and comes back."""

from __future__ import annotations

import pytest

from evaluation.metrics.generation import EventChoice, Generation
from evaluation.runs.config import parse_config
from evaluation.runs.plan import ask, load_metrics
from schemas.core.errors import UserError
from tests.support.events import event_case

GOOD = {"split": "mini", "editors": ["none"], "out": "o", "metrics": ["ev_fact", "ev_choice"]}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"instruction": "papr"}, "events.instruction"),
        ({"answer_tokens": 0}, "events.answer_tokens"),
        ({"order": 1}, "events.order: unknown field"),
    ],
)
def test_mistakes_are_one_sentence(table: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse_config({**GOOD, "events": table}, where="run.toml")


def test_a_run_of_before_events_has_the_defaults_and_a_written_one_its_own() -> None:
    record = {"split_digest": "d", "config": {"generation": {"max_tokens": 9}}}
    assert Generation.from_description(record).events == EventChoice()
    assert Generation.from_description(record).choice.max_tokens == 9
    config = parse_config({**GOOD, "events": {"orders": "given"}}, where="run.toml")
    generation = Generation.from_description({"split_digest": "d", "config": config.model_dump(mode="json")})
    assert generation == Generation(config.generation, "d", config.events) and generation.events.orders == "given"


@pytest.mark.parametrize("change", [{"instruction": "paper"}, {"answer_tokens": 3}, {"orders": "given"}])
def test_what_is_asked_otherwise_is_asked_anew(change: dict[str, object]) -> None:
    metrics = ["ev_fact", "ev_choice"]
    plain, other = (
        {p.id for p in ask(event_case(), load_metrics(metrics, Generation(events=EventChoice.model_validate(table))))}
        for table in ({}, change)
    )
    assert plain != other
