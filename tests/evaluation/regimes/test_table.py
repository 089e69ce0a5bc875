"""Every regime of the configuration has what does it."""

from __future__ import annotations

from typing import get_args

from evaluation.regimes.config import RegimeChoice
from evaluation.regimes.table import REGIMES, make_regime


def test_every_name_has_a_regime() -> None:
    assert set(REGIMES) == set(get_args(RegimeChoice.model_fields["name"].annotation))
    for name, kind in REGIMES.items():
        choice = RegimeChoice(name=name, size=2 if name == "batch" else None)  # type: ignore[arg-type]
        regime = make_regime(choice)
        assert type(regime) is kind and regime.choice is choice
