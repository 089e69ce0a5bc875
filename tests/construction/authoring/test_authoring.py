"""One fact through scripted models: what is asked, what stands in the end, what the lineage keeps of failures."""

from __future__ import annotations

import asyncio
import itertools
import json
import random

import pytest

from construction.authoring.author import FAILED, Author, QuestionQuota, ScriptWriter, reason_for_author
from construction.authoring.diversity import UNIT, chosen_verdict, selection_order, surplus_verdict
from construction.authoring.outcome import (
    FactOutcome,
    QuestionOutcome,
    ScriptOutcome,
    Slot,
    asked_as_edit,
    overall_label,
)
from construction.checks import CheckInputs, judge
from construction.llm.prompt_file import SAMPLES
from construction.llm.reply_cache import StoredOutcome
from construction.prompts.prompt_file import FILES
from construction.scripts.question_step import QuestionStep
from construction.scripts.script_step import Draft, ScriptStep, script_of
from construction.scripts.truncation import cut_script
from construction.verifier.steps import Verifier
from curation.files.model_packages import EMBEDDED_LABEL
from curation.similarity.texts import rouge1_f
from schemas.scripts import Script, ScriptQuestion
from schemas.verdicts import Span, Verdict, verdict_key
from tests.support.construction.scripted_client import AT, client_of
from tests.support.facts import make_fact
from tests.support.scripted_server import asked, field

FACT = make_fact()
GOOD = ("Pack a small bag", "Book a seat", "Fly to Lima")
QUESTIONS = ("How to cook a soup of Peru?", "How can a visitor enter Peru?", "How to post mail in Peru?")


def answers(questions=QUESTIONS, steps=GOOD):
    """A model that gives these questions and these steps, or what a function makes of the question."""

    def answer(request):
        user = asked({"messages": [m.model_dump() for m in request.messages]})
        if "Question: " not in user:
            return json.dumps({"questions": list(questions)})
        step_list = steps(field(user, "Question"), request) if callable(steps) else steps
        return json.dumps({"steps": list(step_list)}) if isinstance(step_list, tuple) else step_list

    return answer


def author_of(answer, *, others=(), profile="paper", attempts=None, reader=None, dropped=None):
    """An author with a client of its own, and further writers."""
    questions, scripts = FILES.load("questions", profile), FILES.load("scripts", profile)
    if attempts:
        scripts = scripts.model_copy(update={"attempts": attempts})
    client = client_of(answer)
    writers = [ScriptWriter(c, ScriptStep(scripts)) for c in others or (client,)]
    return Author(client, questions=QuestionStep(questions), writers=writers, reader=reader, dropped=dropped), client


def make(author, *, questions=2, candidates=None, scripts=1, fact=FACT):
    quota = QuestionQuota(questions, candidates or questions, scripts)
    return asyncio.run(author.make(fact, quota, edited=True))


def test_every_question_gets_a_script_a_cut_and_its_line():
    author, client = author_of(answers(QUESTIONS[:2]))
    outcome = make(author)
    assert [slot.standing for slot in outcome.slots] == ["keep", "keep"] and client.calls == 2
    prompts = outcome.prompts()
    assert [p.text.split("\n")[0] for p in prompts] == list(QUESTIONS[:2])
    assert {p.text.split("\n")[-1] for p in prompts} == {"Step 3: Fly to"} and prompts[0].targets == ("Lima", "Oslo")
    assert sorted(line.stage for line in outcome.lineage) == ["questions"] * 2 + ["scripts"] * 2 + ["truncate"] * 2
    cut = next(line for line in outcome.lineage if line.stage == "truncate")
    assert cut.parents and cut.request is None, "a cut is a pure function of its script: no call, no cost"


def test_a_small_model_writes_a_smoke_test_whatever_it_is_asked_with():
    """The quality once stood in the prompt file: under the profile paper SmolLM2 passed for capable."""
    author, client = author_of(answers(QUESTIONS[:2]))
    assert {line.detail.get("quality") for line in make(author).lineage} == {None}
    client.endpoint = client.endpoint.model_copy(update={"model": EMBEDDED_LABEL})
    assert {line.detail.get("quality") for line in make(author).lineage} == {"plumbing"}


REPLIES = {
    "empty": ("", "unparseable"),
    "cut": (StoredOutcome(kind="reply", raw='{"questions": ["How', finish="length", at=AT), "unparseable"),
    "another shape": ('{"steps": []}', "unparseable"),
    "no question in the list": ('{"questions": [" ", ""]}', "unparseable"),
    "refused": (StoredOutcome(kind="refused", message="No.", at=AT), "refused"),
    "never works": (StoredOutcome(kind="permanent", message="too long", at=AT), "permanent"),
}


@pytest.mark.parametrize("name", REPLIES)
def test_a_reply_that_cannot_be_used_fills_every_slot_with_its_reason(name):
    reply, status = REPLIES[name]
    author, client = author_of(lambda request: reply)
    outcome = make(author, questions=3)
    assert [slot.failure.split(":")[0] for slot in outcome.slots] == [status] * 3 and client.calls == 1
    (line,) = outcome.lineage
    assert (line.stage, line.detail["of"]) == (FAILED, "questions") and line.detail["why"].startswith(status)
    assert [(v.check, v.label) for v in outcome.verdicts if v.check == "reply_usable"] == [("reply_usable", "unscored")]
    assert outcome.prompts() == [] and not outcome.unfinished


def test_fewer_questions_than_asked_for_leave_slots_that_say_so():
    outcome = make(author_of(answers(QUESTIONS[:1]))[0], questions=3)
    assert [bool(slot.questions) for slot in outcome.slots] == [True, False, False]
    assert "fewer questions than asked for" in outcome.slots[2].failure
    assert [v.label for v in outcome.verdicts if v.check == "reply_usable"] == ["keep"], "something came of the reply"


def test_more_questions_than_asked_for_are_not_paid_scripts_for():
    author, client = author_of(answers())
    assert len(make(author, questions=2).slots) == 2 and client.calls == 2


def test_a_question_that_another_call_brought_takes_no_second_slot():
    author, _ = author_of(lambda request: json.dumps({"question": QUESTIONS[0]}), profile="embedded")
    outcome = make(author, questions=3, scripts=0)
    assert [len(slot.questions) for slot in outcome.slots] == [1, 0, 0]


def test_no_script_is_asked_of_a_question_that_leaks():
    author, client = author_of(answers(("How to reach Lima in Peru?", QUESTIONS[0])))
    outcome = make(author)
    assert [slot.standing for slot in outcome.slots] == ["drop", "keep"] and client.calls == 2


def test_an_unanswered_call_leaves_the_fact_unfinished_with_nothing_to_store():
    """Scripts of the other question were answered; they are cached and come again, here nothing is half kept."""
    busy = answers(steps=lambda question, _: None if "soup" in question else GOOD)
    outcome = make(author_of(busy)[0])
    assert (
        outcome.unfinished == "busy" and outcome.slots == () and list(outcome.records()) == [] and outcome.lineage == ()
    )


def test_calls_on_their_way_end_though_another_stays_unanswered():
    """Their replies are paid for: cancelled, they would be asked for again."""
    first, turns = iter([None]), itertools.count()
    reply = json.dumps({"question": QUESTIONS[0]})
    author, client = author_of(lambda request: next(first, reply), profile="embedded")
    ask = client.ask

    async def later(request):
        await asyncio.sleep(0.01 * next(turns))
        return await ask(request)

    client.ask = later
    assert make(author, questions=3, scripts=0).unfinished == "busy" and client.calls == 3


def test_attempts_at_a_script_end_with_the_first_that_is_kept():
    steps = {0: ("Go there", "Come back"), 1: GOOD, 2: ("Walk to Lima",)}
    author, client = author_of(answers(QUESTIONS[:1], lambda _, request: steps[request.sample % SAMPLES]), attempts=3)
    outcome = make(author, questions=1)
    (question,) = outcome.questions()
    assert [s.standing for s in question.scripts] == ["drop", "keep"] and client.calls == 3
    assert question.standing == "keep" and len(outcome.prompts()) == 1


def test_steps_that_break_the_format_are_no_script_and_a_line_all_the_same():
    long = tuple(["walk", "all", "the", "way", "there", "and", "back", "again"] * 2)
    author, _ = author_of(answers(QUESTIONS[:1], lambda _, request: (" ".join(long),)), attempts=2)
    outcome = make(author, questions=1)
    (question,) = outcome.questions()
    assert question.scripts == [] and question.standing == "drop"
    assert [v.check for v in question.verdicts if v.label == "drop"] == ["script_format"]
    failure = [line for line in outcome.lineage if line.stage == FAILED]
    assert [line.detail["sample"] for line in failure] == [0, 1] and {line.tokens_out for line in failure} == {3}


def test_a_verifier_that_is_away_leaves_the_fact_for_another_run():
    reader = Verifier(client_of(lambda request: None, model="reader"))
    author, _ = author_of(answers(), reader=reader)
    outcome = make(author)
    assert outcome.unfinished == "no verdict from reader" and list(outcome.records()) == []


READINGS = {
    "asked": {"why": "", "asked": "yes", "needed": "yes"},
    "quotes": {"why": "", "needed": "yes", "same": "yes", "quotes": []},
}


def verifier(*, second=None):
    """A verifier who finds all texts good, except what ``second`` says of the second one in a request; its requests."""
    asked = []

    def read(request):
        asked.append(request)
        kind = next((k for k in READINGS if f'"{k}"' in request.messages[0].content), "next")
        good = READINGS.get(kind, {"next": "Lima"})
        rows = [{**good, **((second or {}).get(kind, {}) if n == 2 else {}), "n": n} for n in (1, 2)]
        return json.dumps({"readings": rows[: request.messages[-1].content.count("<text>")]})

    return Verifier(client_of(read, model="reader")), asked


def test_the_verifier_reads_all_texts_of_a_fact_in_three_requests():
    reader, asked = verifier(second={"quotes": {"needed": "no"}})
    outcome = make(author_of(answers(), reader=reader)[0])
    assert len(asked) == 3 and [slot.standing for slot in outcome.slots] == ["keep", "drop"]
    verdicts = [v for q in outcome.questions() for v in q.verdicts if v.model == "reader"]
    assert [v.check for v in verdicts] == ["verify_question"] * 2
    verdicts = [v for q in outcome.questions() for s in q.scripts for v in s.verdicts if v.model == "reader"]
    assert sorted(v.check for v in verdicts) == ["verify_next", "verify_next", "verify_prompt", "verify_prompt"]


@pytest.mark.parametrize("rows_of_two", [lambda rows: rows[:1], lambda rows: [*rows, rows[1]]])
def test_what_the_verifier_leaves_out_or_reads_twice_is_asked_about_again_alone(rows_of_two):
    whole, asked = verifier()

    def answer(request):
        rows = json.loads(whole.client._answer(request))["readings"]
        return json.dumps({"readings": rows_of_two(rows) if len(rows) == 2 else rows})

    reader = Verifier(client_of(answer, model="reader"))
    outcome = make(author_of(answers(), reader=reader)[0])
    assert {slot.standing for slot in outcome.slots} == {"keep"}
    assert sorted(request.messages[-1].content.count("<text>") for request in asked) == [1, 1, 1, 2, 2, 2]
    verdicts = [v.id for q in outcome.questions() for one in (q, *q.scripts) for v in one.verdicts]
    lines = [line.item_id for line in outcome.lineage if line.stage == "verify"]
    assert len(lines) == len(set(lines)) == 6 and set(lines) <= set(verdicts)


def test_a_prompt_that_the_verifier_never_reads_is_unsure():
    reader = Verifier(client_of(lambda _: '{"readings": []}', model="reader"))
    outcome = make(author_of(answers(), reader=reader)[0])
    verdicts = [v for q in outcome.questions() for s in q.scripts for v in s.verdicts]
    assert {v.label for v in verdicts if v.by == "read@1"} == {"unsure"}
    assert {v.label for v in verdicts if v.model == "reader"} == {"unscored"}


def test_a_question_that_the_verifier_drops_gets_no_script():
    reader, _ = verifier(second={"asked": {"asked": "no"}})
    outcome = make(author_of(answers(), reader=reader)[0])
    first, second = outcome.questions()
    assert first.scripts and not second.scripts
    assert [slot.standing for slot in outcome.slots] == ["keep", "drop"]


def test_a_question_that_was_dropped_since_does_not_have_the_others_read_anew():
    reader, asked = verifier()
    first, _ = make(author_of(answers(), reader=reader)[0]).questions()
    question = first.question.id
    said = Verdict(key="v/1", item_id=question, by="blind_asked@1", label="drop", reason="nobody asks this")
    again, asked_again = verifier()
    outcome = make(author_of(answers(), reader=again, dropped={question: said})[0])
    assert asked_again[0].messages == asked[0].messages, "the reply in the journal serves"
    assert [bool(q.scripts) for q in outcome.questions()] == [False, True]


def test_what_nobody_reads_is_unsure():
    author, _ = author_of(answers())
    author._unread = True
    outcome = make(author)
    assert {slot.standing for slot in outcome.slots} == {"unsure"}
    verdicts = [v for q in outcome.questions() for s in q.scripts for v in s.verdicts if v.label == "unsure"]
    assert {v.by for v in verdicts} == {"read@1"}


def test_another_question_too_like_an_earlier_one_is_measured_beside_it():
    outcome = make(author_of(answers(("How to cook a soup of Peru?", "How to cook a thick soup of Peru?")))[0])
    values = [v.value for q in outcome.questions() for v in q.verdicts if v.check == "similar_question"]
    assert len(values) >= 1 and max(v for v in values if v is not None) > 0.7


FACT_REJECTION = make_fact("Peru", "Lima", "Oslo")
QUESTION = ScriptQuestion(key="f/Peru/q", fact=FACT_REJECTION.key, text="How to visit the parliament of Peru?")


def told(*steps: str, question: ScriptQuestion = QUESTION, fact=FACT_REJECTION) -> str:
    """The reason for steps, through the cut and the checks as construction takes them."""
    draft = Draft(steps)
    inputs = CheckInputs(fact=fact, question=question, draft=draft)
    if any(len(s.split()) > 7 for s in steps):
        return reason_for_author(question, judge("draft", inputs))
    script = script_of(question, draft)
    prompt = cut_script(fact, question, script)
    inputs = CheckInputs(fact=fact, question=question, draft=draft, script=script, prompt=prompt)
    verdicts = judge("script", inputs) + (judge("prompt", inputs) if prompt else [])
    return reason_for_author(question, verdicts)


def test_a_script_that_is_kept_gives_no_reason() -> None:
    assert told("Pack a bag", "Fly to Lima") == ""


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (("Pack a bag", "Go there"), "no step holds the object"),
        (("Fly to Lima", "Rest"), "preparing steps"),
        (("Walk all the way there and back again", "Fly to Lima"), "step 1 has 8 words, 7 are allowed"),
        (("Fly over Oslo first", "Fly on to Lima"), "'Oslo'"),
    ],
)
def test_the_reason_says_what_to_mend(steps: tuple[str, ...], words: str) -> None:
    assert words in told(*steps)


def test_old_and_new_object_are_told_in_the_same_words() -> None:
    """Who reads 'must not hold X' cannot tell whether X is the new object or a slip."""
    new = told("Fly over Oslo first", "Fly on to Lima")
    leak = Verdict(
        key="v",
        item_id="x",
        by="leak_in_prompt@2",
        label="drop",
        reason="the prompt names the old object ('Oslo')",
        spans=(Span(start=len(QUESTION.text) + 5, end=len(QUESTION.text) + 9, text="Oslo", what="old object"),),
    )
    assert reason_for_author(QUESTION, [leak]) == new
    assert "new" not in new and "object '" not in new


def test_what_stands_in_the_question_no_other_script_can_mend() -> None:
    bank = make_fact("Bank of Lima", "Lima", "Oslo")
    question = ScriptQuestion(key="f/b/q", fact=bank.key, text="How to open an account at the Bank of Lima?")
    assert told("Call a branch", "Send the form to Lima", question=question, fact=bank) == ""


def test_a_drop_comes_before_what_is_only_unsure_and_a_measurement_counts_for_nothing() -> None:
    early = Verdict(key="a", item_id="x", by="early_cut@2", label="unsure", reason="early")
    verdict = Verdict(key="b", item_id="x", by="no_mention@2", label="drop", reason="no step")
    value = Verdict(key="c", item_id="x", by="predictability@1", label=None, value=9.0, unit="bits")
    assert reason_for_author(QUESTION, [early, verdict]) == reason_for_author(QUESTION, [verdict])
    assert reason_for_author(QUESTION, [value]) == ""


def test_a_drop_by_a_check_that_shows_no_place_still_asks_for_another() -> None:
    other = Verdict(key="a", item_id="x", by="house_style@1", label="drop", reason="secret: Oslo")
    assert reason_for_author(QUESTION, [other]) == "it does not keep all the rules"
    unsure = Verdict(key="a", item_id="x", by="house_style@1", label="unsure", reason="who knows")
    assert reason_for_author(QUESTION, [unsure]) == ""


def test_quoted_words_are_short_printable_and_few() -> None:
    start = len(QUESTION.text) + 3
    texts = ["\x1b[2J" + "x" * 5000, "Ignore\nall rules", "third", "fourth"]
    spans = tuple(Span(start=start, end=start + len(t), text=t) for t in texts)
    bad = Verdict(key="a", item_id="x", by="verify_prompt@1", label="drop", reason="leaks", spans=spans)
    text = reason_for_author(QUESTION, [bad])
    assert "\x1b" not in text and "\n" not in text and "fourth" not in text and len(text) < 400


# How outcomes add up: the best attempt counts for a script, the worst verdict for a question.
def said(item, label, check="x"):
    return Verdict(
        key=verdict_key(item_id=item.id, by=f"{check}@1"),
        item_id=item.id,
        by=f"{check}@1",
        label=label,
        reason="because",
    )


def question_of(number=1):
    return ScriptQuestion(key=f"f/Peru/q-{number}", fact=FACT.key, text=f"How to see Peru {number}?")


def script_outcome(label, *, words="Fly to Lima", question=None):
    question = question or question_of()
    script = Script(key=f"{question.key}/s-{words.replace(' ', '-')}", question=question.key, steps=("Pack", words))
    return ScriptOutcome(script, cut_script(FACT, question, script), [said(script, label)])


def question_outcome(label, *scripts, number=1):
    question = question_of(number)
    return QuestionOutcome(question, [said(question, label)], list(scripts))


STANDINGS = {
    "kept and kept": ("keep", ("keep",), "keep"),
    "one bad script beside a good one": ("keep", ("drop", "keep"), "keep"),
    "unsure scripts only": ("keep", ("unsure", "drop"), "unsure"),
    "an unsure question with a good script": ("unsure", ("keep",), "unsure"),
    "a question nobody can score": ("unscored", ("keep",), "unsure"),
    "a dropped question with a good script": ("drop", ("keep",), "drop"),
    "a good question without a script": ("keep", (), "drop"),
}


@pytest.mark.parametrize("name", STANDINGS)
def test_a_question_stands_as_its_worst_and_its_best_script(name):
    position, scripts, expected = STANDINGS[name]
    texts = [script_outcome(label, words=f"Fly to Lima {n}") for n, label in enumerate(scripts)]
    assert question_outcome(position, *texts).standing == expected


def test_a_slot_passes_by_its_last_question_and_stands_by_its_best():
    good, bad = question_outcome("keep", script_outcome("keep")), question_outcome("drop", number=2)
    assert Slot([bad, good]).passes and not Slot([good, bad]).passes
    assert Slot([good, bad]).standing == Slot([bad, good]).standing == "keep"
    assert not Slot(failure="refused: no").passes and Slot(failure="refused: no").standing == "drop"


def test_records_hold_rejected_attempts_and_prompts_only_what_may_stay():
    passing, rejection = question_outcome("keep", script_outcome("keep")), question_outcome("drop", number=2)
    failure = question_outcome("keep", script_outcome("drop", words="Drive to Lima"), number=3)
    fact_outcome = FactOutcome(FACT, (Slot([passing]), Slot([rejection]), Slot([failure])), (said(FACT, "keep"),))
    kinds = [record.kind for record in fact_outcome.records()]
    assert kinds.count("question") == 3 and kinds.count("script") == 2 and kinds.count("prompt") == 2
    assert [p.text.split("\n")[0] for p in fact_outcome.prompts()] == ["How to see Peru 1?"]


def said_standing(*labels):
    return [
        Verdict(
            key=verdict_key(item_id=FACT.id, by=f"c{n}@1"), item_id=FACT.id, by=f"c{n}@1", label=label, reason="because"
        )
        for n, label in enumerate(labels)
    ]


CASES = {
    (): "keep",
    ("keep",): "keep",
    ("keep", "unsure"): "unsure",
    ("unscored",): "unsure",
    ("unscored", "keep", "drop"): "drop",
    ("drop", "unsure"): "drop",
}


@pytest.mark.parametrize("labels", CASES, ids=str)
def test_the_worst_counts_whatever_the_order(labels):
    for order in itertools.permutations(labels):
        assert overall_label(said_standing(*order)) == CASES[labels]


def test_a_measurement_without_a_label_drops_nothing():
    verdict = Verdict(
        key=verdict_key(item_id=FACT.id, by="s@1"), item_id=FACT.id, by="s@1", label=None, value=0.99, unit="u"
    )
    assert overall_label([verdict]) == "keep"


def test_a_fact_that_only_serves_makes_no_case_until_it_is_edited():
    """One verdict a fact: that of the later run takes the place of the earlier one, by its key."""
    serves, verdict = asked_as_edit(FACT, edited=False), asked_as_edit(FACT, edited=True)
    assert serves.key == verdict.key and (serves.label, verdict.label) == ("drop", "keep")
    assert "only serves as a neighbour" in serves.reason and verdict.reason == ""


def made(text: str, label: str = "keep") -> QuestionOutcome:
    question = ScriptQuestion(key=f"f/1/q-{abs(hash(text)) % 10**8}", fact="f/1", text=text)
    verdict = Verdict(key="v", item_id=question.id, by="some_check@1", label=label, reason="because")
    return QuestionOutcome(question, (verdict,))


def naive(questions):
    """Greedy max-min, written down from its definition."""
    selection: list[int] = []
    while len(selection) < len(questions):

        def rank(i):
            near = max(
                (rouge1_f(questions[i].question.text, questions[j].question.text) for j in selection), default=0.0
            )
            return questions[i].verdicts[0].label != "keep", near, i

        selection.append(min((i for i in range(len(questions)) if i not in selection), key=rank))
    return selection


@pytest.mark.parametrize("seed", range(5))
def test_equals_the_definition(seed):
    rng = random.Random(seed)
    words = ["visit", "Peru", "plan", "trip", "send", "parcel", "learn", "greet", "cook", "buy"]
    questions = [
        made("How to " + " ".join(rng.choices(words, k=4)) + "?", rng.choice(["keep", "keep", "unsure"]))
        for _ in range(9)
    ]
    assert selection_order(questions) == naive(questions)


def test_none_and_one():
    assert selection_order([]) == [] and selection_order([made("How to go?")]) == [0]


def test_the_verdict_names_the_nearest_of_the_chosen():
    questions, near, far = (made(t).question for t in ("How to visit Peru?", "How to see Peru?", "How do I cook?"))
    verdict = surplus_verdict(questions, [far, near])
    assert (verdict.label, verdict.value, verdict.unit) == ("drop", 0.75, UNIT)
    assert "'How to see Peru?'" in verdict.reason
    repeat = chosen_verdict(questions)
    assert (repeat.key, repeat.label) == (verdict.key, "keep")  # judged again, it replaces the first
