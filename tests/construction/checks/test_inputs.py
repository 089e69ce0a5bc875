"""What a check may look at, and where it is found in a store."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import get_args

import pytest

from construction.checks.base import _LOOKUPS, CheckInputs, Stage
from tests.support.facts import make_fact


def test_a_stage_that_has_stored_items_has_a_lookup_and_no_other():
    assert set(_LOOKUPS) == set(get_args(Stage)) - {"reply", "draft"}


def test_what_is_not_known_is_none_and_nothing_can_be_changed():
    inputs = CheckInputs(fact=make_fact())
    assert inputs.facts is None and inputs.questions is None, "None: not known; empty: there are none"
    with pytest.raises(FrozenInstanceError):
        inputs.failure = "changed"  # type: ignore[misc]
