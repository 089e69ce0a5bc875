from __future__ import annotations

import math
from typing import Any

import pytest

from evaluation.metrics.base import TRUNCATED, Answers
from evaluation.metrics.event_answers import (
    NOT_RATED,
    EventAllOpenWhole,
    EventLetter,
    EventLetterLocality,
    EventLetterWhole,
    EventOpen,
    EventOpenAccuracy,
    EventOpenCoherence,
    EventOpenComprehensiveness,
    EventOpenLocality,
    EventOpenWhole,
    RatedAnswer,
    WrittenLocality,
    letter_of,
)
from evaluation.metrics.event_questions import (
    choice_probes,
    chosen_option,
    fact_probe,
    fold_answer,
    is_right,
    is_same,
    letter_probe,
    question_of,
    says_unknown,
)
from evaluation.metrics.events import (
    EventAllWhole,
    EventBackground,
    EventChoiceLocality,
    EventChoiceMass,
    EventChoiceRight,
    EventChoiceSway,
    EventChoiceWhole,
    EventFact,
    EventFactLocality,
    EventFactWhole,
    EventKnown,
    EventPlain,
    EventRecall,
    EventUnknown,
    QuestionMetric,
    WholeEventMetric,
)
from evaluation.metrics.generation import EventChoice
from schemas.answers import Answer, CaseScores, GeneratedText, TargetScore
from schemas.cases import EventCase
from schemas.events.questions import TendencyQuestion
from schemas.facts import Object
from schemas.probes import instructed
from tests.support.evaluation import event_answers
from tests.support.evaluation.event_answers import chose, prefers, said
from tests.support.evaluation.open_answers import RIGHT, SAME, WRONG, tendency_case
from tests.support.events import event_case, make_fact_question, make_tendency

FACT, CHOICE = make_fact_question(), make_tendency()


CASE = event_case(facts=(FACT,), tendencies=(CHOICE,))


class Everything(QuestionMetric):
    """All questions of a case."""

    name = "everything"

    def questions(self, case: EventCase) -> list:  # type: ignore[type-arg]
        return [*case.facts, *case.tendencies]


class Whole(WholeEventMetric):
    """All of them at once."""

    name = "whole"

    def questions(self, case: EventCase) -> list:  # type: ignore[type-arg]
        return [*case.facts, *case.tendencies]


def test_every_question_is_one_item_however_many_probes_ask_it() -> None:
    metric = Everything()
    assert len(metric.probes(CASE)) == 4
    items = metric.score(CASE, said(FACT, "Alba Rail") | prefers(CHOICE, "B"), {}, "mean").items
    assert [(i.item, i.value) for i in items] == [(FACT.key, 1.0), (CHOICE.key, 0.0)]
    assert [i.probe for i in items] == [metric.probes(CASE)[0].id, metric.probes(CASE)[1].id]


def test_a_prompt_that_lost_its_beginning_is_marked_on_both_levels() -> None:
    answers = said(FACT, "Alba Rail") | prefers(CHOICE, "A")
    cut = {k: a.model_copy(update={"truncated": bool(a.targets)}) for k, a in answers.items()}
    assert [i.reason for i in Everything().score(CASE, cut, {}, "mean").items] == ["", TRUNCATED]
    (full_score,) = Whole().score(CASE, cut, {}, "mean").items
    assert (full_score.value, full_score.reason) == (1.0, TRUNCATED)
    assert Whole().summarise([Whole().score(CASE, cut, {}, "mean")]).truncated == 1


def test_an_event_without_questions_is_no_item_and_one_without_answers_unscored() -> None:
    facts_only = event_case(tendencies=())
    assert Everything().score(facts_only, {}, {}, "mean").mean is None
    (full_score,) = Whole().score(CASE, {}, {}, "mean").items
    assert (full_score.value, full_score.reason) == (None, "no answer")


RUNS = make_fact_question()


GONE = make_fact_question("Who leads Brenta Rail?", "unknown")


FAR = make_fact_question("In which league is it?", "First Division", background=True)


GONE_FAR = make_fact_question("Who leads its league?", "unknown", background=True)


STAYS = make_fact_question("Where was Alba Rail founded?", "Genoa", scope="out")


STAYS_TOO = make_fact_question("When was it founded?", "1900", scope="out")


ONE = event_case(facts=(RUNS, GONE, FAR, GONE_FAR, STAYS, STAYS_TOO))


TWO = event_case("case/two", facts=(RUNS,))


OUTSIDE = event_case("case/outside", facts=(STAYS,))


SAID = said(RUNS, "Alba Rail") | said(GONE, "unknown") | said(FAR, "Second Division") | said(GONE_FAR, "nobody")


AFTER = SAID | said(STAYS, " genoa.") | said(STAYS_TOO, "1901")


BEFORE = said(STAYS, "Genoa") | said(STAYS_TOO, "1900")


@pytest.mark.parametrize(
    ("metric", "mean", "questions", "cases"),
    [
        # two of four right in the first case, one of one in the second
        (EventFact, 3 / 5, 5, 2),
        (EventKnown, 2 / 3, 3, 2),
        (EventUnknown, 1 / 2, 2, 1),
        (EventBackground, 0.0, 2, 1),
        (EventPlain, 1.0, 3, 2),
        (EventFactWhole, 1 / 2, 2, 2),
        # in both cases with questions out of scope Genoa stays; 1900 became 1901
        (EventFactLocality, 2 / 3, 3, 2),
    ],
)
def test_worked_by_hand(metric: type[EventFact], mean: float, questions: int, cases: int) -> None:
    instance = metric()
    score = instance.summarise([instance.score(case, AFTER, BEFORE, "mean") for case in (ONE, TWO, OUTSIDE)])
    assert (score.mean, score.items, score.cases) == (pytest.approx(mean), questions, cases)
    assert score.level == ("case" if metric is EventFactWhole else "question")
    assert instance.score(OUTSIDE, AFTER, BEFORE, "sum").items == () or metric is EventFactLocality


def test_a_whole_event_is_lost_with_one_wrong_answer_and_unscored_while_that_is_open() -> None:
    metric, answers = EventFactWhole(), said(RUNS, "Alba Rail") | said(GONE, "unknown")
    case = event_case(facts=(RUNS, GONE, STAYS))
    (full_score,) = metric.score(case, answers, {}, "mean").items
    assert full_score.value == 1.0, "what is out of scope is not asked for"
    (items,) = metric.score(case, said(RUNS, "Alba Rail"), {}, "mean").items
    assert (items.value, items.reason) == (None, "no answer")
    (wrong,) = metric.score(case, said(RUNS, "Brenta"), {}, "mean").items
    assert wrong.value == 0.0, "the missing answer cannot mend it"


def test_locality_needs_both_answers() -> None:
    (one,) = EventFactLocality().score(OUTSIDE, AFTER, {}, "mean").items
    assert (one.value, one.reason) == (None, "before the edit: no answer")


BRENTA = {"text": "In which league does Brenta play?", "answer": {"text": "Second League", "aliases": ["League Two"]}}


COUNTRY = {"text": "In which country is the Second League?", "answer": {"text": "Peru"}}


LEAGUE = make_fact_question("In which league is Ana?", "Second League", background=True, background_questions=[BRENTA])


NATION = make_fact_question("Where does Ana play?", "Peru", background=True, background_questions=[BRENTA, COUNTRY])


GONE_BRENTA = make_fact_question("Who coaches Ana?", "unknown", background=True, background_questions=[COUNTRY])


def test_recall_is_what_the_unedited_model_knows_and_a_shared_question_is_asked_once() -> None:
    metric, case = EventRecall(), event_case(facts=(LEAGUE, NATION, GONE_BRENTA, STAYS))
    first, second = metric.questions(case)
    assert [q.text for q in (first, second)] == [BRENTA["text"], COUNTRY["text"]]
    assert [q.key for q in (first, second)] == [f"{LEAGUE.key}/background/1", f"{NATION.key}/background/2"]
    before = said(first, "league two.") | said(second, "Chile")
    edited = said(first, "Ana Roe") | said(second, "Peru")
    score = metric.score(case, edited, before, "mean")
    assert [i.value for i in score.items] == [1.0, 0.0], "what the edited model says does not count"
    (known, lost) = metric.score(case, edited, said(first, "League Two"), "mean").items
    assert (known.value, lost.value, lost.reason) == (1.0, None, "no answer")
    summary = metric.summarise([score, metric.score(ONE, edited, before, "mean")])
    assert (summary.mean, summary.items, summary.cases, summary.level) == (0.5, 2, 1, "question")


PRICES, JOBS = make_tendency(), make_tendency("How may jobs change?", "B")


RAIN = make_tendency("How may rain change?", "C", scope="out")


CASE_LETTERS = event_case(tendencies=(PRICES, JOBS, RAIN))


def wrote(*texts: tuple[TendencyQuestion, str]) -> dict[str, Answer]:
    ids = [(letter_probe(question, EventChoice()).id, text) for question, text in texts]
    return {id: Answer(probe=id, written=GeneratedText(text=text, tokens=1, ended="stop")) for id, text in ids}


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("(A)", "A"), ("The answer is (C).", "C"), ("B. They fall", "B"), ("C", "C"), (" A \nB", "A"),
        ("a", None), ("A little", None), ("D", None), ("They rise.", None), ("\n(B)", "B"), ("", None),
    ],
)  # fmt: skip
def test_letters_are_read_from_the_first_line(text: str, letter: str | None) -> None:
    assert letter_of(text) == letter


def test_right_wrong_none_and_not_asked() -> None:
    """Prices right, jobs without a letter: half of the questions, and not the whole event."""
    answers = wrote((PRICES, "(A) They rise"), (JOBS, "They fall"))
    items = EventLetter().score(CASE_LETTERS, answers, {}, "mean").items
    assert [i.value for i in items] == [1.0, 0.0]
    assert [i.value for i in EventLetterWhole().score(CASE_LETTERS, answers, {}, "mean").items] == [0.0]
    both = answers | wrote((JOBS, "B."))
    assert [i.value for i in EventLetterWhole().score(CASE_LETTERS, both, {}, "mean").items] == [1.0]
    assert [i.value for i in EventLetter().score(CASE_LETTERS, wrote((PRICES, "A")), {}, "mean").items] == [1.0, None]


@pytest.mark.parametrize(("now", "then", "value"), [("C", "(C) no", 1.0), ("A", "C", 0.0), ("none", "none", 0.0)])
def test_locality_compares_letters(now: str, then: str, value: float) -> None:
    (item,) = EventLetterLocality().score(CASE_LETTERS, wrote((RAIN, now)), wrote((RAIN, then)), "mean").items
    assert item.value == value


def test_what_is_asked_has_the_options_in_order_and_is_looked_up_without_them() -> None:
    probe = letter_probe(PRICES, EventChoice())
    assert "(A) They rise (B) They fall (C) They stay as they are\nAnswer:" in probe.prompt and probe.stop == ("\n",)
    assert question_of(probe.prompt) == PRICES.text
    assert EventLetter().probes(CASE_LETTERS) == [probe, letter_probe(JOBS, EventChoice())]


USUAL, PAPER = EventChoice(), EventChoice(instruction="paper")


def with_event(prompt: str) -> str:
    return f"Event: Alba Rail merged.\n{prompt}"


def test_options_are_shown_in_all_three_rotations() -> None:
    parts = [p.prompt.split("\n")[0].split("? ")[1] for p in choice_probes(make_tendency(), USUAL)]
    assert parts == [
        "(A) They rise (B) They fall (C) They stay as they are",
        "(A) They fall (B) They stay as they are (C) They rise",
        "(A) They stay as they are (B) They rise (C) They fall",
    ]
    (probe,) = choice_probes(make_tendency(), EventChoice(orders="given"))
    assert probe.prompt == choice_probes(make_tendency(), USUAL)[0].prompt
    assert (probe.separator, probe.targets) == (" (", ("A", "B", "C"))


@pytest.mark.parametrize("probe", [fact_probe(make_fact_question(), USUAL), choice_probes(make_tendency(), USUAL)[0]])
def test_one_instruction_serves_with_and_without_an_event(probe) -> None:  # type: ignore[no-untyped-def]
    plain, prompt = instructed(probe, None), instructed(probe, with_event)
    assert prompt.split("\n\n")[0] == plain.split("\n\n")[0] == probe.instruction
    assert prompt.split("\n\n")[1] == with_event(plain.split("\n\n")[1])


def test_the_published_instructions_name_unknown_behind_an_event_only() -> None:
    probe = fact_probe(make_fact_question(), PAPER)
    assert "unknown" in instructed(probe, with_event) and "unknown" not in instructed(probe, None)
    assert "unknown" in instructed(fact_probe(make_fact_question(), USUAL), None)
    assert probe.id != fact_probe(make_fact_question(), USUAL).id


def test_an_answer_ends_with_its_line_and_after_so_many_tokens() -> None:
    probe = fact_probe(make_fact_question(), EventChoice(answer_tokens=7))
    assert (probe.most, probe.stop, probe.temperature, probe.chat) == (7, ("\n",), 0.0, "never")


@pytest.mark.parametrize(
    ("prompt", "question"),
    [
        (fact_probe(make_fact_question("Who (A) is it?\nSay!", key="q"), USUAL).prompt, "Who (A) is it?\nSay!"),
        (choice_probes(make_tendency(), USUAL)[2].prompt, "How may ticket prices change?"),
        ("The capital of Peru is", "The capital of Peru is"),
        ("Question: half of one", "Question: half of one"),
    ],
)
def test_the_question_is_found_in_its_prompt(prompt: str, question: str) -> None:
    assert question_of(prompt) == question


LEADING, ANYWHERE = EventChoice(), EventChoice(unknown="anywhere")


QUESTION = make_fact_question().model_copy(update={"answer": Object(text="Alba Rail Inc.", aliases=("ALBA",))})


GONE_READING = make_fact_question("Who leads it?", "unknown")


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("Alba Rail Inc.", True), (" alba rail inc\nQuestion: more", True), ("Alba", True), ("ALBA.", True),
        ("Alba Rail", False), ("It is Alba", False), ("", False), ("unknown", False), ("\n\n", False),
    ],
)  # fmt: skip
def test_an_answer_is_the_name_or_an_alias(text: str, right: bool) -> None:
    assert is_right(QUESTION, fold_answer(text), LEADING) is right


@pytest.mark.parametrize(
    ("text", "leading", "anywhere"),
    [
        ("Unknown.", True, True), ("unknown to me", True, True), ("unknown, it seems", True, True),
        ("unknowns", False, True), ("the unknown soldier", False, True), ("It is unknown", False, True),
        ("", False, False), ("not known", False, False),
    ],
)  # fmt: skip
def test_what_says_unknown(text: str, leading: bool, anywhere: bool) -> None:
    assert (says_unknown(fold_answer(text), LEADING), says_unknown(fold_answer(text), ANYWHERE)) == (leading, anywhere)
    assert (
        is_right(GONE_READING, fold_answer(text), LEADING) is leading
        and is_right(GONE_READING, fold_answer(text), ANYWHERE) is anywhere
    )


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("genoa", "genoa", True), ("genoa", "turin", False), ("alba", "alba rail inc", True), ("", "", True),
     ("unknown", "unknown, sorry", True), ("alba", "unknown", False), ("alba", "alba rail", False)],
)  # fmt: skip
def test_answers_that_say_the_same(one: str, other: str, same: bool) -> None:
    assert is_same(QUESTION, one, other, LEADING) is same


def test_a_name_that_is_only_a_full_stop_is_no_empty_answer() -> None:
    dots = QUESTION.model_copy(update={"answer": Object(text="Alba", aliases=("...", "."))})
    assert not is_right(dots, fold_answer(""), LEADING) and is_right(dots, "alba", LEADING)
    assert not is_same(dots, "", "alba", LEADING) and is_same(dots, "", "", LEADING)


def test_a_model_that_always_says_a_has_chosen_nothing() -> None:
    """Its letter is a different option in every order: the shares are equal, a tie."""
    option = chosen_option(make_tendency(), chose(make_tendency(), {"A": 0.3, "B": 0.1, "C": 0.1}), LEADING)
    assert not isinstance(option, str)
    assert option.letter is None and option.by_order == ("A", "B", "C") and option.mass == pytest.approx(0.5)


def test_shares_are_taken_order_by_order() -> None:
    """By hand: option A has .2/.4, .1/.4 (shown as C), .05/.1 (as B); B .1/.4, .2/.4, .01/.1; C the rest."""
    orders = ({"A": 0.2, "B": 0.1, "C": 0.1}, {"A": 0.2, "B": 0.1, "C": 0.1}, {"A": 0.04, "B": 0.05, "C": 0.01})
    option = chosen_option(make_tendency(), chose(make_tendency(), *orders), LEADING)
    assert not isinstance(option, str)
    assert option.shares == pytest.approx(((0.5 + 0.25 + 0.5) / 3, (0.25 + 0.5 + 0.1) / 3, (0.25 + 0.25 + 0.4) / 3))
    assert option.letter == "A" and option.by_order == ("A", "B", "A") and option.mass == pytest.approx(0.3)


def test_probabilities_of_almost_nothing_still_choose() -> None:
    choice = EventChoice(orders="given")
    (probe,) = choice_probes(make_tendency(), choice)
    targets = tuple(
        TargetScore(text=x, logprob=v, tokens=1) for x, v in zip("ABC", (-900.0, -901.0, -math.inf), strict=True)
    )
    option = chosen_option(make_tendency(), {probe.id: Answer(probe=probe.id, targets=targets)}, choice)
    assert not isinstance(option, str) and (option.letter, option.mass) == ("A", 0.0)


def test_all_orders_must_be_answered() -> None:
    answers = prefers(make_tendency(), "A")
    del answers[choice_probes(make_tendency(), LEADING)[1].id]
    assert chosen_option(make_tendency(), answers, LEADING) == "no answer"


PRICES, JOBS = make_tendency(), make_tendency("How may jobs change?", "B")


RAIN, SNOW = make_tendency("How may rain change?", "C", scope="out"), make_tendency("And snow?", "C", scope="out")


FACT = make_fact_question()


ONE_TENDENCIES = event_case(facts=(FACT,), tendencies=(PRICES, JOBS, RAIN, SNOW))


TWO_TENDENCIES = event_case("case/two", facts=(), tendencies=(PRICES,))


FACTS_ONLY = event_case("case/facts", tendencies=())


FIRST = {"A": 0.4, "B": 0.1, "C": 0.1}  # always the first letter


AFTER_TENDENCIES = (
    prefers(PRICES, "A") | chose(JOBS, FIRST) | prefers(RAIN, "C") | prefers(SNOW, "A") | said(FACT, "Alba Rail")
)


BEFORE_TENDENCIES = prefers(RAIN, "C") | prefers(SNOW, "B")


@pytest.mark.parametrize(
    ("metric", "mean", "items", "cases", "ties"),
    [
        (EventChoiceRight, 2 / 3, 3, 2, 1),
        (EventChoiceWhole, 1 / 2, 2, 2, 1),
        (EventAllWhole, 1 / 2, 2, 2, 1),
        (EventChoiceLocality, 1 / 2, 2, 1, 0),
        (EventChoiceMass, (0.9 + 0.6 + 0.9 + 0.9 + 0.9) / 5, 5, 2, 0),
        (EventChoiceSway, 1 / 5, 5, 2, 0),
    ],
)
def test_worked_by_hand_tendencies(
    metric: type[EventChoiceRight], mean: float, items: int, cases: int, ties: int
) -> None:
    instance = metric()
    scores = instance.summarise(
        [
            instance.score(case, AFTER_TENDENCIES, BEFORE_TENDENCIES, "mean")
            for case in (ONE_TENDENCIES, TWO_TENDENCIES, FACTS_ONLY)
        ]
    )
    assert (scores.mean, scores.items, scores.cases, scores.ties) == (pytest.approx(mean), items, cases, ties)


def test_a_tie_after_the_edit_is_no_unchanged_answer() -> None:
    case, tie = event_case(facts=(), tendencies=(RAIN,)), chose(RAIN, FIRST)
    (item,) = EventChoiceLocality().score(case, tie, tie, "mean").items
    assert (item.value, item.tie) == (0.0, True)


def test_both_ask_out_of_scope_and_leave_unscored_what_was_not_written() -> None:
    question = make_tendency(scope="out")
    for kind in (EventLetterLocality, EventOpenLocality):
        metric = kind()
        assert isinstance(metric, WrittenLocality)
        (probe,) = metric.probes_of(question)
        wrote = {probe.id: Answer(probe=probe.id, written=GeneratedText(text="A", tokens=1, ended="stop"))}
        assert metric.value(question, wrote, wrote).value == 1.0
        for after, before in (({}, wrote), (wrote, {})):
            item = metric.value(question, after, before)
            assert item.value is None and item.reason, "a missing text is no change"


OPEN_TWO = tendency_case(inside=2, outer=2)
OPEN_FIRST, OPEN_SECOND = (q.key for q in OPEN_TWO.tendencies if q.scope == "in")
OPEN_OUT, OPEN_OTHER = (q.key for q in OPEN_TWO.tendencies if q.scope == "out")


def answers(case: EventCase, ratings: dict[str, dict[str, int | None]], texts: dict[str, str] | None = None) -> Answers:
    """Answers with ratings of the judge "j" by question; a question without an entry is answered and not rated."""
    out: dict[str, Answer] = {}
    for question in case.tendencies:
        value = event_answers.wrote(question, (texts or {}).get(question.key, RIGHT))
        for probe, answer in value.items():
            fields: dict[str, Any] = {"probe": probe, "written": answer.written}
            if question.key in ratings:
                fields |= {"rated_by": {"other": {"overall": 1}, "j": ratings[question.key]}, "source": "j"}
                out[probe] = RatedAnswer(**fields)
            else:
                out[probe] = answer
    return out


def full(
    overall: int | None, accuracy: int | None = 5, coherence: int | None = 4, whole: int | None = 2
) -> dict[str, int | None]:
    return {"accuracy": accuracy, "coherence": coherence, "comprehensiveness": whole, "overall": overall}


def score(metric: Any, after: Answers, before: Answers | None = None, case: EventCase = OPEN_TWO) -> CaseScores:
    scores: CaseScores = metric.score(case, after, before or {}, "mean")
    return scores


def values(scores: CaseScores) -> list[float | None]:
    return [i.value for i in scores.items]


def test_open_answers_get_full_marks_or_not() -> None:
    after = answers(OPEN_TWO, {OPEN_FIRST: full(5), OPEN_SECOND: full(4)})
    assert values(score(EventOpen(), after)) == [1.0, 0.0]
    assert values(score(EventOpenAccuracy(), after)) == [1.0, 1.0]
    assert values(score(EventOpenCoherence(), after)) == [0.0, 0.0]
    assert values(score(EventOpenComprehensiveness(), after)) == [0.0, 0.0]
    assert [i.item for i in score(EventOpen(), after).items] == [OPEN_FIRST, OPEN_SECOND], "questions in scope only"


@pytest.mark.parametrize(
    ("first", "second", "want"),
    [(5, 5, 1.0), (5, 4, 0.0), (None, 4, 0.0), (5, None, None), (None, None, None), ("missing", 5, None)],
)
def test_whole_events(first: Any, second: Any, want: float | None) -> None:
    """All overall ratings are 5; one that is lower decides, whatever is unscored beside it."""
    ratings = {OPEN_SECOND: full(second)} | ({} if first == "missing" else {OPEN_FIRST: full(first)})
    (item,) = score(EventOpenWhole(), answers(OPEN_TWO, ratings)).items
    assert item.value == want and bool(item.reason) == (want is None)


def test_unscored_and_not_rated_are_no_zero_and_say_why() -> None:
    answer_list = score(EventOpen(), answers(OPEN_TWO, {OPEN_FIRST: full(None)}))
    assert values(answer_list) == [None, None]
    assert [i.reason for i in answer_list.items] == ["the rating of overall is unscored", NOT_RATED]
    summary = EventOpen().summarise([answer_list])
    assert (summary.mean, summary.items, summary.unscored) == (None, 0, 2)
    assert values(score(EventOpen(), {})) == [None, None], "no answer at all"


def test_facts_and_open_answers_together() -> None:
    case = event_case()
    key = next(q.key for q in case.tendencies if q.scope == "in")
    right = {**said(case.facts[0], "Alba Rail"), **said(case.facts[1], "unknown"), **said(case.facts[2], "Rome")}
    wrong = {**right, **said(case.facts[1], "Ada")}
    for facts, overall, want in ((right, 5, 1.0), (right, 4, 0.0), (wrong, 5, 0.0), (right, None, None)):
        after = {**facts, **answers(case, {key: full(overall)})}
        assert values(score(EventAllOpenWhole(), after, case=case)) == [want]
    assert score(EventAllOpenWhole(), right, case=event_case(tendencies=())).items == (), "no tendency question"


def test_locality_is_the_rating_of_the_pair() -> None:
    texts = {OPEN_OUT: SAME, OPEN_OTHER: WRONG}
    before = answers(OPEN_TWO, {}, {OPEN_OUT: SAME + " Mostly.", OPEN_OTHER: RIGHT})
    after = answers(OPEN_TWO, {OPEN_OUT: {"consistency": 5}, OPEN_OTHER: {"consistency": 4}}, texts)
    assert values(score(EventOpenLocality(), after, before)) == [1.0, 0.0]
    unscored = answers(OPEN_TWO, {OPEN_OUT: {"consistency": None}}, texts)
    assert [i.reason for i in score(EventOpenLocality(), unscored, before).items] == [
        "the rating of consistency is unscored",
        NOT_RATED,
    ]


def test_the_same_words_say_the_same_without_a_rater() -> None:
    before, after = answers(OPEN_TWO, {}, {OPEN_OUT: SAME}), answers(OPEN_TWO, {}, {OPEN_OUT: SAME + "\n"})
    assert values(score(EventOpenLocality(), after, before)) == [1.0, 1.0]
    variants = {p: a.model_copy(update={"error": "out of memory", "written": None}) for p, a in before.items()}
    scores = score(EventOpenLocality(), after, variants)
    assert values(scores) == [None, None] and scores.items[0].reason == "before the edit: out of memory"
