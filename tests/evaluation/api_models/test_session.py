"""What the texts of a closed model come to: shares over cases, what was not answered, tables; what asking will take."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from construction.llm.connection import Access
from curation.shipped import mini_split
from curation.store.store import Store
from evaluation.api_models import session
from evaluation.api_models.editing import SCRIPT_TOKENS, STEP_TOKENS, ApiAnswer, ApiRequest, ApiScriptStep
from evaluation.api_models.session import as_data, as_text, estimate, run_requests, summarise_answers
from schemas.cases import Case
from schemas.generated_scripts import GeneratedScript
from tests.support.scripted_server import ScriptedServer

CASES = [c for c in mini_split().cases if c.fact.change == "counterfactual"]
STEP = ApiScriptStep("gpt-x")


def request(case: Case, n: int = 0, *, editor: str = "none", goes_on: bool = False, text: str = "") -> ApiRequest:
    item = case.prompts[n].key if goes_on else case.questions[n].key
    return ApiRequest(case, editor, item, text or f"text {case.key} {n}", editor != "none", goes_on, n)


def answer(
    ask: ApiRequest,
    first: str = "new",
    *,
    status: str = "ok",
    mixed: bool = False,
    script: GeneratedScript | None = None,
) -> ApiAnswer:
    """A text in the format that names one of the objects first, and the other one too where it is mixed."""
    fact = ask.case.fact
    assert fact.new is not None
    object_text = {"new": fact.new.text, "old": fact.old.text, "neither": "nobody"}
    other = object_text["old" if first == "new" else "new"] if mixed else "it"
    text = f"Step 1: Think of {object_text[first]}\nStep 2: Speak of {other}"
    return ApiAnswer(ask, status, text, False, script, None)


def refusal(ask: ApiRequest) -> GeneratedScript:
    return GeneratedScript(
        key="x", case=ask.case.key, fact=ask.case.fact.key, question=ask.item, model="m", editor=ask.editor,
        edited=False, text="I cannot.", steps=(), refused=True,
    )  # fmt: skip


# --- the summary ------------------------------------------------------------------------------------------------------


def test_shares_are_means_of_case_means() -> None:
    """Three texts of one case and one of another: each case counts once."""
    a, b = CASES[:2]
    (row,) = summarise_answers(
        [answer(request(a, n), "new" if n else "old", mixed=n == 2) for n in range(3)] + [answer(request(b), "neither")]
    )
    assert (row.editor, row.kind, row.texts, row.answered) == ("none", "script", 4, 4)
    assert (row.new.mean, row.old.mean, row.neither.mean) == pytest.approx((100 / 3, 50 / 3, 50))
    assert row.mixed.mean == pytest.approx(50 / 3) and (row.new.n, row.new.cases) == (4, 2)


def test_one_case_has_a_share_and_no_interval() -> None:
    (row,) = summarise_answers([answer(request(CASES[0], n)) for n in range(4)])
    assert (row.new.mean, row.new.half, row.new.cases) == (100.0, None, 1)


def test_equal_cases_have_an_interval_of_no_width() -> None:
    (row,) = summarise_answers([answer(request(c)) for c in CASES[:3]])
    assert (row.new.mean, row.new.half) == (100.0, 0.0)


def test_what_is_no_answer_is_in_no_share() -> None:
    """Declined by the endpoint, or by the model in its text; not taken; unreadable; still waiting."""
    asks = [request(CASES[0], n % 4, text=str(n)) for n in range(6)]
    (row,) = summarise_answers(
        [
            answer(asks[0], "new"),
            answer(asks[1], "old", status="refused"),
            answer(asks[2], "old", script=refusal(asks[2])),
            answer(asks[3], "old", status="permanent"),
            answer(asks[4], "old", status="unparseable"),
            answer(asks[5], "old", status="unanswered"),
        ]
    )
    assert (row.texts, row.answered, row.refused, row.failed, row.waiting) == (6, 1, 2, 2, 1)
    assert (row.new.mean, row.old.mean, row.new.n) == (100.0, 0.0, 1)


def test_nothing_answered_is_no_figure() -> None:
    answers = summarise_answers([answer(request(CASES[0]), status="refused")])
    assert answers[0].new == (None, None, 0, 0, None, None) and summarise_answers([]) == []
    line = as_text(answers).splitlines()[1]
    assert line.split() == ["none", "script", "1", "1", "-", "-", "-", "-", "-"]
    assert json.loads(json.dumps(as_data(answers)))[0]["new"] == {
        **{"mean": None, "half": None, "n": 0, "cases": 0},
        **{"low": None, "high": None},
    }


def test_a_row_for_each_method_and_kind_in_their_order() -> None:
    asks = [request(CASES[0], editor=e, goes_on=g) for e, g in (("b", False), ("a", True), ("b", True), ("b", False))]
    answers = summarise_answers([answer(a) for a in asks])
    assert [(r.editor, r.kind, r.texts) for r in answers] == [("b", "script", 2), ("a", "rest", 1), ("b", "rest", 1)]
    assert answers[1].in_format is None and answers[0].in_format is not None
    assert as_data(answers)[1]["in_format"] is None and as_data(answers)[0]["in_format"]["mean"] == 100.0


def test_the_table_lines_up_and_says_what_is_lacking() -> None:
    asks = [request(CASES[0], n, editor="a_method_with_a_long_name") for n in range(3)]
    answers = summarise_answers(
        [answer(asks[0]), answer(asks[1], status="unanswered"), answer(asks[2], status="permanent")]
        + [answer(request(c)) for c in CASES[:2]]
    )
    head, long, short, *_ = as_text(answers).splitlines()
    assert long.endswith("  1 failed  1 waiting") and "100.0 [15.8, 100.0]" in short and "100.0 " in long
    assert head.index("asked") == long.index("     3") + 1 and len(head) == len(short)


# --- asking -----------------------------------------------------------------------------------------------------------


def access(server: ScriptedServer | None = None, **more: Any) -> Access:
    url = {} if server is None else {"base_url": server.url}
    return Access(model="gpt-x", key_name="SCEDIT_NO_KEY", concurrency=1, **url, **more)


def test_the_estimate_counts_a_script_longer_than_the_rest_of_a_step() -> None:
    script, rest = request(CASES[0]), request(CASES[0], goes_on=True)
    both = estimate([script, rest, rest], STEP, access())
    assert (both.calls, both.tokens_out) == (3, SCRIPT_TOKENS + 2 * STEP_TOKENS) and both.cost is None
    total = sum(len(m.content) for ask in (script, rest, rest) for m in STEP.prompt(ask))
    assert both.tokens_in == total // 4
    assert estimate([], STEP, access())[:3] == (0, 0, 0)
    price_estimate = estimate(
        [script], ApiScriptStep("gpt-4.1"), Access(model="gpt-4.1", base_url="http://localhost:1")
    )
    assert price_estimate.cost is not None and price_estimate.cost > 0


def test_killed_between_two_chunks_it_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_CHUNK", 2)
    case = CASES[0]
    asks = [request(case, n, text=f"question {n}") for n in range(len(case.questions))]
    store, calls = tmp_path / "s.duckdb", list[tuple[int, int]]()

    def killed(done: int, total: int, expense: str) -> None:
        calls.append((done, total))
        raise RuntimeError("killed")

    with ScriptedServer(lambda p: "Step 1: Pack a bag\nStep 2: Go") as server:
        with pytest.raises(RuntimeError, match="killed"):
            run_requests(store, tmp_path / "j", [case], asks, STEP, access(server), on_progress=killed)
        assert calls == [(2, 4)] and len(server.requests) == 2
        with Store.open(store) as db:
            assert len(list(db.all(GeneratedScript))) == 2 and db.get(case.fact.key) == case.fact
        outcome = run_requests(store, tmp_path / "j", [case], asks, STEP, access(server))
        assert len(server.requests) == 4 and [a.ask for a in outcome] == asks
        answers = run_requests(store, tmp_path / "j", [case], asks, STEP, access(server))
        assert len(server.requests) == 4 and [a.script for a in answers] == [a.script for a in outcome]
    with Store.open(store) as db:
        assert len(list(db.all(GeneratedScript))) == 4
