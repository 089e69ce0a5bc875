"""Calls counted before they are made."""

from __future__ import annotations

from datetime import date

import pytest

from construction.llm.cost.estimates import CHARACTERS_PER_TOKEN, CallCounter, CallEstimate, no_price_advice
from construction.llm.cost.prices import Price
from construction.llm.step import Message

CHAT = [Message(role="system", content="x" * 9), Message(role="user", content="y" * 10)]


def test_nothing_is_free():
    assert CallCounter().estimate(Price(1.0, 1.0, date(2026, 1, 1))) == CallEstimate(0, 0, 0, 0.0)


@pytest.mark.parametrize("times", [1, 3, 1000])
def test_tokens_are_rounded_once_over_all_calls(times):
    counter = CallCounter()
    counter.add(CHAT, reply_tokens=5, times=times)
    estimate = counter.estimate(Price(2.0, 10.0, date(2026, 1, 1)))
    assert estimate[:3] == (times, times * 19 // CHARACTERS_PER_TOKEN, 5 * times)
    assert estimate.cost == pytest.approx((2.0 * estimate.tokens_in + 10.0 * estimate.tokens_out) / 1e6)


def test_without_a_price_there_are_no_dollars_and_a_word_on_how_to_add_them():
    counter = CallCounter()
    counter.add(CHAT, reply_tokens=5)
    assert counter.estimate(None).cost is None
    assert "no price is known for 'qwen'" in no_price_advice("qwen") and "--prices" in no_price_advice("qwen")
