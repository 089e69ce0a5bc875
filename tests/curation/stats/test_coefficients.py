"""The arithmetic of agreement coefficients."""

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.stats.agreement import alpha, alpha_of_coincidences, coincidences, gwet, gwet_weights
from schemas.core.errors import UserError
from tests.support.stats.rating_tables import NONE, SMALL, table


def test_published_weights():
    """Ordinal and quadratic weights of three categories, as printed in the weighting vignette of irrCAC for R."""
    three = np.array([1.0, 2.0, 3.0])
    assert gwet_weights(three, "ordinal")[0] == pytest.approx([1, 2 / 3, 0])
    assert gwet_weights(three, "quadratic")[0] == pytest.approx([1, 0.75, 0])
    assert gwet_weights(three, "linear")[0] == pytest.approx([1, 0.5, 0])
    assert gwet_weights(np.array([1.0, 2.0, 5.0]), "linear")[0] == pytest.approx([1, 0.75, 0])


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.sampled_from([None, 1, 2, 4, 7]), min_size=3, max_size=3), min_size=2, max_size=8))
def test_resampled_alpha_is_that_of_the_package(units):
    cells = table([list(column) for column in zip(*units, strict=True)], scale=(1, 2, 4, 7))
    domain = np.array([1.0, 2.0, 4.0, 7.0])
    flat = coincidences(cells.counts).sum(axis=0).reshape(1, -1)
    for level in ("nominal", "ordinal", "interval", "ratio"):
        coefficient = alpha_of_coincidences(flat, domain, level)[0]
        value = alpha(cells, level=level, resampling=NONE)
        if not value.defined:
            assert np.isnan(coefficient), value
            continue
        estimate = krippendorff.alpha(value_counts=cells.counts, value_domain=domain, level_of_measurement=level)
        assert coefficient == pytest.approx(estimate)
        assert value.value == pytest.approx(estimate)


@pytest.mark.parametrize("matrix", [np.ones((3, 3)), np.array([[1, 0.2], [0.4, 1]]), np.zeros((2, 2))])
def test_faulty_weights_are_refused(matrix):
    with pytest.raises(UserError, match="symmetric matrix"):
        gwet(table(SMALL), weights=matrix)
