"""Plain questions in the site's own search, in a browser: the page that answers them comes first."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.app.served_app import browser, need_browser

pytestmark = pytest.mark.slow
QUESTIONS = {
    "csv columns": "Which columns does a CSV",
    "add neighbours": "Add neighbours",
    "retry failed cases": "Retry failed cases",
    "delete a wrong item": "Delete a wrong item",
    "other language": "another language",
    "how many cases do I need": "How many cases do I need",
    "notebook colab": "Work in a notebook",
    "pandas dataframe": "pandas dataframe",
    "multiple GPUs": "multiple GPUs",
    "slurm array": "slurm array",
    "Llama 3": "Llama 3",
    "progress": "progress of a run",
    "install without internet": "Install without internet",
    "add my own method": "my own method",
    "use vLLM": "Use vLLM",
    "price of a construction": "price of a construction",
}
"""What somebody types, and words of the heading that has to come first."""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The built documentation, served on this machine."""
    need_browser()
    folder: Path = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, check=True)
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


def test_a_plain_question_finds_its_answer_first(site: str) -> None:
    wrong = {}
    with browser() as instance:
        page = instance.new_page()
        for question, words in QUESTIONS.items():
            page.goto(f"{site}?q={question.replace(' ', '+')}")
            first = page.locator("article.md-search-result__article").first
            first.wait_for()
            titles = page.locator(".md-search-result__item").first.locator("h1, h2").all_inner_texts()
            if not any(words.casefold() in title.casefold() for title in titles[:2]):
                wrong[question] = titles
    assert not wrong
