"""A CoreNLP server on this machine that answers, answers nonsense, or is not there."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlparse

import pytest

from evaluation.simplify.openie import Clause, ask_server
from schemas.core.errors import UserError

ROW = {"subject": "Rovo", "relation": "is in", "object": "Peru"}


@pytest.fixture
def server():
    asked: list[tuple[str, dict]] = []

    class Handler(BaseHTTPRequestHandler):
        reply = {"sentences": [{"openie": [ROW, ROW]}, {"openie": []}]}  # noqa: RUF012

        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers["Content-Length"])).decode()
            asked.append((text, json.loads(parse_qs(urlparse(self.path).query)["properties"][0])))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(self.reply).encode())

        def log_message(self, *args: object) -> None:
            """Quiet."""

    running = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{running.server_port}", asked, Handler
    running.shutdown()
    running.server_close()


def test_its_statements_each_once(server) -> None:
    address, asked, _ = server
    assert ask_server(address, "Rovo is in Peru.", threshold=0.5) == [Clause("Rovo", "is in", "Peru")]
    ((text, settings),) = asked
    assert text == "Rovo is in Peru." and settings["openie.affinity_probability_cap"] == "0.5"


def test_another_reply_and_no_server_are_said_in_one_sentence(server) -> None:
    address, _, handler = server
    handler.reply = {"sentences": [{}]}
    with pytest.raises(UserError, match="reply is not that of CoreNLP"):
        ask_server(address, "x", threshold=0.5)
    with pytest.raises(UserError, match="does not answer"):
        ask_server("http://127.0.0.1:9", "x", threshold=0.5)
    with pytest.raises(UserError, match="begins with http"):
        ask_server("file:///etc/hosts", "x", threshold=0.5)


def test_a_reply_that_breaks_off_is_no_answer(server) -> None:
    address, _, handler = server

    def break_off(self: BaseHTTPRequestHandler) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b'{"sentences": [')

    handler.do_POST = break_off
    with pytest.raises(UserError, match="does not answer: IncompleteRead"):
        ask_server(address, "x", threshold=0.5)
