"""The page in a real browser: no sideways scroll at three widths, few pages in print; headings in order."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from evaluation.report.write import write_report
from evaluation.runs.results import load_run
from tests.support.app import served_app as served
from tests.support.arithmetic import make_cases
from tests.support.ratings import rated_store
from tests.support.report.read_report import finished
from tests.support.report.texts_run import TEXTS

EXAMPLE = Path(__file__).parents[3] / "docs/example/report.html"
WIDTHS = (390, 768, 1366)
PAGES = 12  # fewer than these in print, for six cases
_OPEN_ALL = "document.querySelectorAll('details').forEach(d => { d.open = true })"
_TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of today's program: six cases, two methods, texts, people, judges with long names."""
    out = tmp_path_factory.mktemp("page")
    editors = ["none", "push", {"name": "push", "label": "weak", "params": {"strength": 0.5}}]
    metrics = ["es", "ps", "ns", "s_es", "s_ns", "s_bo", *TEXTS]
    run = load_run(finished(out, split=make_cases(4, 2), editors=editors, metrics=metrics))
    names = ("judge:organisation/model-with-a-long-name-7b", "judge:" + 60 * "x" + "\u202e\x1b[31m\u200b")
    rated_store(out / "s.duckdb", run, ("person:ann", "person:bob", *names))
    return write_report([out], out=out / "page" / "report.html", store=out / "s.duckdb").files[0]


@pytest.fixture
def pages(fresh: Path) -> list[Path]:
    return [EXAMPLE, fresh]


def test_headings_are_in_order(pages: list[Path]) -> None:
    for path in pages:
        text = re.sub(r"<(style|pre)\b.*?</\1>", "", path.read_text(encoding="utf-8"), flags=re.S)
        levels = [int(n) for n in re.findall(r"<h([1-6])\b", text)]
        assert levels[0] == 1 and levels.count(1) == 1
        assert all(after <= before + 1 for before, after in pairwise(levels)), path
        assert not re.search(r"<h[1-6][^>]*>\s*</h", text), "no empty heading"


@pytest.mark.slow
def test_nothing_scrolls_sideways_closed_or_open_and_six_cases_print_on_fewer_than_twelve_pages(
    pages: list[Path],
) -> None:
    pytest.importorskip("playwright", reason="playwright is not installed")
    if served.CHROMIUM is None:
        pytest.skip("no Chromium")
    with served.browser() as browser:
        page = browser.new_page()
        for path in pages:
            page.goto(path.resolve().as_uri(), timeout=served.PATIENCE * 1000)
            assert 0 < len(re.findall(rb"/Type\s*/Page\b(?!s)", page.pdf(format="A4"))) < PAGES, path
            for state in ("undefined", _OPEN_ALL):
                page.evaluate(state)
                for width in WIDTHS:
                    page.set_viewport_size({"width": width, "height": 900})
                    assert page.evaluate(_TOO_WIDE) <= 0, f"{path} at {width}, {state}"
