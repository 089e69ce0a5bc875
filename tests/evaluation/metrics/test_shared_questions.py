from __future__ import annotations

from evaluation.metrics.generation import DocumentChoice, SharedQuestions
from tests.support.documents.shared import make_set, make_shared


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


def test_questions_are_asked_as_probes_of_documents_are() -> None:
    probe = make_shared(1).probes[0]
    assert (probe.instruction, probe.prompt, probe.separator) == (
        "Directly answer the question.",
        "Question: Where is lake 0?\nAnswer:",
        " ",
    )
    assert probe.greedy and probe.targets == ("Land 0",)


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
