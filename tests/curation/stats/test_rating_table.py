"""Ratings become a table, or say what is wrong with them."""

import pytest

from curation.stats.rating_table import rating_table
from schemas.core.errors import UserError


@pytest.mark.parametrize(
    ("rows", "kwargs", "message"),
    [
        pytest.param([("u", "r", 1), ("u", "r", 2)], {}, "rated 'u' twice", id="twice"),
        pytest.param([("u", "r", 8)], {"scale": range(1, 8)}, "8 is not on the scale", id="off the scale"),
        pytest.param([("u", "r", 1), ("u", "s", "x")], {}, "mix numbers and names", id="mixed"),
        pytest.param([("u", "r", 1)], {"cases": {}}, "'u' has no case", id="no case"),
        pytest.param([("u", "r", float("nan"))], {}, "NaN", id="nan"),
        pytest.param([("u", "r", 1)], {"scale": (2, 1)}, "ascends", id="descending scale"),
    ],
)
def test_faulty_tables_are_refused(rows, kwargs, message):
    with pytest.raises(UserError, match=message):
        rating_table(rows, **kwargs)
