"""Metrics over written texts, worked by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from evaluation.metrics import METRICS
from evaluation.metrics.generation import Generation, GenerationChoice
from evaluation.metrics.text_level.probes import objects, questions
from evaluation.metrics.token_level.collapse import TEXT
from evaluation.runs.plan import load_metrics
from schemas.answers import Answer, CaseScores, GeneratedText, TargetScore
from schemas.cases import Case
from schemas.core.errors import UserError
from schemas.scripts import ScriptQuestion
from tests.support.arithmetic import make_case, make_prompt

SCRIPT = "Step 1: Pack warm clothes\nStep 2: Fly to {}\nStep 3: Walk through {}"


def scored(name: str, texts: list[str | None], *, case: Case | None = None, ended: Any = "eos") -> CaseScores:
    """Scores of a case (old Lima, new Oslo) whose texts, in the metric's order of asking, are these."""
    metric, case = METRICS.get(name)(), case or make_case("Peru")
    probes = metric.probes(case)
    assert len(probes) == len(texts)
    after = {
        p.id: Answer(probe=p.id, written=GeneratedText(text=t, tokens=9, ended=ended))
        for p, t in zip(probes, texts, strict=True)
        if t is not None
    }
    return metric.score(case, after, {}, "mean")


@pytest.mark.parametrize(
    ("name", "texts", "values"),
    [
        pytest.param("s_es_gen", [" Oslo.", " Lima, then Oslo"], [1.0, 0.0], id="s_es_gen: first mention decides"),
        pytest.param(
            "s_es_gen", [" the airport", None], [0.0, None], id="s_es_gen: neither is no success, none unscored"
        ),
        pytest.param(
            "s_es_gen_question",
            [SCRIPT.format("Oslo", "Lima"), SCRIPT.format("Lima", "Oslo")],
            [1.0, 0.0],
            id="question",
        ),
        pytest.param("script_format", [SCRIPT, "I like Oslo."], [1.0, 0.0], id="format"),
        pytest.param("script_old", [SCRIPT.format("Lima", "Oslo"), "No steps."], [1 / 3, None], id="old in steps"),
        pytest.param("script_loops", [SCRIPT, "Oslo Oslo Oslo Oslo"], [0.0, 1.0], id="loops"),
        pytest.param("script_refused", [SCRIPT, "I cannot help."], [0.0, 1.0], id="refused"),
        pytest.param("n_gram_entropy", ["short", " ".join(["a"] * 50)], [None, 0.0], id="entropy"),
    ],
)
def test_by_hand(name: str, texts: list[str | None], values: list[float | None]) -> None:
    assert [i.value for i in scored(name, texts).items] == values


def test_unscored_is_counted_and_says_why() -> None:
    found = scored("script_old", ["No steps.", None])
    assert [i.reason for i in found.items] == ["the text has no steps", "no answer"] and found.mean is None
    assert METRICS.get("script_old")().summarise([found]).unscored == 2


def test_cut_off_breaks_the_format() -> None:
    assert scored("script_format", [SCRIPT, SCRIPT], ended="length").mean == 0.0


def test_names_of_the_script_prompt_count() -> None:
    case = make_case("Peru")
    prompt = make_prompt("p", case.fact.key, "How?\nStep 1: Fly to", "the City of Kings", "Christiania")
    about = objects(case, prompt)
    assert "the City of Kings" in about.old.names and "Christiania" in about.new.names
    case = case.model_copy(update={"prompts": (prompt,)})
    assert scored("s_es_gen", [" Christiania"], case=case).mean == 1.0
    assert "Christiania" not in objects(case).new.names


def test_the_rest_of_the_step_is_asked_as_the_prompt_was_cut() -> None:
    case = make_case("Peru")
    cut = make_prompt("p", case.fact.key, "How?\nStep 1: Say", "Lima", separator=' "')
    (probe,) = METRICS.get("s_es_gen")().probes(case.model_copy(update={"prompts": (cut,)}))
    assert (probe.prompt, probe.separator, probe.stop, probe.chat) == (cut.text, ' "', ("\n",), "never")
    (spaced, _) = METRICS.get("s_es_gen")().probes(case)
    assert spaced.separator == "", "the space is the model's to write"


def test_scripts_are_not_stopped_at_a_line() -> None:
    assert all(p.stop == () for p in METRICS.get("script_format")().probes(make_case("Peru")))


def test_metrics_share_the_scripts_they_read() -> None:
    case = make_case("Peru")
    names = ("s_es_gen_question", "script_format", "script_old", "script_loops", "script_refused", "n_gram_entropy")
    asked = [tuple(p.id for p in METRICS.get(n)().probes(case)) for n in names]
    assert len(set(asked)) == 1


def test_questions_come_from_records_else_from_the_prompts() -> None:
    case = make_case("Peru")
    assert questions(case) == [(f"fact/peru/p{n}", f"How to reach Peru ({n})?") for n in (1, 2)]
    asked = ScriptQuestion(key="q", fact=case.fact.key, text="How to see Peru?")
    assert questions(case.model_copy(update={"questions": (asked,)})) == [("q", "How to see Peru?")]


def test_choices_reach_the_probes() -> None:
    choice = GenerationChoice(temperature=0.5, top_p=0.8, samples=3, max_tokens=40, step_tokens=7, chat="never")
    script, rest = load_metrics(["script_format", "s_es_gen"], Generation(choice, "digest"))
    probes = script.probes(make_case("Peru"))
    assert len(probes) == 6 and len({p.seed for p in probes}) == 6 and len({p.id for p in probes}) == 6
    assert {(p.most, p.top_p, p.chat, p.temperature) for p in probes} == {(40, 0.8, "never", 0.5)}
    assert {p.most for p in rest.probes(make_case("Peru"))} == {7}
    (again, _) = load_metrics(["script_format", "es"], Generation(choice, "another"))
    assert again.probes(make_case("Peru"))[0].seed != probes[0].seed


@pytest.mark.parametrize(("now", "value"), [(29.0, 0.0), (31.0, 1.0)])
def test_collapse_is_ten_times_the_perplexity(now: float, value: float) -> None:
    """Ten tokens of perplexity 3 before; 29 after is no collapse, 31 is."""
    metric, case = METRICS.get("collapse")(), make_case("Peru")
    (probe,) = metric.probes(case)

    def answer(perplexity: float) -> dict[str, Answer]:
        score = TargetScore(text=TEXT, logprob=-10 * math.log(perplexity), tokens=10)
        return {probe.id: Answer(probe=probe.id, targets=(score,))}

    assert metric.score(case, answer(now), answer(3.0), "sum").mean == value
    assert metric.score(case, answer(now), {}, "mean").items[0].reason == "before the edit: no answer"


def test_a_fact_without_a_new_object_is_no_case() -> None:
    case = make_case("Peru")
    with pytest.raises(UserError, match="no new object"):
        objects(case.model_copy(update={"fact": case.fact.model_copy(update={"new": None})}))


def test_an_unknown_way_of_writing_is_refused() -> None:
    from schemas.core.config import validate

    with pytest.raises(UserError, match="chat"):
        validate(GenerationChoice, {"chat": "sometimes"}, where="generation")
