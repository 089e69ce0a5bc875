from __future__ import annotations

import pytest
from pydantic import ValidationError

from schemas.cases import Case
from tests.support.events import event_case, make_fact_question
from tests.support.facts import peru_fact


def test_a_case_is_known_by_all_of_its_material() -> None:
    case = Case(key="case/1", fact=peru_fact())
    assert Case(key="case/1", fact=peru_fact(paraphrases=())).id != case.id
    assert case.model_copy(update={"key": "case/2"}).id == Case(key="case/2", fact=peru_fact()).id != case.id


def test_the_edit_of_a_case_and_its_kind() -> None:
    fact, event = Case(key="case/1", fact=peru_fact()), event_case()
    assert (fact.request, fact.group) == (fact.fact, "counterfactual")
    assert (event.request, event.group) == (event.event, "merger")


def test_a_type_stands_in_the_json_of_an_event_and_not_of_a_fact() -> None:
    assert "type" not in Case(key="case/1", fact=peru_fact()).payload()
    assert event_case().payload()["type"] == "event"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"facts": (), "tendencies": ()}, "without a question measures nothing"),
        ({"facts": (make_fact_question(event="e/other"),)}, "about another event .'e/other'"),
        (
            {"facts": (make_fact_question("Who?", "A"), make_fact_question("WHO?", "B", scope="out"))},
            "both in and out of scope",
        ),
    ],
)
def test_questions_that_do_not_fit_an_event_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        event_case(**change)


def test_either_list_of_questions_can_be_empty() -> None:
    assert event_case(facts=()).tendencies and event_case(tendencies=()).facts
