from __future__ import annotations

import pytest

from construction.events.checks.base import EventInputs
from construction.events.checks.information_kept import InformationKept
from schemas.events.event import EventRole
from schemas.facts import Entity
from schemas.verdicts import Verdict
from tests.support.events import make_event, make_fact_question

ROLES = (
    EventRole(role="A", entity=Entity(text="Alba Rail", aliases=("AR",))),
    EventRole(role="B", entity=Entity(text="Brenta Rail")),
    EventRole(role="C", entity=Entity(text="Old Yard")),  # in no text: a derived role
)
BARE = "Alba Rail bought Brenta Rail for 40 million in May at Genoa."


def judged(text: str, bare: str = BARE, *answers: str) -> Verdict:
    facts = tuple(make_fact_question(f"Question {n}?", answer) for n, answer in enumerate(answers))
    return InformationKept().judge_one(EventInputs(event=make_event(text=text, roles=ROLES), bare=bare, facts=facts))


@pytest.mark.parametrize(
    ("text", "losses"),
    [
        (BARE, ""),
        ("It is done. In May, at Genoa, AR paid 40 million for all of Brenta Rail.", ""),  # an alias is a name
        ("In May, at Genoa, it paid 40 million for Brenta Rail.", "the name 'Alba Rail' is lost"),
        ("At Genoa, Alba Rail bought Brenta Rail for 40 million.", "the date 'May' is lost"),
        ("In May Alba Rail bought Brenta Rail for 400 million at Genoa.", "the number '40' is lost"),
        ("In May Alba Rail bought Brenta Rail for 40 million.", "the name 'Genoa' is lost"),
        (f"{BARE} Good. Good. Good. Good. Good.", "6 sentences are more than 5"),
    ],
)
def test_what_is_lost_is_told(text: str, losses: str) -> None:
    verdict = judged(text)
    assert (verdict.label, verdict.reason) == (("drop", losses) if losses else ("keep", ""))


def test_an_added_answer_is_told_and_one_that_the_event_gives_is_not() -> None:
    added = judged(f"{BARE} It joins the Northern Union.", BARE, "Alba Rail", "unknown", "Northern Union")
    assert added.label == "drop" and "'Northern Union' is added" in added.reason
    assert judged(f"{BARE} It is unknown why.", BARE, "Alba Rail", "unknown").label == "keep"


def test_it_applies_where_the_words_of_the_template_are_known() -> None:
    event = make_event(roles=ROLES)
    assert not InformationKept().applies(EventInputs(event=event))
    assert InformationKept().applies(EventInputs(event=event, bare="x"))
