"""A model behind an endpoint in a run's configuration: what is allowed, what is refused before any call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from evaluation.runs.config import EndpointChoice
from evaluation.runs.dry_run import size
from evaluation.runs.endpoint import EndpointModel, endpoint_access
from evaluation.runs.runner import execute
from schemas.core.errors import ModelError, UserError
from tests.support.evaluation.api_runs import endpoint_config
from tests.support.scripted_server import ScriptedServer

WEIGHTS = "needs the weights of the model, which a model behind an endpoint does not show"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"editors": {"ft_lm": {"name": "ft_lm"}}}, f"'ft_lm' {WEIGHTS}"),
        ({"metrics": ["ev_fact", "ev_choice"]}, "the metric 'ev_choice' reads probabilities, which an endpoint does"),
        ({"endpoint": {"max_cost": 1.0}}, "--max-cost needs a price"),
        ({"model": "endpoint:"}, "'endpoint:' names no model"),
        ({"model": "endpoint:embedded", "endpoint": None}, "is a model on this machine, and no endpoint is named"),
    ],
)
def test_what_an_endpoint_cannot_do_is_one_sentence_before_any_call(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with ScriptedServer(lambda payload: "no") as server:
        for start in (execute, size):
            with pytest.raises(UserError, match=message):
                start(endpoint_config(tmp_path, server.url, **changes))
        assert not server.requests


@pytest.mark.parametrize("method", ["rome", "memit", "ft", "lora", "boost"])
def test_methods_of_facts_that_change_weights_are_refused(tmp_path: Path, method: str) -> None:
    changes = {"split": "mini", "metrics": ["s_es_gen_question"], "editors": {method: {"name": method}}}
    with pytest.raises(UserError, match=f"'{method}' {WEIGHTS}"):
        size(endpoint_config(tmp_path, "http://127.0.0.1:9/v1", **changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "embedded"}, "the table endpoint is for model = 'endpoint:NAME'"),
        ({"engine": "ray"}, "not spread over workers: set endpoint.concurrency"),
        ({"regime": {"name": "batch", "size": 2}}, "edited one case at a time: use regime = 'single'"),
        ({"endpoint": {"retries": 4}}, "retries"),
    ],
)
def test_what_does_not_go_together(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        endpoint_config(tmp_path, "http://127.0.0.1:9/v1", **changes)


def test_the_table_is_the_options_of_every_command_that_asks_a_model() -> None:
    access = endpoint_access("endpoint:m", EndpointChoice(base_url="http://h/v1", api_key_env="K", rpm=3, attempts=2))
    assert (access.model, access.base_url, access.key_name, access.rpm, access.attempts) == (
        "m", "http://h/v1", "K", 3, 2
    )  # fmt: skip


def test_nothing_stands_for_its_weights() -> None:
    model = EndpointModel("endpoint:m", endpoint_access("endpoint:m", EndpointChoice(base_url="http://h/v1")))
    assert (model.name, model.revision, model.device, model.weights) == ("m", "endpoint:m", "endpoint", None)
    with pytest.raises(ModelError, match="no probabilities"):
        model.score([])
    with pytest.raises(ModelError, match="by its engine"):
        model.write([])
