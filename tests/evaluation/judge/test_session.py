"""One judging: what it will ask, what is kept whatever happens, what it comes to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from construction.llm.endpoint import Access
from curation.store.store import Store
from evaluation.judge.inputs import JudgeInput, store_answers, texts_to_rate
from evaluation.judge.judging import (
    JudgeOptions,
    JudgeProgress,
    JudgeResult,
    control_items,
    estimate,
    run_judge,
    stored_controls,
)
from evaluation.judge.ratings import rated_scripts
from schemas.core.errors import UserError
from schemas.ratings import Rating
from tests.support.evaluation.open_answers import (
    RIGHT,
    SAME,
    WRONG,
    by_words,
    open_run,
    tendency_case,
)
from tests.support.judge import ASK, by_rubric, fill_store
from tests.support.scripted_server import ScriptedServer

ONE = JudgeOptions(aspects=("coherence",), retest=0.0)
CONTROLS = sum(len(c.accepted) for c in control_items() if c.rubric == "script")
ANSWER_CONTROLS = [c for c in control_items() if c.rubric != "script"]


def access(server: ScriptedServer | None = None, **more: Any) -> Access:
    url = {} if server is None else {"base_url": server.url}
    return Access(model="gpt-x", key_name="SCEDIT_NO_KEY", concurrency=1, **url, **more)


def prepared(folder: Path, facts: int = 3, editors: tuple[str, ...] = ("rome",)) -> tuple[Path, list[JudgeInput]]:
    store = folder / "s.duckdb"
    fill_store(store, facts=facts, editors=editors)
    with Store.open(store) as db:
        return store, texts_to_rate(db)


# --- the estimate -----------------------------------------------------------------------------------------------------


def test_calls_are_scripts_times_aspects_times_samples() -> None:
    asks = [replace(ASK, item=f"i{n}") for n in range(5)]
    for settings, calls in (
        (ONE, 5),
        (JudgeOptions(retest=0.0), 20),
        (JudgeOptions(retest=0.0, samples=3), 60),
        (JudgeOptions(retest=1.0, samples=3), 80),
    ):
        cost_estimate = estimate(asks, settings, access(), with_controls=False)
        assert (cost_estimate.scripts, cost_estimate.not_asked, cost_estimate.calls) == (5, 0, calls)
        assert cost_estimate.tokens_in > 10 * calls and cost_estimate.tokens_out > 0
    assert estimate([], ONE, access(), with_controls=False)[:5] == (0, 0, 0, 0, 0)


def test_refusals_are_counted_apart_and_controls_added() -> None:
    asks = [ASK, replace(ASK, item="no", refused=True, text="")]
    cost_estimate = estimate(asks, JudgeOptions(retest=0.0), access())
    assert (cost_estimate.scripts, cost_estimate.not_asked, cost_estimate.calls) == (2, 1, 4 + CONTROLS)
    bare = estimate(asks, JudgeOptions(retest=0.0), access(), with_controls=False)
    assert bare.calls == 4 and bare.tokens_in < cost_estimate.tokens_in


def test_dollars_where_a_price_is_known(tmp_path: Path) -> None:
    unknown = estimate([ASK], ONE, access())
    assert unknown.cost is None and "gpt-x" in unknown.advice
    prices = tmp_path / "prices.toml"
    prices.write_text(
        'checked = 2026-01-01\nnote = "mine"\n[models]\n'
        '"gpt-x" = { input = 1.0, output = 10.0, batch_input = 0.5, batch_output = 5.0 }\n'
    )
    cost = estimate([ASK], ONE, access(prices=prices))
    assert cost.cost == pytest.approx((cost.tokens_in + 10 * cost.tokens_out) / 1e6) and cost.advice == ""


# --- the judging ------------------------------------------------------------------------------------------------------


def test_a_full_store_or_none_is_said_before_a_call(tmp_path: Path) -> None:
    _, asks = prepared(tmp_path)
    with ScriptedServer(by_rubric) as server:
        with pytest.raises(UserError, match="none.duckdb"):
            run_judge(tmp_path / "none.duckdb", tmp_path / "j", asks, ONE, access(server))
        assert not server.requests


def test_a_kill_between_two_chunks_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from evaluation.judge import judging

    monkeypatch.setattr(judging, "_CHUNK", 2)
    store, asks = prepared(tmp_path, facts=5)
    calls: list[int] = []

    def killed(progress: JudgeProgress) -> None:
        calls.append(progress.done)
        if progress.done == 4:
            raise RuntimeError("killed")

    with ScriptedServer(by_rubric) as server:
        with pytest.raises(RuntimeError, match="killed"):
            run_judge(store, tmp_path / "j", asks, ONE, access(server), with_controls=False, on_progress=killed)
        assert calls == [2, 4] and len(server.requests) == 4
        with Store.open(store) as db:
            assert len(list(db.all(Rating))) == 4
        outcome = run_judge(store, tmp_path / "j", asks, ONE, access(server), with_controls=False)
        assert (outcome.ratings, outcome.new, len(server.requests)) == (5, 1, 5)


# --- stored control items ---------------------------------------------------------------------------------------------


def test_a_judge_that_says_seven_to_everything_misses_some_and_the_newest_answer_counts(tmp_path: Path) -> None:
    store, asks = prepared(tmp_path)
    seven = '{"rating": 7, "reason": "fine"}'
    with ScriptedServer(lambda body: seven) as server:
        run_judge(store, tmp_path / "a.jsonl", asks, ONE, access(server))
    with Store.open(store) as db:
        (before,) = stored_controls(db).values()
    assert before.missed and all(m.given == 7 for m in before.missed)
    with ScriptedServer(by_rubric) as server:
        after = run_judge(store, tmp_path / "b.jsonl", asks, ONE, access(server)).controls
    with Store.open(store) as db:
        (now,) = stored_controls(db).values()
    assert after is not None and now.accepted == after.accepted != before.accepted


# --- open answers ----------------------------------------------------------------------------------------------------

CASE = tendency_case()
INSIDE, OUTSIDE = (q.key for q in CASE.tendencies)
METHODS = {"none": {INSIDE: WRONG, OUTSIDE: SAME}, "ice": {INSIDE: RIGHT, OUTSIDE: f"{SAME} And rain."}}
ONCE = JudgeOptions(retest=0.0)


def prepared_answers(folder: Path, methods: dict[str, dict[str, str]] = METHODS) -> tuple[Path, list[JudgeInput]]:
    path = folder / "s.duckdb"
    with Store.open(path, create=True) as store:
        store_answers(open_run([CASE], methods), store)
        return path, texts_to_rate(store)


def judged(
    folder: Path, answer: Callable[[dict[str, Any]], str], how: JudgeOptions = ONCE, *, controls: bool = False
) -> tuple[JudgeResult, dict[tuple[str, str], Rating], list[dict[str, Any]]]:
    store, asks = prepared_answers(folder)
    with ScriptedServer(answer) as server:
        outcome = run_judge(store, folder / "j", asks, how, access(server), with_controls=controls)
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
    store, asks = tmp_path / "s.duckdb", [a for a in prepared_answers(tmp_path)[1]]
    with ScriptedServer(by_words) as server:
        repeat = run_judge(store, tmp_path / "j", asks, ONCE, access(server), with_controls=False)
        assert not server.requests and (repeat.new, repeat.calls) == (0, 0), "the journal answers"
    with Store.open(store) as db:
        lines = [g.line for g in rated_scripts(db) if g.line and g.rating.item_id == ratings["ice", "overall"].item_id]
    assert sum(line.tokens_in is not None for line in lines) == 1, "the tokens of one call stand once"


def test_control_items_are_asked_once_each_and_are_no_ratings(tmp_path: Path) -> None:
    items = ANSWER_CONTROLS
    judge_result, ratings, requests = judged(tmp_path, by_words, controls=True)
    assert len(requests) == 3 + len(items) and len(ratings) == 9
    assert judge_result.controls is not None and judge_result.controls.asked == sum(len(i.accepted) for i in items)
    assert "the answer of another event" in {m.name for m in judge_result.controls.missed}, "it speaks of a rise"
    with Store.open(tmp_path / "s.duckdb") as store:
        assert stored_controls(store)["judge:gpt-x"].asked == judge_result.controls.asked
