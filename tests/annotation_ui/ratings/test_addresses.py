"""Addresses that lead somewhere, and those that would lead nowhere or elsewhere than they say."""

from __future__ import annotations

import pytest

from annotation_ui.ratings.raters import web_address


@pytest.mark.parametrize(
    "url",
    [
        "https://x.org",
        "https://x.org/a?cc=C1#b",
        "HTTPS://x.org:8443/",
        "https://[::1]:8501/",
        "https://bücher.example/",
    ],
)
def test_an_address_is_taken_as_it_is(url: str) -> None:
    parts = web_address(url, "https")
    assert parts is not None and parts.hostname


@pytest.mark.parametrize(
    "url",
    [
        "", "x.org", "http://x.org/", "ftp://x.org", "javascript:alert(1)", "data:text/html,x", "https://", "https:///a",
        "https://[", "https://[::1", "https://x.org:99999/", "https://x.org:a/", "https://x.org:0/", "https://x.org/ a",
        "https://x.org/\n", "https://x.org/\x00", "https://\u202egro.x/", "https://x\u200b.org/", "https://\ud800.org/",
        "https://bank.example@evil.example/", "https://x.org/" + "a" * 2000, " https://x.org/",
    ],
)  # fmt: skip
def test_what_is_no_address_or_another_than_it_seems_is_none(url: str) -> None:
    assert web_address(url, "https") is None
