"""Probes are known by what they ask, and scores by what was scored."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from schemas.cases import Case, CaseScores, GenerateProbe, ItemScore, Probe, ScoreProbe, TargetScore
from tests.support.facts import peru_fact

SCORE = ScoreProbe(purpose="fact", item="f/1", prompt="The capital of Peru is", targets=("Lima", "Oslo"))
WRITE = GenerateProbe(purpose="script_question", item="q/1", prompt="How to visit Lima?")


@pytest.mark.parametrize("change", [{"purpose": "paraphrase"}, {"item": "f/2"}, {"cluster": "f/3"}])
@pytest.mark.parametrize("probe", [SCORE, WRITE], ids=["score", "write"])
def test_what_a_probe_is_for_does_not_count(probe: ScoreProbe | GenerateProbe, change: dict[str, str]) -> None:
    assert probe.model_validate({**probe.model_dump(), **change}).id == probe.id


@pytest.mark.parametrize(
    "change", [{"prompt": "The capital of Peru was"}, {"separator": ""}, {"targets": ("Oslo", "Lima")}]
)
def test_what_is_scored_counts(change: dict[str, object]) -> None:
    assert ScoreProbe.model_validate({**SCORE.model_dump(), **change}).id != SCORE.id


@pytest.mark.parametrize(
    "change",
    [
        {"prompt": "How to visit Oslo?"}, {"separator": "\n"}, {"instruction": "Write."}, {"chat": "auto"},
        {"start": "Step 1:"}, {"most": 255}, {"temperature": 0.5}, {"top_p": 0.9}, {"seed": 1}, {"sample": 1},
        {"stop": ("\n",)},
    ],
    ids=lambda change: next(iter(change)),
)  # fmt: skip
def test_every_setting_of_a_text_counts(change: dict[str, object]) -> None:
    assert GenerateProbe.model_validate({**WRITE.model_dump(), **change}).id != WRITE.id


def test_ids_that_users_keep_in_their_runs() -> None:
    assert SCORE.id == "7f57efb4e5b41fc70181"
    assert WRITE.id == "79206052322de877ccaa"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"targets": ()}, "at least 1"),
        ({"ask": "choose"}, "'score', 'generate'"),
        ({"colour": "red"}, "Extra inputs"),
    ],
)
def test_probes_that_cannot_be_asked(data: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        TypeAdapter(Probe).validate_python({**SCORE.model_dump(), **data})


@pytest.mark.parametrize("change", [{"most": 0}, {"temperature": -0.1}, {"top_p": 0}, {"top_p": 1.1}])
def test_settings_that_write_nothing(change: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        GenerateProbe.model_validate({**WRITE.model_dump(), **change})


def test_a_probe_comes_back_as_what_it_was() -> None:
    adapter = TypeAdapter(Probe)
    assert [adapter.validate_json(p.model_dump_json()) for p in (SCORE, WRITE)] == [SCORE, WRITE]


def test_log_probability_per_token_or_in_all() -> None:
    score = TargetScore(text="Lima", logprob=-6.0, tokens=4)
    assert score.value("mean") == -1.5 and score.value("sum") == -6.0


@pytest.mark.parametrize(("values", "mean"), [((), None), ((None, None), None), ((1.0, None, 0.0), 0.5), ((0.0,), 0.0)])
def test_the_mean_is_over_what_was_scored(values: tuple[float | None, ...], mean: float | None) -> None:
    items = tuple(ItemScore(probe=str(n), item="i", value=v) for n, v in enumerate(values))
    assert CaseScores(case="c", metric="es", items=items).mean == mean


def test_a_case_is_known_by_all_of_its_material() -> None:
    case = Case(key="case/1", fact=peru_fact())
    assert Case(key="case/1", fact=peru_fact(paraphrases=())).id != case.id
    assert case.model_copy(update={"key": "case/2"}).id == Case(key="case/2", fact=peru_fact()).id != case.id
