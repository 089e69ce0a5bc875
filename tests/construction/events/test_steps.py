"""The checks of events, one by one, and over a store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from construction.events.checks import (
    EVENT_CHECKS,
    EventInputs,
    InformationKept,
    OptionsDiffer,
    QuestionInputs,
    RepeatsSibling,
    StandsAlone,
    SubjectNamed,
    judge_event,
)
from construction.events.steps import (
    FILES,
    ParaphraseReply,
    ParaphraseStep,
    TendencyAsk,
    TendencyReply,
    TendencyStep,
    TopicAsk,
    TopicReply,
    TopicStep,
)
from curation.checks.store_checks import CheckContext, make_checks, run_check
from curation.store.store import Store
from schemas.events.event import TEMPLATE_TEXT, EventRole
from schemas.facts import Entity
from schemas.lineage import Lineage
from schemas.verdicts import Verdict
from tests.support.construction.event_author import written_question
from tests.support.events import make_event, make_fact_question, make_tendency
from tests.support.facts import SOURCE

EVENT = make_event(roles=(EventRole(role="A", entity=Entity(text="Alba Rail")),))


def tendencies(inside: list[dict[str, Any]], outer: list[dict[str, Any]] | None = None, *, most: int = 6) -> Any:
    step = TendencyStep(FILES.load_all("paper")["tendency_questions"])
    reply = TendencyReply.model_validate({"in_scope": inside, "out_of_scope": outer or []})
    (question,) = step.parse(TendencyAsk(EVENT, most, 2), reply)
    return question


@pytest.mark.parametrize("profile", FILES.profiles())
def test_every_profile_asks_with_everything_filled_in(profile: str) -> None:
    prompts = FILES.load_all(profile)
    requests = [
        ParaphraseStep(prompts["paraphrase"]).sample(EVENT, EVENT.key, attempt=0),
        TopicStep(prompts["topic_events"], SOURCE).sample(TopicAsk("Energy", 10, 0), "Energy", attempt=0),
        TendencyStep(prompts["tendency_questions"]).sample(TendencyAsk(EVENT, 6, 2), EVENT.key, attempt=0),
    ]
    for request in requests:
        assert "{" not in request.messages[-1].content
        assert request.parameters["max_tokens"] and request.sample == 0
    assert EVENT.text in requests[0].messages[-1].content and "Alba Rail" in requests[0].messages[-1].content


def test_the_examples_of_the_prompts_are_good_replies() -> None:
    for profile in FILES.profiles():
        prompts = FILES.load_all(profile)
        for prompt, reply in zip(prompts.values(), (ParaphraseReply, TopicReply, TendencyReply), strict=True):
            for example in prompt.examples:
                assert reply.model_validate_json(example.assistant.strip())


def test_two_calls_of_a_topic_are_two_requests() -> None:
    step = TopicStep(FILES.load_all("paper")["topic_events"], SOURCE)
    one, two = (step.sample(TopicAsk("Energy", 10, call), "Energy", attempt=call) for call in (0, 1))
    assert one.messages == two.messages and one.sample != two.sample


def test_options_are_put_in_a_drawn_order_and_the_right_one_stays_right() -> None:
    many = [written_question(f"How may price {n} change?", answer="C") for n in range(60)]
    verdicts = tendencies(many, most=60).questions
    assert {q.right_option for q in verdicts} == {"It may stay"}
    letters = [q.answer for q in verdicts]
    assert min(letters.count(letter) for letter in "ABC") >= 10  # not all C, as the model wrote them
    assert verdicts == tendencies(many, most=60).questions


def test_a_faulty_question_is_left_out_with_its_reason_and_the_others_stay() -> None:
    good = written_question("How may prices change?")
    equal = written_question("How may fares change?", options=["Rise", "rise.", "Fall"])
    verdicts = tendencies([good, equal, good])
    assert [q.text for q in verdicts.questions] == ["How may prices change?"]
    assert len(verdicts.refused) == 2
    assert "two options are equal" in verdicts.refused[0] and verdicts.refused[1] == "one question is asked twice"


def test_a_question_in_and_out_of_scope_is_neither() -> None:
    good = written_question("How may prices change?")
    verdicts = tendencies([good, written_question("How may fares change?")], [good])
    assert [q.text for q in verdicts.questions] == ["How may fares change?"]
    assert verdicts.refused == ("one question is in and out of scope",)


def test_more_than_asked_for_is_not_taken() -> None:
    assert len(tendencies([written_question(f"How may {n} change?") for n in range(9)]).questions) == 6


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({"options": []}, "three options are needed, not none"),
        ({"options": ["a", "b"]}, "three options are needed, not 2"),
        ({"answer": "D"}, "'A', 'B' or 'C'"),
        ({"answer": "It may rise"}, "'A', 'B' or 'C'"),
        ({"question": " "}, "must not be empty"),
        ({"question": "x" * 3000}, "at most 2000"),
        ({"options": ["a", "b", "\x00"]}, "must not be empty"),
    ],
)
def test_a_malformed_reply_is_sent_back_with_the_reason(question: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        TendencyReply.model_validate({"in_scope": [{**written_question("How?"), **question}], "out_of_scope": []})


@pytest.mark.parametrize("reply", [{"text": ""}, {"text": " \n"}, {"text": "x" * 2001}, {"text": "a", "more": 1}])
def test_a_paraphrase_is_a_text(reply: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ParaphraseReply.model_validate(reply)


def test_no_events_and_no_questions_are_no_reply() -> None:
    with pytest.raises(ValidationError, match="at least one event"):
        TopicReply.model_validate({"events": []})
    with pytest.raises(ValidationError, match="at least one question"):
        TendencyReply.model_validate({"in_scope": [], "out_of_scope": [written_question("How?")]})


# The checks of events, one by one, and over a store.
LINE = Lineage(
    item_id=EVENT.id, stage="template", made_at="now", detail={TEMPLATE_TEXT: "Alba Rail merged with Corvo."}
)
OUTSIDE = make_tendency("How may fares of Alba Rail change?", scope="out")
LIKE = make_tendency("How may fares of Alba Rail fall?")


@pytest.fixture
def around(tmp_path: Path) -> CheckContext:
    stranger = make_tendency("How may this deal end?", event="e/away", key="e/away/tendency/1")
    store = Store.open(tmp_path / "s.duckdb", create=True)
    store.put([EVENT, make_fact_question(), OUTSIDE, LIKE, stranger], [LINE])
    return CheckContext(store)


def test_a_store_is_judged_as_construction_judges(around: CheckContext) -> None:
    labels = {}
    for name in EVENT_CHECKS.names():
        (check,) = make_checks([name])
        outcome = run_check(around.store, check, around=around)
        labels[name] = (outcome.labels, outcome.left)
    assert labels == {
        "information_kept": ({"drop": 1}, 0),  # Corvo is lost
        "options_differ": ({"keep": 2}, 1),  # the question whose event is away stays due
        "stands_alone": ({"keep": 2}, 1),
        "repeats_sibling": ({"keep": 2}, 1),
        "subject_named": ({"drop": 1, "keep": 1}, 1),
    }
    records = {v.key: v for v in around.store.verdicts([OUTSIDE.id])}
    verdicts = judge_event("tendency_question", QuestionInputs(event=EVENT, question=OUTSIDE))
    assert {v.by: v.label for v in verdicts} == {v.by: v.label for v in records.values()}
    values = [v.value for v in around.store.verdicts([OUTSIDE.id, LIKE.id]) if v.check == "repeats_sibling"]
    assert sorted(values) == [0.0, pytest.approx(12 / 14)]


def test_an_event_without_its_templates_words_is_kept_as_not_applicable(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put([make_event()])
        (check,) = make_checks(["information_kept"])
        run_check(store, check)
        assert [(v.label, v.reason) for v in store.verdicts()] == [("keep", "no paraphrase of a template")]


def test_the_checks_of_a_kind_that_apply() -> None:
    inputs = QuestionInputs(event=make_event(), question=make_tendency())
    assert [v.check for v in judge_event("tendency_question", inputs)] == [
        "options_differ",
        "stands_alone",
        "repeats_sibling",
    ]
    assert judge_event("event", EventInputs(event=make_event())) == []
    assert [v.check for v in judge_event("event", EventInputs(event=make_event(), bare="x"))] == ["information_kept"]


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


@pytest.mark.parametrize(
    ("options", "label"),
    [
        (("They rise", "They fall", "They stay"), "keep"),
        (("They rise", "they  RISE!", "They stay"), "drop"),
        (("They rise", "They fall", "None of the above"), "drop"),
        (("They rise", "They fall", "Both A and B"), "drop"),
        (("They rise", "All of these", "They stay"), "drop"),
        (("All trains run", "Both lines close", "None stop here"), "keep"),
        (("They rise", "They fall", "How may fares change?"), "drop"),
    ],
)
def test_options(options: tuple[str, ...], label: str) -> None:
    question = make_tendency("How may fares change?", options=options)
    verdict = OptionsDiffer().judge_one(QuestionInputs(event=make_event(), question=question))
    assert verdict.label == label and bool(verdict.reason) == (label == "drop")


def test_the_nearest_earlier_question_is_measured_and_nothing_dropped() -> None:
    question = make_tendency("How may fares change?")
    far, near = make_tendency("What grows in Lima?"), make_tendency("How may fares rise?")
    verdict = RepeatsSibling().judge_one(QuestionInputs(event=make_event(), question=question, earlier=(far, near)))
    assert (verdict.label, verdict.value, verdict.related) == ("keep", 0.75, (near.id,))


def test_a_first_question_and_itself_are_no_siblings() -> None:
    question = make_tendency()
    for earlier in ((), (question,)):
        verdict = RepeatsSibling().judge_one(QuestionInputs(event=make_event(), question=question, earlier=earlier))
        assert verdict.value == 0.0 and not verdict.related


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("How may fares in Genoa change?", ""),
        ("How may this event change fares?", "this event"),
        ("How may fares change after these new laws?", "these new laws"),
        ("What may follow from these recent reforms?", "these recent reforms"),
        ("How may tourism in the region change?", "the region"),
        ("How may tourism in the region of Tuscany change?", ""),
        ("How may the merger of Alba and Brenta be seen?", ""),
        ("How may The Merger be seen?", "The Merger"),
        ("How may the merger of the two firms be seen?", "the merger"),  # none of them is named
        ("How may prices follow this change in ownership?", "this change"),
        ("Will people say that fares are too high?", ""),
        ("How may such a ban be seen?", "such a ban"),
        ("How may the eventual winner feel?", ""),
    ],
)
def test_what_points_at_the_event(text: str, result: str) -> None:
    verdict = StandsAlone().judge_one(QuestionInputs(event=make_event(), question=make_tendency(text)))
    assert [s.text for s in verdict.spans] == ([result] if result else [])
    assert verdict.label == ("drop" if result else "keep")
    assert all(text[s.start : s.end] == s.text for s in verdict.spans)


SUBJECT_ROLES = (EventRole(role="A", entity=Entity(text="Alba Rail", aliases=("AR",))),)


@pytest.mark.parametrize(
    ("text", "changes", "label"),
    [
        ("How may rain in Lima change?", {"scope": "out"}, "keep"),
        ("How may fares of Alba Rail change?", {"scope": "out"}, "drop"),
        ("How may AR's fares change?", {"scope": "out"}, "drop"),
        ("How may fares of Alba Rail change?", {"about_event_subject": True}, "keep"),
        ("How may fares change?", {"about_event_subject": True}, "unsure"),
        ("How may fares change?", {"about_event_subject": False}, "keep"),
        ("How may fares change?", {}, "keep"),
    ],
)
def test_who_is_named(text: str, changes: dict[str, Any], label: str) -> None:
    inputs = QuestionInputs(event=make_event(roles=SUBJECT_ROLES), question=make_tendency(text, **changes))
    verdict = SubjectNamed().judge_one(inputs)
    assert verdict.label == label and bool(verdict.reason) == (label != "keep")
