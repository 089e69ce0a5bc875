"""One edit tried by hand: the same figures as a run's, and a model that comes back as it was."""

from __future__ import annotations

import math

import pytest

from curation.files.artifact_cache import Cache
from evaluation.editors.presets import make_editor
from evaluation.edits.edit import PromptEdit
from evaluation.models.language_model import LM
from evaluation.runs.config import TEACHER_FORCED
from evaluation.runs.one_case import log_probs, score_case
from schemas.core.errors import UserError
from tests.support.evaluation.slow_scoring import probe, slow_answer
from tests.support.small import small_split

CASE = small_split().cases[0]


def test_log_probs_are_those_of_the_model(tiny: LM) -> None:
    logprobs = log_probs(tiny, "The capital of France is", ["Paris", "New York"], normalisation="sum")
    for text, value in logprobs.items():
        (naive,) = slow_answer(tiny, tiny.model, probe("The capital of France is", text)).targets
        assert math.isclose(value, naive.logprob, abs_tol=1e-3)
    mean, tokens = log_probs(tiny, "The capital of France is", ["New York"])["New York"], naive.tokens
    assert math.isclose(mean * tokens, logprobs["New York"], abs_tol=1e-4)


def test_an_edit_stands_only_while_the_model_is_asked(tiny: LM, cache: Cache) -> None:
    before = tiny.weights_digest()
    edit = make_editor("ft", tiny, cache, {"layer": 0}).edit([CASE.fact])
    plain = log_probs(tiny, CASE.fact.fact_prompt, ["Nairobi"])
    assert log_probs(tiny, CASE.fact.fact_prompt, ["Nairobi"], edit)["Nairobi"] > plain["Nairobi"]
    assert tiny.weights_digest() == before


def test_an_edit_in_the_prompt_is_written_before_it(tiny: LM) -> None:
    edit = PromptEdit(prefix="Now then. ")
    logprobs = log_probs(tiny, "The capital is", ["Lima"], edit)
    assert logprobs == log_probs(tiny, "Now then. The capital is", ["Lima"])


def test_a_case_has_the_scores_of_each_metric(tiny: LM) -> None:
    scores = score_case(tiny, CASE)
    assert tuple(scores) == TEACHER_FORCED
    assert {i.value for i in scores["s_es"].items} <= {0.0, 1.0}
    assert len(scores["s_es"].items) == len(CASE.prompts)
    assert scores["s_bo"].mean is None  # no near subjects in a counterfactual case


def test_bleed_over_compares_with_the_unedited_model(tiny: LM) -> None:
    case = next(c for c in small_split().cases if c.fact.change == "temporal")
    assert score_case(tiny, case, metrics=["s_bo"])["s_bo"].mean == 0.0
    s_bo = score_case(tiny, case, PromptEdit(prefix="x y z "), metrics=["s_bo"])["s_bo"]
    assert s_bo.mean is not None and s_bo.mean >= 0.0


def test_refusals(tiny: LM) -> None:
    with pytest.raises(UserError, match="has texts generated"):
        score_case(tiny, CASE, metrics=["s_es_gen"])
    with pytest.raises(UserError, match="unknown metric"):
        score_case(tiny, CASE, metrics=["s_ess"])
    with pytest.raises(UserError, match="cannot be scored"):
        log_probs(tiny, "The capital is", [""])


@pytest.mark.parametrize(
    ("prompt", "target"), [("The capital of France is", " Paris"), ("The capital of France is ", "Paris")]
)
def test_a_second_space_between_prompt_and_target_is_refused(tiny: LM, prompt: str, target: str) -> None:
    with pytest.raises(UserError, match="the targets cannot be scored: the .*white space"):
        log_probs(tiny, prompt, [target])
