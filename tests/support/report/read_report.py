"""A finished run and its report as a reader's program sees it."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

from tests.support.arithmetic import ArithmeticEditor, ArithmeticLM, make_cases, make_config
from tests.support.evaluation.runner_of import runner_of


def finished(out: Path, *, split=None, lm=None, **changes) -> Path:
    config = make_config(out, **changes)
    runner_of(config, split or make_cases(8, 3), scorer=lm or ArithmeticLM(), make=ArithmeticEditor).run()
    return out


METRICS = ("es", "ps", "ns", "s_es", "s_ns", "s_bo")


class Reader(HTMLParser):
    """Tags that are open at the end, everything that is loaded from elsewhere, and the text."""

    VOID = frozenset({"meta", "br", "link", "img", "input", "hr", "line", "circle", "rect", "path"})

    def __init__(self) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.loads: list[str] = []
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.loads += [
            v for k, v in attrs if k in ("src", "srcset", "data") or (k == "href" and tag in ("link", "use"))
        ]
        if "id" in values:
            self.ids.append(values["id"])
        if tag == "a":
            self.targets.append(values["href"])
        if tag not in self.VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.stack.pop() == tag, f"</{tag}> does not close what is open"

    def handle_data(self, data):
        self.text.append(data)


def read(path: Path) -> tuple[str, Reader]:
    html = path.read_text(encoding="utf-8")
    reader = Reader()
    reader.feed(html)
    return html, reader
