"""From options to a client: what is refused before anything is opened, and how signals end the work."""

from __future__ import annotations

import asyncio
import signal
import threading
from contextlib import contextmanager

import pytest
from pydantic import ValidationError

from construction.llm import connection
from construction.llm.client import Client, gather_all
from construction.llm.connection import StopSignal, model_session, run
from construction.llm.endpoint import Access
from construction.llm.reply_cache import ReplyCache
from curation.files.journal import Journal
from curation.files.model_packages import EMBEDDED_LABEL
from schemas.core.errors import ModelError, UserError
from tests.support.construction.asked_numbers import Number, request
from tests.support.scripted_server import ScriptedServer


def test_the_embedded_model_is_the_name_without_an_address():
    assert Access().embedded and Access().label == EMBEDDED_LABEL
    elsewhere = Access(base_url="http://127.0.0.1:1/v1")
    assert not elsewhere.embedded and elsewhere.label == "embedded", "an endpoint may serve a model of that name"


@pytest.mark.parametrize(
    ("access", "seconds"),
    [
        (Access(), 3600.0),
        (Access(model="gguf:x.gguf"), 3600.0),
        (Access(model="local", timeout=5.0), 5.0),
        (Access(model="m"), 120.0),
        (Access(model="local", base_url="http://127.0.0.1:1/v1"), 120.0),
        (Access(model="m", timeout=600.0), 600.0),
    ],
)
def test_a_model_on_this_machine_is_given_more_time(access, seconds):
    """On a busy machine a script takes it minutes, and what it has half written is lost at the limit."""
    assert access.time_limit == seconds


def test_what_cannot_go_together_is_refused():
    for model in ("ann@127.0.0.1:9/v1", "ann@http://there/v1"):
        with pytest.raises(UserError, match=f"the model '{model}' holds an address; give it with --base-url"):
            Access(model=model).check()
    with pytest.raises(ValidationError):
        Access(modle="m")
    Access(model="never heard of", max_tokens=0).check()  # tokens need no price


@pytest.mark.parametrize(("concurrency", "slots"), [(None, 1), (3, 3)])
def test_the_embedded_model_is_served_while_the_client_is_open_and_sent_no_key(
    tmp_path, monkeypatch, concurrency, slots
):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody-else")
    requests = []

    @contextmanager
    def serve(gguf, *, slots, **settings):
        requests.append(slots)
        yield server.url
        requests.append("stopped")

    async def main():
        with model_session(tmp_path / "j", Access(concurrency=concurrency)) as session:
            async with session.client() as client:
                replies = await gather_all([client.ask(request(str(n))) for n in range(2)])
                assert requests == [slots]
                return replies

    with ScriptedServer(lambda p: '{"n": 4}') as server:
        monkeypatch.setattr(connection, "serve", serve)
        monkeypatch.setattr(connection, "gguf_of", lambda name: tmp_path)
        assert [r.value for r in asyncio.run(main())] == [Number(n=4)] * 2
    assert requests == [slots, "stopped"] and not any("somebody" in key for key in server.keys)


def test_the_model_is_stopped_when_the_client_cannot_be_opened(tmp_path, monkeypatch):
    requests = []

    @contextmanager
    def serve(gguf, *, slots, **settings):
        try:
            yield "no address"
        finally:
            requests.append("stopped")

    async def main():
        with model_session(tmp_path / "j", Access()) as session:
            async with session.client():
                raise AssertionError("it opened")

    monkeypatch.setattr(connection, "serve", serve)
    monkeypatch.setattr(connection, "gguf_of", lambda name: tmp_path)
    with pytest.raises(ModelError, match="is not an address"):
        asyncio.run(main())
    assert requests == ["stopped"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_lets_the_work_clean_up_and_is_named(number):
    cleaned = []

    async def work():
        try:
            signal.raise_signal(number)
            await asyncio.sleep(30)
        finally:
            cleaned.append(True)

    with pytest.raises(StopSignal) as error:
        run(work())
    assert error.value.number == number and cleaned == [True]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_work_that_cancels_itself_is_no_signal():
    async def work():
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        run(work())


def test_work_outside_the_main_thread_runs_without_signal_handlers():
    result = []

    async def work():
        return 42

    thread = threading.Thread(target=lambda: result.append(run(work())))
    thread.start()
    thread.join()
    assert result == [42]


@pytest.mark.parametrize(("key", "words"), [("", "is not set"), ("sk-\u00e9", "no key has")])
def test_a_missing_or_odd_key_is_told_by_name(monkeypatch, tmp_path, key, words):
    monkeypatch.setenv("TEST_KEY", key)
    with Journal(tmp_path / "j", write=True) as journal, pytest.raises(ModelError, match=words) as error:
        Client(Access(model="m", key_name="TEST_KEY"), ReplyCache(journal))
    assert "TEST_KEY" in str(error.value) and "sk-" not in str(error.value)


ACCESS = Access(model="m", base_url="http://127.0.0.1:9/v1")


async def stopped_by(number: signal.Signals) -> None:
    signal.raise_signal(number)
    await asyncio.sleep(30)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("batch", [False, True])
def test_a_signal_stops_the_work_in_good_order(tmp_path, number, batch):
    access = ACCESS.model_copy(update={"batch": batch})
    with model_session(tmp_path / "j", access) as session, pytest.raises(UserError) as error:
        session.run(stopped_by(number))
    assert error.value.exit_status == 128 + number
    assert "finished work is kept; give the same command again" in str(error.value)
    assert ("open batches go on" in str(error.value)) == batch
