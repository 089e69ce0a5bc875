"""A run whose texts are rated."""

from __future__ import annotations

import pytest

from evaluation.analysis.text_ratings import RatedTexts
from evaluation.runs.results import Run, load_run
from tests.support.arithmetic import ArithmeticEditor, ArithmeticLM, make_cases, make_config
from tests.support.evaluation.runner_of import runner_of
from tests.support.ratings import made_scripts, rate

RATERS = ("person:ann", "person:bob", "judge:m")


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    out = tmp_path_factory.mktemp("run")
    runner_of(make_config(out), make_cases(5, 2), scorer=ArithmeticLM(), make=ArithmeticEditor).run()
    return load_run(out)


@pytest.fixture(scope="module")
def texts(run: Run) -> RatedTexts:
    scripts = made_scripts(run)
    return RatedTexts(tuple(scripts), tuple(rate(scripts, RATERS)))
