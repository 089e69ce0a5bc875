"""A run on a model behind an endpoint: what is allowed, what is sent, what comes back."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from construction.llm.replies import Reply
from construction.llm.step import PlainText
from curation.splits.split_file import make_split, write_split
from evaluation.analysis.comparison import compare
from evaluation.metrics.generation import Generation, metrics_of
from evaluation.metrics.script_parser import INSTRUCTION
from evaluation.metrics.text_level import GO_ON, rest_of_step, scripts_for
from evaluation.report.write import write_report
from evaluation.runs.config import EndpointChoice, RunConfig
from evaluation.runs.dry_run import size
from evaluation.runs.endpoint import EndpointModel, endpoint_access, read_text, text_request
from evaluation.runs.frame import score_run
from evaluation.runs.results import load_run
from evaluation.runs.runner import execute
from schemas.core.errors import ModelError, UserError
from schemas.probes import GenerateProbe, ThoughtAsked
from schemas.text.thoughts import MARKS
from tests.support.events import MOVE, event_case, make_event, make_fact_question
from tests.support.scripted_server import Raw, ScriptedServer
from tests.support.small import small_split


def event_split(folder: Path) -> Path:
    """Two events: a merger, and a move."""
    move = make_event(MOVE, "Corvo Foods moved to Turin.", type="headquarters")
    question = make_fact_question("Where is Corvo Foods?", "Turin", event=MOVE)
    other_case = event_case(f"case/{MOVE}", event=move, facts=(question,), tendencies=())
    write_split(make_split("two", [event_case(), other_case]), folder / "two.jsonl")
    return folder / "two.jsonl"


def endpoint_config(folder: Path, url: str, **changes: Any) -> RunConfig:
    """A run of methods in context on the endpoint."""
    data = {
        "split": {"file": str(event_split(folder))},
        "model": "endpoint:gpt-x",
        "endpoint": {"base_url": url, "api_key_env": "SCEDIT_NO_KEY"},
        "editors": {"ice": {"name": "ice"}},
        "metrics": ["ev_fact", "ev_fact_local"],
        "out": str(folder / "run"),
    }
    return RunConfig.model_validate(data | changes)


def reader(payload: dict[str, Any]) -> str:
    """Reads the event where one is given: companies and places in it are the answers; else it knows of Genoa only."""
    text = payload["messages"][0]["content"]
    event = re.search(r"Event: (.*)", text)
    question = re.search(r"Question: (.*)", text)
    question_text = question.group(1) if question else ""
    if "founded" in question_text:
        return "Genoa."
    if event is None:
        return "I do not know"
    return (
        "\n Turin.\nIt moved." if "Where" in question_text else "Alba Rail" if "company" in question_text else "unknown"
    )


CASE = next(iter(small_split().cases))


def reply(text: str, *, cut: bool = False, status: str = "ok") -> Reply:
    value = PlainText(text=text, cut=cut) if status == "ok" else None
    return Reply(status, value, text, "why", "k", 1, 5, "t", 1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "cut", "output", "end"),
    [
        ("Turin", False, "Turin", "eos"),
        ("Turin\nSince May", False, "Turin", "stop"),
        ("\n\nTurin\nSince May", False, "Turin", "stop"),
        ("\n\nTurin", True, "Turin", "length"),
        ("", False, "", "eos"),
    ],
)
def test_a_reply_ends_at_the_first_stop_after_its_empty_lines(text: str, cut: bool, output: str, end: str) -> None:
    probe = GenerateProbe(purpose="event_fact", item="q", prompt="Where?", stop=("\n",))
    result = read_text(probe, reply(text, cut=cut)).written
    assert result is not None and (result.text, result.ended, result.tokens, result.chat) == (output, end, 5, True)


THINKS = GenerateProbe(
    purpose="script_question", item="q", prompt="How?", stop=("\n",), thought=ThoughtAsked(marks=MARKS, most=9)
)


@pytest.mark.parametrize(
    ("text", "apart", "cut", "want"),
    [
        ("<think>Lima?\nNo.</think>\n\nOslo\nEnd", None, False, ("Lima?\nNo.", "Oslo", False, "stop")),
        ("Lima?\nNo.</think>Oslo", None, False, ("Lima?\nNo.", "Oslo", False, "eos")),
        ("<think>Lima? Or", None, True, ("Lima? Or", "", True, "length")),
        ("Oslo", "Lima?", False, ("Lima?", "Oslo", False, "eos")),
        ("", "Lima? Or", True, ("Lima? Or", "", True, "length")),
        ("", "Lima?", False, ("Lima?", "", False, "eos")),
        ("Oslo", None, False, (None, "Oslo", False, "eos")),
        ("<think>b</think>Oslo", "a", False, ("a\nb", "Oslo", False, "eos")),
    ],
    ids=["inline", "opened before", "unfinished", "beside", "beside, cut", "says nothing", "no thought", "both"],
)
def test_a_reply_is_taken_apart_before_its_stops_count(
    text: str, apart: str | None, cut: bool, want: tuple[str | None, str, bool, str]
) -> None:
    got = reply(text, cut=cut)
    assert isinstance(got.value, PlainText)
    written = read_text(THINKS, got._replace(value=got.value.model_copy(update={"thought": apart}))).written
    assert written is not None
    assert (written.thought, written.text, written.unfinished, written.ended) == want
    plain = read_text(THINKS.model_copy(update={"thought": None}), got).written
    assert plain is not None and plain.thought is None and not plain.unfinished, "nobody asked for a thought"


def test_the_thought_has_room_of_its_own() -> None:
    assert text_request(THINKS).parameters["max_tokens"] == THINKS.most + 9


def test_a_run_on_an_endpoint_that_thinks(tmp_path: Path) -> None:
    """The thought comes beside the answer, or in it; figures of the answer read the answer."""

    def thinks(payload: dict[str, Any]) -> Any:
        question = payload["messages"][0]["content"]
        message = {"role": "assistant", "content": "<think>Lima</think>Step 1: Go on"}
        if "Imagine" in question:
            message = {"role": "assistant", "content": "Step 1: Go on", "reasoning_content": "Lima again"}
        return Raw(200, {"id": "c", "object": "chat.completion", "created": 1, "model": "gpt-x",
                         "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})  # fmt: skip

    with ScriptedServer(thinks) as server:
        config = endpoint_config(
            tmp_path, server.url, split="mini", limit=1, editors={"ice": {"name": "ice"}},
            metrics=["s_es_gen_question", "es_gen", "thought_old_rate", "repetition_rate"],
            generation={"thought": {"tokens": 50}},
        )  # fmt: skip
        execute(config)
        assert {r["max_tokens"] for r in server.requests} == {256 + 50, 24 + 50}
    run = load_run(config.out)
    written = {a.written for e in run.editors for r in e.results.values() for a in r.answers}
    assert {(w.text, w.thought) for w in written if w} == {
        ("Step 1: Go on", "Lima"), ("Step 1: Go on", "Lima again")
    }  # fmt: skip
    assert "Thought and answer" in write_report([config.out]).files[0].read_text(encoding="utf-8")


def test_a_refusal_in_words_is_a_text_and_no_answer_is_an_error() -> None:
    probe = GenerateProbe(purpose="script_question", item="q", prompt="How?")
    declined = read_text(probe, reply("I cannot help with that.", status="refused"))
    assert declined.written is not None and declined.written.text == "I cannot help with that."
    for status in ("unanswered", "permanent", "unparseable"):
        assert read_text(probe, reply("x", status=status)).error == f"{status}: why"


def test_a_script_and_the_rest_of_a_step_are_one_message_each() -> None:
    script, rest = scripts_for(CASE, Generation())[0], rest_of_step(CASE, CASE.prompts[0], Generation())
    for probe, instruction, tokens in ((script, INSTRUCTION, 256), (rest, GO_ON, 24)):
        sent = text_request(probe, lambda prompt: f"It is so. {prompt}")
        (message,) = sent.messages
        assert message.content == f"{instruction}\n\nIt is so. {probe.prompt}"
        assert sent.parameters == {"temperature": 0.0, "max_tokens": tokens}


def shares(folder: Path) -> dict[str, dict[str, float | None]]:
    run = load_run(folder)
    metrics = metrics_of(run.about)
    table = compare(run, score_run(run, metrics, "mean"), metrics)[0]
    return {row.label: {m: s.mean for m, s in row.summaries.items()} for row in table.rows}


@pytest.mark.usefixtures("no_pictures")
def test_a_run_on_events_its_metrics_resuming_and_report(tmp_path: Path) -> None:
    editors = {"ice": {"name": "ice"}, "say_unknown": {"name": "say_unknown"},
               "bm25": {"name": "bm25", "params": {"memory": "split"}}}  # fmt: skip
    with ScriptedServer(reader) as server:
        config = endpoint_config(tmp_path, server.url, editors=editors)
        dry = size(config)
        assert dry.calls is not None and dry.calls.calls == 4 * dry.texts == 4 * 4 and not server.requests
        outcomes = execute(config)
        count = len(server.requests)
        repeat = execute(config)
        assert len(server.requests) == count, "finished cases are not asked again"
        again = size(config).calls
        assert again is not None and again.calls == 0, "nor counted by a dry run"
    assert [(o.label, o.computed, o.failed) for o in outcomes] == [(n, 2, 0) for n in ("none", *editors)]
    assert [o.resumed for o in repeat] == [2] * 4
    values = shares(config.out)
    assert values["none"]["ev_fact"] == 0.0 and values["ice"]["ev_fact"] == 1.0
    assert values["say_unknown"]["ev_fact"] == pytest.approx(1 / 3)
    assert values["ice"]["ev_fact_local"] == 1.0 and values["say_unknown"]["ev_fact_local"] == 0.0
    assert all("stop" not in r and len(r["messages"]) == 1 for r in server.requests)
    assert load_run(config.out).about["model_revision"] == "endpoint:gpt-x"
    assert "gpt-x" in write_report([config.out]).files[0].read_text(encoding="utf-8")


def test_what_was_answered_before_the_key_ran_out_is_not_paid_for_twice(tmp_path: Path) -> None:
    answers: list[str] = []

    def until_refused(payload: dict[str, Any]) -> Any:
        if len(answers) == 3:
            return Raw(401, {"error": {"message": "no such key"}})
        answers.append(str(payload["messages"]))
        return reader(payload)

    def config(url: str) -> RunConfig:
        return endpoint_config(
            tmp_path, url, endpoint={"base_url": url, "api_key_env": "SCEDIT_NO_KEY", "concurrency": 1}
        )

    with ScriptedServer(until_refused) as server, pytest.raises(ModelError):
        execute(config(server.url))
    with ScriptedServer(reader) as server:
        execute(config(server.url))
        later = [str(r["messages"]) for r in server.requests]
    assert len(answers) == 3 and not set(answers) & set(later) and len(set(later)) == len(later) == 8 - 3
    assert shares(tmp_path / "run")["ice"]["ev_fact"] == 1.0


def test_an_answer_that_fails_is_an_error_that_can_be_asked_for_again(tmp_path: Path) -> None:
    is_broken = True

    def sometimes(payload: dict[str, Any]) -> Any:
        return Raw(400, {"error": {"message": "no"}}) if is_broken and "founded" in str(payload) else reader(payload)

    with ScriptedServer(sometimes) as server:
        config = endpoint_config(tmp_path, server.url)
        execute(config)
        assert shares(config.out)["ice"]["ev_fact_local"] is None
        is_broken = False
        assert config.endpoint is not None
        config = config.model_copy(update={"endpoint": config.endpoint.model_copy(update={"journal": tmp_path / "n"})})
        execute(config, retry_failed=True)
    assert shares(config.out)["ice"]["ev_fact_local"] == 1.0


WEIGHTS = "needs the weights of the model, which a model behind an endpoint does not show"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"editors": {"ft_lm": {"name": "ft_lm"}}}, f"'ft_lm' {WEIGHTS}"),
        (
            {"split": "mini", "metrics": ["s_es_gen_question"], "editors": {"rome": {"name": "rome"}}},
            f"'rome' {WEIGHTS}",
        ),
        ({"metrics": ["ev_fact", "ev_choice"]}, "the metric 'ev_choice' reads probabilities, which an endpoint does"),
        ({"endpoint": {"max_cost": 1.0}}, "--max-cost needs a price"),
        ({"model": "endpoint:"}, "'endpoint:' names no model"),
        ({"model": "endpoint:embedded", "endpoint": None}, "is a model on this machine, and no endpoint is named"),
    ],
)
def test_what_an_endpoint_cannot_do_is_one_sentence_before_any_call(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with ScriptedServer(lambda payload: "no") as server:
        for start in (execute, size):
            with pytest.raises(UserError, match=message):
                start(endpoint_config(tmp_path, server.url, **changes))
        assert not server.requests


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "embedded"}, "the table endpoint is for model = 'endpoint:NAME'"),
        ({"engine": "ray"}, "not spread over workers: set endpoint.concurrency"),
        ({"regime": {"name": "batch", "size": 2}}, "edited one case at a time: use regime = 'single'"),
        ({"endpoint": {"retries": 4}}, "retries"),
    ],
)
def test_what_does_not_go_together(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        endpoint_config(tmp_path, "http://127.0.0.1:9/v1", **changes)


def test_the_table_is_the_options_of_every_command_that_asks_a_model() -> None:
    access = endpoint_access("endpoint:m", EndpointChoice(base_url="http://h/v1", api_key_env="K", rpm=3, attempts=2))
    assert (access.model, access.base_url, access.key_name, access.rpm, access.attempts) == (
        "m", "http://h/v1", "K", 3, 2
    )  # fmt: skip


def test_nothing_stands_for_its_weights() -> None:
    model = EndpointModel("endpoint:m", endpoint_access("endpoint:m", EndpointChoice(base_url="http://h/v1")))
    assert (model.name, model.revision, model.device, model.weights) == ("m", "endpoint:m", "endpoint", None)
    with pytest.raises(ModelError, match="no probabilities"):
        model.score([])
    with pytest.raises(ModelError, match="by its engine"):
        model.write([])
