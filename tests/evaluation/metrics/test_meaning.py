from __future__ import annotations

import pytest

from evaluation.metrics import METRICS
from evaluation.metrics.meaning import plain_prompts, script_prompts
from schemas.answers import Answer, TargetScore
from schemas.probes import ScoreProbe
from tests.support.arithmetic import make_case, make_prompt
from tests.support.metrics.token_scores import answer

NAMES = ("es_negated", "s_es_negated", "es_true_false", "s_es_true_false", "es_choice", "s_es_choice")


CASE = make_case("Peru")


@pytest.mark.parametrize("name", NAMES)
def test_one_wrong_probe_fails_its_prompt_only(name: str) -> None:
    metric = METRICS.get(name)()
    groups = metric.groups(CASE)
    right = {p.id: answer(p, -1.0, -2.0) for p in metric.probes(CASE)}
    assert metric.score(CASE, right, {}, "mean").mean == 1.0
    for group in groups:
        for probe in group:
            wrong = metric.score(CASE, right | {probe.id: answer(probe, -2.0, -1.0)}, {}, "mean")
            assert [i.value for i in wrong.items] == [0.0 if g is group else 1.0 for g in groups]
            tied = metric.score(CASE, right | {probe.id: answer(probe, -1.0, -1.0)}, {}, "mean")
            assert [(i.value, i.tie) for i in tied.items] == [
                (0.0, True) if g is group else (1.0, False) for g in groups
            ]
            missing = metric.score(CASE, {k: v for k, v in right.items() if k != probe.id}, {}, "mean")
            assert [i.value for i in missing.items] == [None if g is group else 1.0 for g in groups]


def test_script_prompts_name_the_objects_as_they_do() -> None:
    prompt = make_prompt("p", CASE.fact.key, "How?\nStep 1: Fly to", "the City of Kings", "Christiania", separator=" (")
    (asked,) = script_prompts(CASE.model_copy(update={"prompts": (prompt,)}))
    assert (asked.new, asked.old, asked.separator) == ("Christiania", "the City of Kings", " (")
    assert [p.new for p in plain_prompts(CASE)] == ["Oslo"]


class Believer:
    """A reader who holds one object to be true, and answers every kind of question by it."""

    def __init__(self, true: str) -> None:
        self.true = true

    def answer(self, probe: ScoreProbe) -> Answer:
        scores = tuple(TargetScore(text=t, logprob=self.value(probe.prompt, t), tokens=1) for t in probe.targets)
        return Answer(probe=probe.id, targets=scores)

    def value(self, prompt: str, target: str) -> float:
        if target in ("A", "B"):
            line = next(line for line in prompt.split("\n") if line.startswith(f"{target}. "))
            return -1.0 if line.endswith(self.true) else -5.0
        if target in ("True", "False"):
            statement = prompt.split("\nQuestion")[0].removesuffix(".")
            return -1.0 if (target == "True") == statement.endswith(self.true) else -5.0
        denied = "not true" in prompt or "wrong thing" in prompt
        return -1.0 if (target == self.true) != denied else -5.0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("true", "value"), [("Oslo", 1.0), ("Lima", 0.0), ("Bonn", 0.0)], ids=["new", "old", "random"])
def test_who_holds_the_new_fact_passes_and_a_random_object_does_not(name: str, true: str, value: float) -> None:
    """``random``: the edit wrote another object, as the validity row ``random_object`` makes it."""
    metric, reader = METRICS.get(name)(), Believer(true)
    after = {p.id: reader.answer(p) for p in metric.probes(CASE)}
    assert {i.value for i in metric.score(CASE, after, {}, "mean").items} == {value}


def test_signs_of_formats_in_prompts_and_objects_are_text() -> None:
    prompt = make_prompt("p", "fact/peru", "How {a} 50 %s?\nStep 1: Say {}", "100 %", "{b} %d")
    (first, _) = METRICS.get("s_es_choice")().probes(make_case("Peru").model_copy(update={"prompts": (prompt,)}))
    assert first.prompt.startswith(prompt.text) and "\nA. {b} %d\nB. 100 %\n" in first.prompt


@pytest.mark.parametrize(
    ("name", "place", "text", "targets"),
    [
        ("es_choice", 0, "\nA. Oslo\nB. Lima\n", ("A", "B")),
        ("es_choice", 1, "\nA. Lima\nB. Oslo\n", ("B", "A")),
        ("es_negated", 1, f"It is not true that {CASE.fact.fact_prompt}", ("Lima", "Oslo")),
        ("s_es_negated", 1, "The last step of this script names the wrong thing.\nHow to reach", ("Lima", "Oslo")),
        ("es_true_false", 0, f"Statement: {CASE.fact.fact_prompt} Oslo.", ("True", "False")),
        ("es_true_false", 1, f"Statement: {CASE.fact.fact_prompt} Lima.", ("False", "True")),
        ("s_es_true_false", 0, "How to reach Peru (1)?\nStep 1: Fly to Oslo\nQuestion:", ("True", "False")),
    ],
)
def test_what_is_asked(name: str, place: int, text: str, targets: tuple[str, ...]) -> None:
    probe = METRICS.get(name)().probes(CASE)[place]
    assert text in probe.prompt and probe.targets == targets


@pytest.mark.parametrize(("negated", "affirmed"), [("es_negated", "es"), ("s_es_negated", "s_es")])
def test_what_is_affirmed_is_asked_as_the_metric_by_probability_asks_it(negated: str, affirmed: str) -> None:
    asked, plain = (METRICS.get(name)().probes(CASE) for name in (negated, affirmed))
    assert [p.id for p in asked[::2]] == [p.id for p in plain]
