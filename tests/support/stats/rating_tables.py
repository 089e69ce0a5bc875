"""Rating tables from columns, and ratings that are names."""

from __future__ import annotations

from curation.stats.bootstrap import Resampling
from curation.stats.rating_table import rating_table

NONE = Resampling(0)


def table(columns, **kwargs):
    """A table from one list a rater; None is a gap."""
    rows = [(f"u{i}", f"r{j}", v) for j, column in enumerate(columns) for i, v in enumerate(column)]
    return rating_table(rows, **kwargs)


NAMES = [["keep", "drop", "keep"], ["keep", "keep", "keep"]]

# by hand, two raters: (1,1) (2,2) (1,2) (2,2)
SMALL = [[1, 2, 1, 2], [1, 2, 2, 2]]
