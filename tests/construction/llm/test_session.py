"""A sitting with a model: one journal and budget, stopped in good order."""

from __future__ import annotations

import asyncio
import signal

import pytest

from construction.llm.connection import Access
from construction.llm.session import model_session
from schemas.core.errors import UserError

ACCESS = Access(model="m", base_url="http://127.0.0.1:9/v1")


async def stopped_by(number: signal.Signals) -> None:
    signal.raise_signal(number)
    await asyncio.sleep(30)


async def answer() -> int:
    return 42


def test_work_runs_to_its_end_and_the_journal_is_free_again(tmp_path):
    for _ in range(2):
        with model_session(tmp_path / "j", ACCESS) as session:
            assert session.run(answer()) == 42 and not session.budget.limited


def test_a_journal_in_use_is_refused(tmp_path):
    refusal = pytest.raises(UserError, match="another process is writing")
    with model_session(tmp_path / "j", ACCESS), refusal, model_session(tmp_path / "j", ACCESS):
        raise AssertionError("two writers")


def test_a_limit_in_dollars_without_a_price_is_refused(tmp_path):
    limited = ACCESS.model_copy(update={"max_cost": 1.0})
    with pytest.raises(UserError, match="--max-cost needs a price"), model_session(tmp_path / "j", limited):
        raise AssertionError("no price is known")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("batch", [False, True])
def test_a_signal_stops_the_work_in_good_order(tmp_path, number, batch):
    access = ACCESS.model_copy(update={"batch": batch})
    with model_session(tmp_path / "j", access) as session, pytest.raises(UserError) as error:
        session.run(stopped_by(number))
    assert error.value.exit_status == 128 + number
    assert "finished work is kept; give the same command again" in str(error.value)
    assert ("open batches go on" in str(error.value)) == batch


def test_an_error_of_the_work_comes_through(tmp_path):
    async def broken() -> None:
        raise UserError("no key")

    with model_session(tmp_path / "j", ACCESS) as session, pytest.raises(UserError, match="no key"):
        session.run(broken())
