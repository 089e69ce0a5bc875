"""Two runs in different regimes."""

from __future__ import annotations

import pytest

from tests.evaluation.report.test_html_page import finished
from tests.support.arithmetic import make_cases

METRICS = ("es", "ps", "ns", "s_es", "s_ns", "s_bo")

TWO = ["push", {"name": "push", "label": "weak", "params": {"strength": 0.5}}]


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    return finished(tmp_path_factory.mktemp("two"), editors=TWO, split=make_cases(6, 2))
