"""Designs of agreement: ratings are used as named, and the truth is that of many cases."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.coverage.agreement_designs import STATISTICS, panel, truth
from benchmarks.coverage.rows import LIKERT


@pytest.mark.parametrize("usage", LIKERT)
def test_the_scale_is_used_as_named(usage: str) -> None:
    frequencies = np.bincount(panel(np.random.default_rng(3), 4_000, usage).codes.astype(int).ravel(), minlength=7)
    assert frequencies / frequencies.sum() == pytest.approx(np.array(LIKERT[usage]) / sum(LIKERT[usage]), abs=0.02)


def test_the_truth_is_what_many_other_cases_give() -> None:
    other = panel(np.random.default_rng(9), 8_000, "middling")
    from curation.stats.bootstrap import Resampling

    for name in ("ordinal alpha", "Spearman's rho", "exact agreement"):
        assert STATISTICS[name][1](other, Resampling(0)).value == pytest.approx(truth(name, "middling"), abs=0.02)
