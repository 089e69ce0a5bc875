from __future__ import annotations

import pytest
from pydantic import ValidationError

from evaluation.metrics.generation import (
    DocumentChoice,
    EventChoice,
    Generation,
    GenerationChoice,
    SharedQuestions,
    SpecificityChoice,
    cloze_hint,
    load_metrics,
    prompt_of,
)
from evaluation.runs.config import parse_config
from evaluation.runs.plan import ask
from schemas.core.config import Options
from schemas.core.errors import UserError
from schemas.probes import GenerateProbe
from tests.support.arithmetic import make_case
from tests.support.documents.shared import make_set, make_shared
from tests.support.events import event_case


def test_choices_reach_the_probes() -> None:
    choice = GenerationChoice(temperature=0.5, top_p=0.8, samples=3, max_tokens=40, step_tokens=7, chat="never")
    script, rest = load_metrics(["script_format", "s_es_gen"], Generation(choice, "digest"))
    probes = script.probes(make_case("Peru"))
    assert len(probes) == 6 and len({p.seed for p in probes}) == 6 and len({p.id for p in probes}) == 6
    assert {(p.most, p.top_p, p.chat, p.temperature) for p in probes} == {(40, 0.8, "never", 0.5)}
    assert {p.most for p in rest.probes(make_case("Peru"))} == {7}
    (reloaded, _) = load_metrics(["script_format", "es"], Generation(choice, "another"))
    assert reloaded.probes(make_case("Peru"))[0].seed != probes[0].seed


def test_stop_texts_reach_scripts_and_make_them_other_questions() -> None:
    """Without any the probe is the one of earlier versions, so that stored answers stay theirs."""
    ids = []
    for stop in ((), ("Step 10",)):
        script, rest = load_metrics(["script_format", "s_es_gen"], Generation(GenerationChoice(stop=stop), "digest"))
        (probe, *_) = script.probes(make_case("Peru"))
        assert probe.stop == stop and {p.stop for p in rest.probes(make_case("Peru"))} == {("\n",)}
        ids.append(probe.id)
    assert ids[0] != ids[1] and ids[0] == GenerateProbe.model_validate({**probe.model_dump(), "stop": ()}).id


@pytest.mark.parametrize(
    ("kind", "table", "message"),
    [
        (GenerationChoice, {"chat": "sometimes"}, "chat"),
        (GenerationChoice, {"samples": 2}, "set a temperature"),
        (GenerationChoice, {"stop": [""]}, "at least 1 character"),
        (GenerationChoice, {"thought": {"marks": [["<a>", "<a>"]]}}, "stands twice"),
        (GenerationChoice, {"thought": {"marks": [["<a>", "</a>"], ["<b>", "</a>"]]}}, "stands twice"),
        (GenerationChoice, {"thought": {"marks": []}}, "at least 1"),
        (GenerationChoice, {"thought": {"marks": [["", "x"]]}}, "at least 1 character"),
        (GenerationChoice, {"thought": {"tokens": 0}}, "greater than or equal to 1"),
        (GenerationChoice, {"thought": {"budget": 3}}, "Extra inputs"),
        (DocumentChoice, {"answer_tokens": 0}, "answer_tokens"),
        (DocumentChoice, {"hints": True}, "hints"),
        (SpecificityChoice, {"file": "a.json", "number": 0}, "number"),
        (SpecificityChoice, {"file": "a.json", "number": -1}, "number"),
        (SpecificityChoice, {"file": "a.json", "number": "some"}, "number"),
    ],
)
def test_choices_that_make_no_sense_are_refused(kind: type[Options], table: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        kind.model_validate(table)


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ("The Orla Bridge opened in ___.", ("The Orla Bridge opened in", " ")),
        ("It is a ___-drama.", ("It is a", " ")),
        ("It is a comedy-___ series.", ("It is a comedy-", "")),
        ("Hulu calls it '____'.", ("Hulu calls it '", "")),
        ("___ designed it.", ("", " ")),
        ("Is ___ a city?", ("", " ")),
        ("Who designed it?", ("", " ")),
        ("From ___ to ___.", ("From", " ")),
    ],
)
def test_the_hint_is_what_stands_before_the_blank(query: str, hint: tuple[str, str]) -> None:
    assert tuple(cloze_hint(query)) == hint


def test_a_question_has_no_hint_and_a_cloze_only_where_hints_are_given() -> None:
    assert prompt_of("Who designed it?", DocumentChoice()).text == "Question: Who designed it?\nAnswer:"
    phrase, plain = (prompt_of("It opened in ___.", DocumentChoice(hint=hint)).text for hint in (True, False))
    assert phrase == f"{plain} It opened in"


GOOD = {"split": "mini", "editors": ["none"], "out": "o", "metrics": ["ev_fact", "ev_choice"]}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"instruction": "papr"}, "events.instruction"),
        ({"answer_tokens": 0}, "events.answer_tokens"),
        ({"order": 1}, "events.order: unknown field"),
    ],
)
def test_mistakes_are_one_sentence(table: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse_config({**GOOD, "events": table}, where="run.toml")


def test_a_run_of_before_events_has_the_defaults_and_a_written_one_its_own() -> None:
    record = {"split_digest": "d", "config": {"generation": {"max_tokens": 9}}}
    assert Generation.from_description(record).events == EventChoice()
    assert Generation.from_description(record).choice.max_tokens == 9
    config = parse_config({**GOOD, "events": {"orders": "given"}}, where="run.toml")
    generation = Generation.from_description({"split_digest": "d", "config": config.model_dump(mode="json")})
    assert generation == Generation(config.generation, "d", config.events) and generation.events.orders == "given"


@pytest.mark.parametrize("change", [{"instruction": "paper"}, {"answer_tokens": 3}, {"orders": "given"}])
def test_what_is_asked_otherwise_is_asked_anew(change: dict[str, object]) -> None:
    metrics = ["ev_fact", "ev_choice"]
    plain, other = (
        {p.id for p in ask(event_case(), load_metrics(metrics, Generation(events=EventChoice.model_validate(table))))}
        for table in ({}, change)
    )
    assert plain != other


def test_all_questions_or_as_many_as_are_wanted_in_the_order_of_the_set() -> None:
    every = make_shared(10)
    assert every.drawn("case/a") == every.probes and len(every.probes) == 10
    some = make_shared(10, number=4)
    places = [some.probes.index(p) for p in some.drawn("case/a")]
    assert len(places) == 4 and places == sorted(places)


def test_draws_differ_by_case_and_seed_and_are_otherwise_the_same() -> None:
    draws = {
        (case, seed): tuple(p.item for p in make_shared(30, number=5, seed=seed).drawn(case))
        for case in ("case/a", "case/b")
        for seed in (0, 1)
    }
    assert len(set(draws.values())) == 4
    questions = make_shared(30, number=5)
    assert tuple(p.item for p in questions.drawn("case/a")) == draws["case/a", 0]
    assert questions.drawn("case/a") == questions.drawn("case/a")


def test_a_larger_number_keeps_the_questions_of_a_smaller() -> None:
    few, more = (make_shared(30, number=n).drawn("case/a") for n in (5, 9))
    assert set(few) < set(more)


def test_what_a_run_keeps_of_them_gives_them_again() -> None:
    choice = DocumentChoice(instruction="Answer.")
    one = SharedQuestions(make_set(), choice, number=3, seed=2)
    two = SharedQuestions.from_description(one.description(), choice)
    assert (two.probes, two.number, two.seed) == (one.probes, 3, 2)


def test_an_instruction_of_their_own_stands_in_the_place_of_the_runs() -> None:
    choice = DocumentChoice(instruction="Answer.")
    one = SharedQuestions(make_set(), choice, instruction="Give the answer.")
    assert {p.instruction for p in one.probes} == {"Give the answer."}
    assert SharedQuestions.from_description(one.description(), choice).probes == one.probes
    assert "instruction" not in SharedQuestions(make_set(), choice).description(), "runs of before stay as they were"
