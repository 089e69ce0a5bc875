"""All statistics of a panel, each pair, each rater left out."""

import numpy as np
import pytest

from curation.stats.agreement import agreement, alpha, exact_agreement, leave_one_out, pairwise, severity
from curation.stats.bootstrap import Resampling
from tests.support.stats.rating_tables import NAMES, NONE, table


def test_ceiling_effect_is_shown_by_the_set_of_statistics():
    """94 % sevens: alpha near 0 beside 89 % exact agreement."""
    rng = np.random.default_rng(3)
    columns = [np.where(rng.random(400) < 0.94, 7, 6).tolist() for _ in range(2)]
    coefficient = agreement(table(columns, scale=range(1, 8)), level="ordinal", resampling=Resampling(200))
    assert abs(coefficient.alpha.value) < 0.1
    assert coefficient.exact.value == pytest.approx(0.89, abs=0.03)
    assert coefficient.within_one.value == 1
    assert coefficient.ac2.value > 0.98
    assert coefficient.prevalence[7.0].value == pytest.approx(0.94, abs=0.02)
    assert (coefficient.units, coefficient.raters, coefficient.ratings) == (400, 2, 800)


def test_pairs_and_leaving_out():
    columns = [[1, 2, 3, 4, None], [1, 2, 3, 4, None], [4, 3, 2, 1, None], [None] * 4 + [1]]
    cells = table(columns)
    pairs = pairwise(cells, exact_agreement)
    assert len(pairs) == 6
    assert (pairs["r0", "r1"].value, pairs["r0", "r2"].value) == (1, 0)
    assert pairs["r0", "r3"].reason == "r0 and r3 have no item in common"
    estimates = leave_one_out(cells, lambda t: alpha(t, level="ordinal", resampling=NONE))
    assert estimates["r2"].value == 1
    assert estimates["r0"].value < 0 < estimates["r2"].value


def test_severity_finds_a_constant_offset_that_correlation_does_not_see():
    severities = severity(table([[1, 2, 3, 4], [1, 2, 3, 4], [3, 4, 5, 6]]))
    assert severities["r2"].value == pytest.approx(2)
    assert severities["r0"].value == pytest.approx(-1)
    assert severity(table([[3, 4], [1, 4], [None, 1]]))["r0"].value == pytest.approx((2 + 1.5) / 2)
    assert not severity(table([[1, None], [None, 2]]))["r0"].defined
    assert "not numbers" in severity(table(NAMES))["r0"].reason
