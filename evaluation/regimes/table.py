"""Regimes by name."""

from __future__ import annotations

from evaluation.regimes.base import Regime
from evaluation.regimes.batch import BatchRegime
from evaluation.regimes.config import RegimeChoice
from evaluation.regimes.revert import RevertRegime
from evaluation.regimes.sequential import SequentialRegime
from evaluation.regimes.single import SingleRegime

REGIMES: dict[str, type[Regime]] = {
    "single": SingleRegime,
    "batch": BatchRegime,
    "sequential": SequentialRegime,
    "revert": RevertRegime,
    "reedit": RevertRegime,
}


def make_regime(choice: RegimeChoice) -> Regime:
    """The regime of a choice."""
    return REGIMES[choice.name](choice)
