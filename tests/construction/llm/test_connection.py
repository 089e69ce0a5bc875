"""From options to a client: what is refused before anything is opened, and how signals end the work."""

from __future__ import annotations

import asyncio
import signal
import threading
from contextlib import aclosing, contextmanager
from types import SimpleNamespace

import pytest
from pydantic import ValidationError

from construction.llm import connection
from construction.llm.client import Client, gather_all, ordered_map
from construction.llm.connection import model_session, run
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
    for model in ("ann@127.0.0.1:9/v1", "ann@http://there/v1", "http://127.0.0.1:9/v1"):
        with pytest.raises(UserError, match=f"the model '{model}' holds an address; give the name alone, and"):
            Access(model=model).check()
    for url in ("localhost:8000", "ftp://there/v1", "http://", "http://[", "http://a b/v1", "http://h:99999/v1"):
        with pytest.raises(ModelError, match="is not an address; --base-url takes one like"):
            Access(model="m", base_url=url).check()
    with pytest.raises(ModelError, match="is the address of one call; --base-url takes its beginning, up to /v1"):
        Access(model="m", base_url="http://there/v1/chat/completions").check()
    with pytest.raises(ValidationError):
        Access(modle="m")
    Access(model="never heard of", max_tokens=0).check()  # tokens need no price
    Access(model="llama3@sha256:0f1e").check()  # a digest is no address


@pytest.fixture
def served(tmp_path, monkeypatch):
    """Where model files are served in this test, and what the server was told."""
    server = SimpleNamespace(url="no address", told=[])

    @contextmanager
    def serve(gguf, *, slots, **settings):
        server.told.append(slots)
        try:
            yield server.url
        finally:
            server.told.append("stopped")

    monkeypatch.setattr(connection, "serve", serve)
    monkeypatch.setattr(connection, "gguf_of", lambda name: tmp_path)
    return server


@pytest.mark.parametrize(("concurrency", "slots"), [(None, 1), (3, 3)])
def test_the_embedded_model_is_served_while_the_client_is_open_and_sent_no_key(
    tmp_path, monkeypatch, served, concurrency, slots
):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody-else")

    async def main():
        with model_session(tmp_path / "j", Access(concurrency=concurrency)) as session:
            async with session.client() as client:
                replies = await gather_all([client.ask(request(str(n))) for n in range(2)])
                assert served.told == [slots]
                return replies

    with ScriptedServer(lambda p: '{"n": 4}') as server:
        served.url = server.url
        assert [r.value for r in asyncio.run(main())] == [Number(n=4)] * 2
    assert served.told == [slots, "stopped"] and not any("somebody" in key for key in server.keys)


def test_the_model_is_stopped_when_the_client_cannot_be_opened(tmp_path, served):
    async def main():
        with model_session(tmp_path / "j", Access()) as session:
            async with session.client():
                raise AssertionError("it opened")

    with pytest.raises(ModelError, match="is not an address"):
        asyncio.run(main())
    assert served.told == [1, "stopped"]


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


@pytest.mark.parametrize("address", [None, "http://127.0.0.1:9/v1"])
@pytest.mark.parametrize(("key", "words"), [("", "is not set"), ("sk-\u00e9", "no key has")])
def test_a_missing_or_odd_key_is_told_by_name(monkeypatch, tmp_path, key, words, address):
    monkeypatch.setenv("TEST_KEY", key)
    with Journal(tmp_path / "j", write=True) as journal, pytest.raises(ModelError, match=words) as error:
        Client(Access(model="m", key_name="TEST_KEY", base_url=address), ReplyCache(journal))
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


# Many coroutines at once: order, a bound on what is ahead, and nothing left running when one of them fails.
class Worker:
    """Counts what is at work; a number above 99 fails."""

    def __init__(self):
        self.now = self.most = self.begun = self.stopped = 0

    async def work(self, number, seconds=0.0):
        self.begun += 1
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(seconds)
            if number > 99:
                raise ValueError(number)
            return number
        except asyncio.CancelledError:
            self.stopped += 1
            raise
        finally:
            self.now -= 1


def test_results_stand_in_order_whoever_is_first():
    worker = Worker()
    results = asyncio.run(gather_all([worker.work(n, 0.02 * (3 - n)) for n in range(3)]))
    assert results == [0, 1, 2] and worker.most == 3
    assert asyncio.run(gather_all([])) == []


def test_one_failure_stops_the_others_and_waits_until_they_are_gone():
    worker = Worker()

    async def main():
        with pytest.raises(ValueError, match="100"):
            await gather_all([worker.work(1, 30), worker.work(100), worker.work(2, 30)])
        return worker.now, len(asyncio.all_tasks())

    assert asyncio.run(main()) == (0, 1) and worker.stopped == 2


@pytest.mark.parametrize("ahead", [0, 1, 3])
def test_only_so_many_are_ahead_of_the_one_that_is_waited_for(ahead):
    worker = Worker()

    async def main():
        items = []
        async for number in ordered_map([lambda n=n: worker.work(n, 0.005) for n in range(8)], ahead=ahead):
            items.append(number)
            assert worker.begun <= len(items) + ahead
        return items

    assert asyncio.run(main()) == list(range(8)) and worker.most == ahead + 1


@pytest.mark.parametrize("leave", ["an error", "the reader goes"])
def test_nothing_runs_on_after_the_end(leave):
    """A fault in one, or a reader that stops: those in the making are stopped, later ones never begin."""
    worker = Worker()
    numbers = [1, 100 if leave == "an error" else 2, 3, 4, 5, 6]

    async def main():
        async def read():
            async with aclosing(
                ordered_map([lambda n=n: worker.work(n, n / 1000) for n in numbers], ahead=2)
            ) as stream:
                async for number in stream:
                    if leave == "the reader goes" and number == 1:
                        return

        if leave == "an error":
            with pytest.raises(ValueError, match="100"):
                await read()
        else:
            await read()
        return worker.now, len(asyncio.all_tasks())

    assert asyncio.run(main()) == (0, 1) and worker.begun < 6
