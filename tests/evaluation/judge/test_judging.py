from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest

from construction.llm.client import Reply
from evaluation.judge.judging import (
    ControlItem,
    JudgeOptions,
    aggregate_samples,
    control_items,
    judge_text,
    read_reply,
)
from evaluation.judge.ratings import expected_ratings, named_objects
from evaluation.judge.steps import prompt_folder
from schemas.core.config import validate
from schemas.core.errors import UserError
from schemas.ratings import RUBRICS, SCRIPT, TENDENCY
from tests.evaluation.judge.test_steps import ANSWER
from tests.support.evaluation.judged import ask, read, step
from tests.support.judge import ASK, always
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
        assert len(server.requests) == 5 and repeat.asked == 0, "the journal answers"
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
