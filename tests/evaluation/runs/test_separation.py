"""Refusals before a run: what was trained on evaluated cases, and a method without the support that it needs."""

from __future__ import annotations

import pytest

from curation.splits.split_file import make_split
from evaluation.editors.training_data import TrainingData
from evaluation.runs.config import RunConfig
from evaluation.runs.separation import check_editors, refuse_overlap
from evaluation.runs.support import Support
from schemas.core.errors import UserError
from tests.support.arithmetic import make_case


def test_what_was_learnt_from_evaluated_cases_is_refused() -> None:
    learnt = TrainingData.of("theirs", [make_case("Land01"), make_case("Other")])
    refuse_overlap(learnt, make_split("e", [make_case("Elsewhere")]), where="x")
    with pytest.raises(UserError, match=r"editors.m: it learnt from theirs, .*'case/land01'.*1 of 2 cases"):
        refuse_overlap(learnt, make_split("e", [make_case("Land01"), make_case("Elsewhere")]), where="editors.m")


def test_a_method_that_learns_needs_support() -> None:
    config = RunConfig.model_validate({"split": "mini", "editors": ["ike", "ft"], "out": "o"})
    split, cases = make_split("e", [make_case("Land01")]), (make_case("Elsewhere"),)
    check_editors(config.editors, split=split, support=Support(cases, "digest", "theirs"), model="gpt2-xl")
    with pytest.raises(UserError, match=r"editors.ike: 'ike' learns from declared cases, and none are declared"):
        check_editors(config.editors, split=split, support=Support(), model="gpt2-xl")
