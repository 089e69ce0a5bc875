"""A judging of open answers: several aspects in one reply, one repair, unscored replies, journal, control items."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from construction.llm.connection import Access
from curation.store.store import Store
from evaluation.judge.answers.control_items import answer_controls
from evaluation.judge.answers.from_run import store_answers
from evaluation.judge.answers.inputs import AnswerInput, texts_to_rate
from evaluation.judge.answers.session import estimate_answers, run_answer_judge
from evaluation.judge.control_items import stored_controls
from evaluation.judge.inputs import rated_scripts
from evaluation.judge.judging import JudgeOptions
from evaluation.judge.session import JudgeResult
from schemas.ratings import Rating
from tests.support.evaluation.open_answers import (
    RIGHT,
    SAME,
    WRONG,
    by_words,
    is_pair,
    open_run,
    tendency_case,
    tendency_reply,
)
from tests.support.scripted_server import ScriptedServer

CASE = tendency_case()
INSIDE, OUTSIDE = (q.key for q in CASE.tendencies)
METHODS = {"none": {INSIDE: WRONG, OUTSIDE: SAME}, "ice": {INSIDE: RIGHT, OUTSIDE: f"{SAME} And rain."}}
ONCE = JudgeOptions(retest=0.0)


def prepared(folder: Path, methods: dict[str, dict[str, str]] = METHODS) -> tuple[Path, list[AnswerInput]]:
    path = folder / "s.duckdb"
    with Store.open(path, create=True) as store:
        store_answers(open_run([CASE], methods), store)
        return path, [a for a in texts_to_rate(store) if isinstance(a, AnswerInput)]


def access(server: ScriptedServer) -> Access:
    return Access(model="gpt-x", key_name="SCEDIT_NO_KEY", concurrency=1, base_url=server.url)


def judged(
    folder: Path, answer: Callable[[dict[str, Any]], str], how: JudgeOptions = ONCE, *, controls: bool = False
) -> tuple[JudgeResult, dict[tuple[str, str], Rating], list[dict[str, Any]]]:
    store, asks = prepared(folder)
    with ScriptedServer(answer) as server:
        outcome = run_answer_judge(store, folder / "j", asks, how, access(server), with_controls=controls)
        requests = list(server.requests)
    names = {a.item: a.editor for a in asks}
    with Store.open(store) as db:
        return outcome, {(names[r.item_id], r.aspect): r for r in db.all(Rating)}, requests


def test_all_aspects_come_in_one_reply_and_are_kept(tmp_path: Path) -> None:
    judge_result, ratings, requests = judged(tmp_path, by_words)
    assert (judge_result.ratings, judge_result.new, judge_result.unscored, len(requests)) == (9, 9, 0, 3), (
        "4 + 4 + 1 ratings in 3 calls"
    )
    assert {k: r.value for k, r in ratings.items() if k[1] in ("overall", "consistency")} == {
        ("none", "overall"): 1, ("ice", "overall"): 5, ("ice", "consistency"): 5,
    }  # fmt: skip
    assert ratings["ice", "consistency"].before_id is not None and ratings["ice", "overall"].rubric == "tendency"
    store, asks = tmp_path / "s.duckdb", [a for a in prepared(tmp_path)[1]]
    with ScriptedServer(by_words) as server:
        repeat = run_answer_judge(store, tmp_path / "j", asks, ONCE, access(server), with_controls=False)
        assert not server.requests and (repeat.new, repeat.calls) == (0, 0), "the journal answers"
    with Store.open(store) as db:
        lines = [g.line for g in rated_scripts(db) if g.line and g.rating.item_id == ratings["ice", "overall"].item_id]
    assert sum(line.tokens_in is not None for line in lines) == 1, "the tokens of one call stand once"


@pytest.mark.parametrize(
    "reply",
    [
        tendency_reply(3, 4),  # the rule
        tendency_reply(6, 3),
        tendency_reply(0, 1),
        '{"accuracy": true, "coherence": 4, "comprehensiveness": 4, "overall": 3, "reason": "x"}',
        '{"accuracy": 4, "coherence": 4, "overall": 4, "reason": "x"}',
        '{"accuracy": "4/7", "coherence": 4, "comprehensiveness": 4, "overall": 4, "reason": "x"}',
    ],
)
def test_a_faulty_reply_goes_back_once_and_is_unscored_then(reply: str, tmp_path: Path) -> None:
    """Unscored on all aspects: nothing of a reply that breaks the rule is kept."""
    judge_result, ratings, requests = judged(tmp_path, lambda p: by_words(p) if is_pair(p) else reply)
    assert len(requests) == 2 * 2 + 1 and judge_result.unscored == 8
    assert {r.value for (_, aspect), r in ratings.items() if aspect != "consistency"} == {None}
    assert ratings["ice", "overall"].reason.startswith("no usable reply: unparseable")


def test_a_repaired_reply_counts(tmp_path: Path) -> None:
    def answer(payload: dict[str, Any]) -> str:
        complaint = payload["messages"][-1]["content"]
        if is_pair(payload):
            return by_words(payload)
        if complaint.startswith("This reply cannot be used"):
            assert "where accuracy is 3 or less, overall is 3 or less" in complaint
            return tendency_reply(3, 3)
        return tendency_reply(3, 4)

    judge_result, ratings, _ = judged(tmp_path, answer)
    assert judge_result.unscored == 0 and ratings["ice", "overall"].value == 3


def test_a_refusal_in_words_is_unscored_and_named(tmp_path: Path) -> None:
    judge_result, ratings, _ = judged(tmp_path, lambda p: "I'm sorry, but I can't rate this.")
    assert judge_result.unscored == 9 and ratings["none", "accuracy"].reason.startswith("no usable reply: refused")


def test_medians_of_samples_keep_to_the_rule(tmp_path: Path) -> None:
    record = {0: (3, 3), 1: (5, 5), 2: (2, 1)}
    count = iter(range(100))

    def answer(payload: dict[str, Any]) -> str:
        return by_words(payload) if is_pair(payload) else tendency_reply(*record[next(count) % 3])

    _, ratings, _ = judged(tmp_path, answer, JudgeOptions(retest=0.0, samples=3))
    assert (ratings["ice", "accuracy"].value, ratings["ice", "overall"].value) == (3, 3)


def test_control_items_are_asked_once_each_and_are_no_ratings(tmp_path: Path) -> None:
    items = answer_controls()
    judge_result, ratings, requests = judged(tmp_path, by_words, controls=True)
    assert len(requests) == 3 + len(items) and len(ratings) == 9
    assert judge_result.controls is not None and judge_result.controls.asked == sum(len(i.accepted) for i in items)
    assert "the answer of another event" in {m.name for m in judge_result.controls.missed}, "it speaks of a rise"
    with Store.open(tmp_path / "s.duckdb") as store:
        assert stored_controls(store)["judge:gpt-x"].asked == judge_result.controls.asked


def test_calls_are_counted_before(tmp_path: Path) -> None:
    _, asks = prepared(tmp_path)
    cost_estimate = estimate_answers(asks, ONCE, Access(model="gpt-x", key_name="SCEDIT_NO_KEY"), with_controls=False)
    assert (cost_estimate.scripts, cost_estimate.not_asked, cost_estimate.calls) == (3, 0, 3)
    more = estimate_answers(asks, JudgeOptions(retest=1.0, samples=2), Access(model="gpt-x", key_name="SCEDIT_NO_KEY"))
    assert more.calls == 9 + len(answer_controls())
