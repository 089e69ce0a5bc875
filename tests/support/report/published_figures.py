"""Published figures and ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.evaluation.report.test_html_page import finished
from tests.support.arithmetic import ArithmeticLM, make_cases

EDITORS = ["none", {"name": "push", "label": "rome"}, {"name": "push", "label": "ft", "params": {"strength": 1.0}}]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    lm = ArithmeticLM(name="openai-community/gpt2-xl")
    return finished(tmp_path_factory.mktemp("run"), lm=lm, editors=EDITORS, split=make_cases(6, 2))
