from __future__ import annotations

import pytest

from schemas.answers import Answer, CaseScores, GeneratedText, ItemScore, NextTokens, TargetScore


def test_log_probability_per_token_or_in_all() -> None:
    score = TargetScore(text="Lima", logprob=-6.0, tokens=4)
    assert score.value("mean") == -1.5 and score.value("sum") == -6.0


def test_what_was_stored_before_greedy_reads_is_written_as_it_was() -> None:
    text = '{"text":"Lima","logprob":-6.0,"tokens":4}'
    assert TargetScore.model_validate_json(text).model_dump_json() == text
    answer = Answer(probe="p", targets=(TargetScore.model_validate_json(text),))
    assert "greedy" not in answer.model_dump_json() and "greedy" not in answer.model_dump(mode="json")["targets"][0]


def test_next_tokens_and_matches_are_stored_only_where_they_were_asked_for() -> None:
    plain = Answer(probe="p", targets=(TargetScore(text="Lima", logprob=-6.0, tokens=4),))
    assert "next_tokens" not in plain.model_dump_json() and "matched" not in plain.model_dump_json()
    answer = Answer(
        probe="p",
        targets=(TargetScore(text="Lima", logprob=-6.0, tokens=4, greedy=False, matched=0),),
        next_tokens=NextTokens(ids=(3, 1), logprobs=(-0.5, -2.0)),
    )
    assert Answer.model_validate_json(answer.model_dump_json()) == answer


def test_thoughts_are_stored_only_where_there_are_some() -> None:
    text = '{"text":" Lima","tokens":4,"ended":"eos","chat":false}'
    assert GeneratedText.model_validate_json(text).model_dump_json() == text
    for more in ({"thought": ""}, {"thought": "Lima?", "unfinished": True}):
        written = GeneratedText.model_validate({"text": "", "tokens": 1, "ended": "length", **more})
        assert GeneratedText.model_validate_json(written.model_dump_json()) == written


@pytest.mark.parametrize("greedy", [True, False])
def test_a_greedy_read_comes_back(greedy: bool) -> None:
    score = TargetScore(text="Lima", logprob=-6.0, tokens=4, greedy=greedy)
    assert TargetScore.model_validate_json(score.model_dump_json()) == score


@pytest.mark.parametrize(("values", "mean"), [((), None), ((None, None), None), ((1.0, None, 0.0), 0.5), ((0.0,), 0.0)])
def test_the_mean_is_over_what_was_scored(values: tuple[float | None, ...], mean: float | None) -> None:
    items = tuple(ItemScore(probe=str(n), item="i", value=v) for n, v in enumerate(values))
    assert CaseScores(case="c", metric="es", items=items).mean == mean
