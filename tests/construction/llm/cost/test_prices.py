from __future__ import annotations

from datetime import date

import pytest

from construction.llm.cost.estimates import CHARACTERS_PER_TOKEN, CallCounter
from construction.llm.cost.prices import Price, price_of
from construction.llm.step import Message
from schemas.core.errors import DataError, UserError


def test_prices(tmp_path):
    mini = price_of("gpt-4o-mini")
    assert mini and (mini.input, mini.output) == (0.15, 0.6)
    half = price_of("gpt-4o-mini-2024-07-18", batch=True)
    assert half and half.input == pytest.approx(0.075)
    assert price_of("qwen") is None
    path = tmp_path / "p.toml"
    path.write_text('checked = 2026-02-03\n[models]\n"qwen" = { input = 1, output = 2, batch_output = 0.5 }\n')
    live, batch = price_of("qwen", table=path), price_of("qwen", batch=True, table=path)
    assert live == Price(1, 2, date(2026, 2, 3)) and batch == Price(1, 0.5, date(2026, 2, 3))
    assert price_of("gpt-4o", table=path) is not None
    path.write_text('checked = 2026-02-03\n[models]\n"qwen" = { input = -1, output = 2 }\n')
    with pytest.raises(DataError, match="models.qwen.input"):
        price_of("qwen", table=path)
    with pytest.raises(UserError, match="no such"):
        price_of("qwen", table=tmp_path / "none.toml")


CHAT = [Message(role="system", content="x" * 9), Message(role="user", content="y" * 10)]


@pytest.mark.parametrize("times", [1, 3, 1000])
def test_tokens_are_rounded_once_over_all_calls(times):
    counter = CallCounter()
    counter.add(CHAT, reply_tokens=5, times=times)
    estimate = counter.estimate(Price(2.0, 10.0, date(2026, 1, 1)))
    assert estimate[:3] == (times, times * 19 // CHARACTERS_PER_TOKEN, 5 * times)
    assert estimate.cost == pytest.approx((2.0 * estimate.tokens_in + 10.0 * estimate.tokens_out) / 1e6)
