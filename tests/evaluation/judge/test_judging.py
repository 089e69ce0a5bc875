from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from construction.llm.client import Reply
from construction.llm.endpoint import Access
from curation.store.store import Store
from evaluation.judge.inputs import JudgeInput, store_answers, texts_to_rate
from evaluation.judge.judging import (
    ControlItem,
    JudgeOptions,
    JudgeResult,
    aggregate_samples,
    control_items,
    estimate,
    judge_text,
    read_reply,
    run_judge,
    stored_controls,
)
from evaluation.judge.ratings import expected_ratings, named_objects, rated_scripts
from evaluation.judge.steps import prompt_folder
from schemas.core.config import validate
from schemas.core.errors import UserError
from schemas.ratings import RUBRICS, SCRIPT, TENDENCY, Rating
from tests.evaluation.judge.test_steps import ANSWER
from tests.support.evaluation.judged import ask, read, step
from tests.support.evaluation.open_answers import (
    RIGHT,
    SAME,
    WRONG,
    by_words,
    open_run,
    tendency_case,
)
from tests.support.judge import ASK, always, by_rubric, fill_store
from tests.support.scripted_server import ScriptedServer

STEP = step(profile="embedded", rubric=TENDENCY)


FAULTS = {
    "good": ('{"rating": 5, "reason": "fits"}', 5, "fits"),
    "malformed": ('{"rating": , "reason": "fi', None, "unparseable"),
    "score 8": ('{"rating": 8, "reason": "best"}', None, "unparseable"),
    "of seven": ('{"rating": "5/7", "reason": ""}', 5, ""),
    "a refusal in words": ("I'm sorry, but I cannot rate this script.", None, "refused"),
    "broken off after the rating": ('{"rating": 5, "reason": "fi', 5, ""),
}


ASKED_AGAIN = {"broken off after the rating"}


"""Replies that count only where another one is no better."""


@pytest.mark.parametrize("name", FAULTS)
def test_replies_over_the_wire(name, tmp_path):
    raw, value, fault = FAULTS[name]
    with ScriptedServer(always(raw)) as server:
        result = ask(server, tmp_path)
        count = len(server.requests)
    assert result.rating.value == value and fault in result.rating.reason
    assert count == (1 if value and name not in ASKED_AGAIN else 2), "one round of repair"
    assert result.line.item_id == result.rating.id and result.line.parents == ("item-1",)
    assert (result.line.prompt, result.line.model, result.line.stage) == ("judge_coherence_paper@2", "gpt-x", "judge")
    assert result.line.detail["samples"] == [value]


def test_the_evidence_is_kept_with_its_places(tmp_path):
    raw = '{"quotes": ["flight to oslo", "absent"], "rating": 6, "reason": "so"}'
    with ScriptedServer(always(raw)) as server:
        result = ask(server, tmp_path, settings=JudgeOptions(profile="evidence", retest=0.0))
    (place,) = result.line.detail["evidence"]
    assert ASK.text[place["start"] : place["end"]] == place["text"] == "flight to Oslo" and result.rating.value == 6


def test_several_samples_and_a_second_look(tmp_path):
    """The lower median is the rating, one unusable sample of three is counted; then one more."""
    replies = iter([6, 2, 0, 5])  # the third is sent back once and stays unusable

    def answer(payload):
        sent_back = "cannot be used" in payload["messages"][-1]["content"]
        return json.dumps({"rating": 0 if sent_back else next(replies), "reason": "x"})

    options = JudgeOptions(samples=3, retest=1.0)
    with ScriptedServer(answer) as server:
        result = ask(server, tmp_path, settings=options, concurrency=1)
        assert all(r["temperature"] == 1.0 for r in server.requests)
        repeat = ask(server, tmp_path, settings=options, concurrency=1)
        assert len(server.requests) == 5, "the journal answers"
    scored = sorted(v for v in result.line.detail["samples"] if v is not None)
    assert result.rating.value == scored[0] and len(result.line.detail["samples"]) == 3
    assert "retest" in result.line.detail and repeat.rating == result.rating


def test_retests_are_drawn_from_the_item():
    options = JudgeOptions(retest=0.05)
    decisions = [options.again(replace(ASK, item=f"i{n}")) for n in range(4000)]
    assert 0.035 < sum(decisions) / 4000 < 0.065
    assert not any(JudgeOptions(retest=0.0).again(ASK) for _ in range(3)) and JudgeOptions(retest=1.0).again(ASK)


def test_a_bare_rating_is_asked_about_once_and_then_read(tmp_path):
    """It was paid for twice and lost; evidence is never read into a reply without it."""
    with ScriptedServer(lambda p: "5/7") as server:
        result = ask(server, tmp_path, settings=JudgeOptions(retest=0.0))
        assert len(server.requests) == 2
    assert (result.rating.value, result.rating.reason) == (5, "")
    assert result.line.detail["read"] == ["the rating '5/7' without a reason"]
    with ScriptedServer(lambda p: "5/7") as server:
        strict = ask(server, tmp_path, settings=JudgeOptions(profile="evidence", retest=0.0))
    assert strict.rating.value is None


@pytest.mark.parametrize(
    "first",
    [
        'First {"rating": 2, "reason": "a draft"} but on reflection: {"rating": 6, "reason": "it works"}',
        'You asked for {"rating": 1, "reason": "..."}. Mine: {"rating": 6, "reason": "it works"}',
    ],
)
def test_a_reply_with_two_ratings_is_asked_again(tmp_path, first):
    """The first rating was taken without a note (two_ratings_reply.json of the public reports)."""
    replies = iter([first, '{"rating": 6, "reason": "it works"}'])
    with ScriptedServer(lambda p: next(replies)) as server:
        result = ask(server, tmp_path, settings=JudgeOptions(retest=0.0))
        assert len(server.requests) == 2
    assert result.rating.value == 6


ALLOWED = [(a, o) for a, o in product(range(1, 6), repeat=2) if not TENDENCY.fault({"accuracy": a, "overall": o})]


def reply(accuracy: int = 5, overall: int = 5, **more: Any) -> Reply:
    value = STEP.reply(accuracy=accuracy, coherence=4, comprehensiveness=3, overall=overall)
    return Reply("ok", value, "{}", "", "request", 10, 5, "2026-01-01T00:00:00Z", 1, 0.5)._replace(**more)


def unusable(**more: Any) -> Reply:
    return reply(status="unparseable", value=None, raw="...", message="overall: missing", **more)


class GivenReplies:
    """A client whose replies are given."""

    endpoint = SimpleNamespace(model="m")
    address = "here"

    def __init__(self, replies: list[Reply]) -> None:
        self.replies = replies

    async def samples(self, request: object, n: int) -> list[Reply]:
        """The first ``n`` replies."""
        assert len(self.replies) == n
        return self.replies


def judged(replies: list[Reply], **options: Any) -> list[Any]:
    settings = JudgeOptions(**{"retest": 0.0, "samples": len(replies), **options})
    return asyncio.run(judge_text(STEP, ANSWER, GivenReplies(replies), settings))  # type: ignore[arg-type]


def test_an_endpoint_that_is_away_leaves_all_aspects_due() -> None:
    assert judged([reply(status="unanswered", value=None)]) == [None] * 4


def test_unscored_unless_more_than_half_of_the_samples_are_scored() -> None:
    two = judged([reply(), unusable(), reply()])
    assert [j.rating.value for j in two] == [5, 4, 3, 5]
    unscored_item = judged([reply(), unusable()])
    assert {j.rating.value for j in unscored_item} == {None}
    assert unscored_item[0].rating.reason.startswith("1 of 2 samples unscored: no usable reply: unparseable")


@pytest.mark.parametrize(
    ("raw", "overall"),
    [
        ('{"accuracy": 5, "coherence": 4, "comprehensiveness": 3, "overall": 4}', 4),
        ('{"accuracy": 3, "coherence": 4, "comprehensiveness": 3, "overall": 4}', None),
        ('{"accuracy": 5, "coherence": 4, "overall": 4}', None),
        ("I cannot rate this.", None),
    ],
)
def test_ratings_without_a_reason_count_and_nothing_else_is_forgiven(raw: str, overall: int | None) -> None:
    sample = read(step(rubric=TENDENCY), ANSWER, raw)["overall"]
    assert sample.value == overall and bool(sample.why) == (overall is None)


@pytest.mark.parametrize("samples", [2, 3])
def test_medians_of_replies_that_keep_to_the_rule_keep_to_it(samples: int) -> None:
    """All combinations of two and of three replies that the rule allows."""
    for combination in product(ALLOWED[:: 1 if samples == 2 else 2], repeat=samples):
        looks = [read_reply(STEP, ANSWER, reply(a, o)) for a, o in combination]
        medians = {
            aspect: aggregate_samples(STEP, ANSWER, aspect, [look[aspect] for look in looks])[0].value
            for aspect in ("accuracy", "overall")
        }
        assert not TENDENCY.fault(medians), combination


ITEMS = {name: [item for item in control_items() if item.rubric == name] for name in RUBRICS}


def test_the_items_of_scripts_obey_the_rules_and_share_nothing_with_the_examples() -> None:
    folder = prompt_folder(SCRIPT)
    prompts = [folder.load(f"script_{aspect}", profile) for aspect in SCRIPT.aspects for profile in folder.profiles()]
    text = "".join(example.user for prompt in prompts for example in prompt.examples)
    for control in ITEMS["script"]:
        for aspect, rule in expected_ratings(named_objects(control.ask.text, control.ask.fact)).items():
            if aspect in control.accepted:
                low, high = control.accepted[aspect]
                assert low == high == rule, (control.name, aspect)
        assert control.subject not in text and control.question not in text


def test_every_rubric_of_answers_has_items_at_both_ends_of_its_scale() -> None:
    for rubric, aspect in (("tendency", "accuracy"), ("tendency", "overall"), ("consistency", "consistency")):
        accepted = [item.accepted[aspect] for item in ITEMS[rubric] if aspect in item.accepted]
        assert any(low >= 4 for low, _ in accepted) and any(high <= 2 for _, high in accepted), (rubric, aspect)
    assert len({item.ask.item for item in control_items()}) == len({item.name for item in control_items()})
    assert all(item.ask.rubric.name == item.rubric for item in control_items())


def test_what_is_accepted_can_be_given_under_the_rule() -> None:
    for item in ITEMS["tendency"]:
        best: dict[Any, int] = {a: most for a, (_, most) in item.accepted.items()}
        least: dict[Any, int] = {a: low for a, (low, _) in item.accepted.items()}
        scores = {**best, "overall": least.get("overall", 1)} if "accuracy" in best else best
        assert not RUBRICS[item.rubric].fault(scores), item.name


@pytest.mark.parametrize(
    ("rubric", "change"),
    [
        ("script", {"accepted": {"coherence": [3, 1]}}),
        ("script", {"accepted": {"overall": [1, 3]}}),
        ("tendency", {"accepted": {"accuracy": [1, 6]}}),
        ("tendency", {"accepted": {"consistency": [1, 2]}}),
        ("tendency", {"before": "Prices stay."}),
        ("consistency", {"before": ""}),
    ],
)
def test_items_that_are_refused(rubric: str, change: dict[str, Any]) -> None:
    fields = ITEMS[rubric][0].model_dump(mode="json")
    with pytest.raises(UserError):
        validate(ControlItem, {**fields, **change}, where="here")


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


NO_JOURNAL = Path("none.jsonl")


# --- the estimate -----------------------------------------------------------------------------------------------------


def test_calls_are_scripts_times_aspects_times_samples() -> None:
    asks = [replace(ASK, item=f"i{n}") for n in range(5)]
    for settings, calls in (
        (ONE, 5),
        (JudgeOptions(retest=0.0), 20),
        (JudgeOptions(retest=0.0, samples=3), 60),
        (JudgeOptions(retest=1.0, samples=3), 80),
    ):
        cost_estimate = estimate(NO_JOURNAL, asks, settings, access(), with_controls=False)
        assert (cost_estimate.scripts, cost_estimate.not_asked, cost_estimate.calls) == (5, 0, calls)
        assert cost_estimate.tokens_in > 10 * calls and cost_estimate.tokens_out > 0
    assert estimate(NO_JOURNAL, [], ONE, access(), with_controls=False)[:5] == (0, 0, 0, 0, 0)


def test_refusals_are_counted_apart_and_controls_added() -> None:
    asks = [ASK, replace(ASK, item="no", refused=True, text="")]
    cost_estimate = estimate(NO_JOURNAL, asks, JudgeOptions(retest=0.0), access())
    assert (cost_estimate.scripts, cost_estimate.not_asked, cost_estimate.calls) == (2, 1, 4 + CONTROLS)
    bare = estimate(NO_JOURNAL, asks, JudgeOptions(retest=0.0), access(), with_controls=False)
    assert bare.calls == 4 and bare.tokens_in < cost_estimate.tokens_in


def test_dollars_where_a_price_is_known(tmp_path: Path) -> None:
    unknown = estimate(NO_JOURNAL, [ASK], ONE, access())
    assert unknown.cost is None and "gpt-x" in unknown.advice
    prices = tmp_path / "prices.toml"
    prices.write_text(
        'checked = 2026-01-01\nnote = "mine"\n[models]\n'
        '"gpt-x" = { input = 1.0, output = 10.0, batch_input = 0.5, batch_output = 5.0 }\n'
    )
    cost = estimate(NO_JOURNAL, [ASK], ONE, access(prices=prices))
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

    def killed(done: int, *_: object) -> None:
        calls.append(done)
        if done == 4:
            raise RuntimeError("killed")

    with ScriptedServer(by_rubric) as server:
        with pytest.raises(RuntimeError, match="killed"):
            run_judge(store, tmp_path / "j", asks, ONE, access(server), with_controls=False, on_progress=killed)
        assert calls == [2, 4] and len(server.requests) == 4
        left = estimate(tmp_path / "j", asks, ONE, access(server), with_controls=False)
        assert left.calls == 1, "a dry run counts what is not cached"
        with Store.open(store) as db:
            assert len(list(db.all(Rating))) == 4
        outcome = run_judge(store, tmp_path / "j", asks, ONE, access(server), with_controls=False)
        assert (outcome.ratings, outcome.new, len(server.requests)) == (5, 1, 5)
        assert estimate(tmp_path / "j", asks, ONE, access(server), with_controls=False).calls == 0


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


def judged_answers(
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
    judge_result, ratings, requests = judged_answers(tmp_path, by_words)
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
    judge_result, ratings, requests = judged_answers(tmp_path, by_words, controls=True)
    assert len(requests) == 3 + len(items) and len(ratings) == 9
    assert judge_result.controls is not None and judge_result.controls.asked == sum(len(i.accepted) for i in items)
    assert "the answer of another event" in {m.name for m in judge_result.controls.missed}, "it speaks of a rise"
    with Store.open(tmp_path / "s.duckdb") as store:
        assert stored_controls(store)["judge:gpt-x"].asked == judge_result.controls.asked
