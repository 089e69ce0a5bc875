"""What a method that says no more than its edits is taken to be, and that our models are scorers."""

from __future__ import annotations

from typing import Any

import pytest

from evaluation.engines.protocols import EditorLike, Scorer
from evaluation.inference.answering import ModelScorer
from tests.support.arithmetic import ArithmeticLM
from tests.support.tiny import make


class Bare(EditorLike):
    """A method that declares nothing."""

    name, version, params = "bare", 1, {}


def test_a_method_depends_on_nothing_unless_it_says() -> None:
    bare = Bare()
    assert bare.components == {} and bare.first_layer is None and not bare.wants_support({"strength": 1})


@pytest.mark.parametrize("factory", [ArithmeticLM, lambda: ModelScorer(make("llama"))], ids=["arithmetic", "model"])
def test_a_scorer_has_every_member(factory: Any) -> None:
    scorer = factory()
    members = [name for name in vars(Scorer) if not name.startswith("_")]
    assert {"name", "revision", "other_attention", "device", "editable", "weights", "score", "write"} <= set(members)
    assert all(hasattr(scorer, name) for name in members)
    assert isinstance(scorer.device, str)
