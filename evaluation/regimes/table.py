"""Regimes by name."""

from __future__ import annotations

from evaluation.regimes.base import Regime
from evaluation.regimes.batch import Batch
from evaluation.regimes.config import RegimeChoice
from evaluation.regimes.sequential import Sequential
from evaluation.regimes.single import Single

REGIMES: dict[str, type[Regime]] = {"single": Single, "batch": Batch, "sequential": Sequential}


def make_regime(choice: RegimeChoice) -> Regime:
    """The regime of a choice."""
    return REGIMES[choice.name](choice)
