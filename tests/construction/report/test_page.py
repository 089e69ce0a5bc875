from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser

from construction.report.page import page
from construction.report.store_funnel import store_yield
from tests.support.construction import funnels

constructed = funnels.constructed


class _Outline(HTMLParser):
    """Tags that are open at the end, headings, and the widths of the bars' parts."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: Counter[str] = Counter()
        self.bars: list[float] = []

    def handle_starttag(self, tag, attrs):
        self.seen[tag] += 1
        if tag == "svg":
            self.bars.append(0.0)
        if tag == "rect":
            self.bars[-1] += float(dict(attrs)["width"])
        if tag not in ("meta", "br", "rect", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag != "rect":
            assert self.open.pop() == tag


def test_the_page_is_whole_and_hostile_text_stays_text(constructed):
    html = page(store_yield(constructed[0]))
    outline = _Outline()
    outline.feed(html)
    assert outline.open == [] and outline.seen["script"] == 0 and outline.seen["h1"] == 1
    assert "&lt;/svg&gt;&lt;script&gt;x()" in html
    assert not re.search(r"https?://|src=|@import|url\(", html), "the page fetches nothing"
    assert outline.seen["svg"] >= 6 and all(0 < width <= 100.001 for width in outline.bars if width)
    for figure in ("1,830", "7,342", "13,672", "1,762", "7,038", "6,597", "8.23 %", "6.75 %"):
        assert figure in html, "the paper's figure stands beside ours"
