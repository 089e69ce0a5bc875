"""A search on a tiny model."""

from __future__ import annotations

import pytest

from curation.splits.split_file import Split
from tests.support.arithmetic import make_cases

SPACE = "[ft]\nlr = { log = [1e-4, 1e-1] }\nsteps = { among = [2, 4] }\n"


@pytest.fixture
def split() -> Split:
    return make_cases(7, 0)
