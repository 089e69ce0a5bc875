"""Values whose decimals may differ in their last bits, as they do from one processor or batch to another."""

from __future__ import annotations

from typing import Any

import pytest


def nearly(value: Any, within: float = 1e-5) -> Any:
    """``value``, whose decimals equal others to ``within`` (absolute and relative) and everything else exactly."""
    match value:
        case dict():
            return {key: nearly(part, within) for key, part in value.items()}
        case list():
            return [nearly(part, within) for part in value]
        case tuple():
            return tuple(nearly(part, within) for part in value)
        case float():
            return pytest.approx(value, abs=within, rel=within)
        case str() | bool() | int() | None:
            return value
    raise TypeError(f"{type(value).__name__} holds decimals that would be compared exactly: dump it first.")
