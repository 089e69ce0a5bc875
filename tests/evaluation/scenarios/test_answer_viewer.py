"""The answer viewer in a browser: filters, before beside after, three widths."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from curation.files.atomic import write_text
from evaluation.report.viewer.page import viewer_page
from tests.support.app import served_app as served
from tests.support.report.texts_run import ThinkingLM, finished

METRICS = ["es_gen", "ns_gen", "s_es_gen", "s_es_gen_question"]
_TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@contextmanager
def opened(folder: Path, width: int, **more: Any) -> Iterator[Any]:
    """The page of a run in a browser, with its answers; an error of the page's script fails the test."""
    pytest.importorskip("playwright", reason="playwright is not installed")
    if served.CHROMIUM is None:
        pytest.skip("no Chromium")
    path = folder / "answers.html"
    write_text(path, viewer_page([finished(folder / "run", METRICS, **more)]), "the page")
    with served.browser() as browser:
        page = browser.new_page(viewport={"width": width, "height": 900})
        failures: list[str] = []
        page.on("pageerror", lambda error: failures.append(str(error)))
        page.goto(path.as_uri(), timeout=served.PATIENCE * 1000)
        page.locator("article").first.wait_for()
        yield page
        assert not failures


@pytest.mark.slow
def test_filters_and_widths(tmp_path: Path) -> None:
    with opened(tmp_path, 1366) as page:
        whole = page.locator("#count").inner_text()
        page.get_by_label("Case").select_option(index=2)
        page.get_by_label("Asked for").select_option("script for a question")
        page.get_by_label("Method").select_option("push")
        assert page.locator("article").count() == 2 and page.locator("#count").inner_text() != whole
        sides = [page.locator(f".{side}").first.bounding_box() for side in ("before", "after")]
        assert sides[0]["x"] < sides[1]["x"] and sides[0]["y"] == sides[1]["y"], "before and after side by side"
        assert (
            "Lima" in page.locator(".before").first.inner_text() and "Oslo" in page.locator(".after").first.inner_text()
        )
        page.get_by_label("Named first").select_option("old")
        assert page.locator("article").count() == 0
        page.get_by_label("Named first").select_option("")
        page.get_by_label("Text holds").fill("to osLO")
        assert page.locator("article").count() == 2
        page.get_by_label("Judge and person").select_option("0")
        assert page.locator("article").count() == 0
        for width in (390, 768, 1366):
            page.set_viewport_size({"width": width, "height": 900})
            page.reload()
            page.locator("article").first.wait_for()
            assert page.evaluate(_TOO_WIDE) <= 0, width


@pytest.mark.slow
def test_thoughts_open_and_filter(tmp_path: Path) -> None:
    with opened(tmp_path, 390, lm=ThinkingLM(), generation={"thought": {}}) as page:
        page.get_by_label("Thought").select_option("apart")
        assert page.locator(".after .thought").count() > 0
        summary = page.locator(".after .thought summary").first
        assert "last: old object" in summary.inner_text()
        summary.click()
        assert "No, it is Lima." in page.locator(".after .thought").first.inner_text()
        page.get_by_label("Thought").select_option("unfinished")
        assert "the thought has no end" in page.locator(".after pre").last.inner_text()
        page.get_by_label("Thought").select_option("new")
        assert page.locator(".after").count() > 0, "Oslo? Oslo?: unfinished, and new at last"
        assert page.evaluate(_TOO_WIDE) <= 0
