"""A fixed order of sums: on inside the block, as before afterwards."""

from __future__ import annotations

import os

import pytest
import torch

from evaluation.models.loading import WORKSPACE, fix_order, fixed_order


def state() -> tuple[bool, bool, str | None]:
    warns = torch.is_deterministic_algorithms_warn_only_enabled()
    return torch.are_deterministic_algorithms_enabled(), warns, os.environ.get(WORKSPACE)


def test_on_inside_the_block_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(WORKSPACE, raising=False)
    before = state()
    with fixed_order():
        assert state() == (True, True, ":4096:8")
    assert state() == before == (False, False, None)
    with pytest.raises(ZeroDivisionError), fixed_order():
        raise ZeroDivisionError
    assert state() == before


def test_what_a_person_has_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WORKSPACE, ":16:8")
    try:
        torch.use_deterministic_algorithms(True)
        with fixed_order():
            assert state() == (True, True, ":16:8")
        assert state() == (True, False, ":16:8"), "a stricter setting of the process comes back"
    finally:
        torch.use_deterministic_algorithms(False)
    try:
        fix_order()
        assert state() == (True, True, ":16:8")
    finally:
        torch.use_deterministic_algorithms(False)
