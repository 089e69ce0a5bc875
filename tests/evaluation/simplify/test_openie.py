from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlparse

import pytest

from evaluation.simplify import openie
from evaluation.simplify.openie import Clause, OpenStatements, ask_server, clauses
from schemas.core.errors import UserError
from tests.support.documents.parses import DESIGNED, OPENED, sentence
from tests.support.documents.records import make_document


def test_a_statement_a_clause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openie, "parse", lambda text, model: (OPENED, DESIGNED))
    statements = list(OpenStatements().simplify(make_document()))
    assert [(s.prompt, s.subject, s.target) for s in statements] == [
        ("{} opened in", "The Orla Bridge", "1931"),
        ("{} designed", "Ada Brun", "it"),
        ("{} designed it with", "Ada Brun", "great care"),
    ]


def test_a_server_is_asked_instead_and_what_it_cannot_name_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    said = [Clause("Rovo", "is in", "Peru"), Clause("Rovo", " ", "Peru"), Clause("{}", "is", "x")]
    monkeypatch.setattr(openie, "ask_server", lambda address, text, threshold: said)
    made = OpenStatements(OpenStatements.Params(server="http://localhost:9000"))
    assert [s.filled_prompt for s in made.simplify(make_document())] == ["Rovo is in"]
    assert dict(made.components) == {} and made.identity.startswith("openie@1:")


def test_verb_and_preposition() -> None:
    assert clauses(OPENED) == (Clause("The Orla Bridge", "opened in", "1931"),)


def test_verb_with_object_and_with_object_and_preposition() -> None:
    assert clauses(DESIGNED) == (
        Clause("Ada Brun", "designed", "it"),
        Clause("Ada Brun", "designed it with", "great care"),
    )


def test_copula_and_the_preposition_of_its_noun() -> None:
    copula = sentence(
        ("Rovo", 1, "nsubj", "PROPN"),
        ("is", 1, "ROOT", "AUX"),
        ("a", 3, "det", "DET"),
        ("town", 1, "attr", "NOUN"),
        ("in", 3, "prep", "ADP"),
        ("Peru", 4, "pobj", "PROPN"),
        (".", 1, "punct", "PUNCT"),
    )
    assert clauses(copula) == (Clause("Rovo", "is", "a town in Peru"),)


def test_passive_with_agent_particle_and_a_second_verb_that_shares_the_subject() -> None:
    passive = sentence(
        ("Rovo", 2, "nsubjpass", "PROPN"),
        ("was", 2, "auxpass", "AUX"),
        ("set", 2, "ROOT", "VERB"),
        ("up", 2, "prt", "ADP"),
        ("by", 2, "agent", "ADP"),
        ("Ada", 4, "pobj", "PROPN"),
        ("and", 2, "cc", "CCONJ"),
        ("won", 2, "conj", "VERB"),
        ("prizes", 7, "dobj", "NOUN"),
    )
    assert clauses(passive) == (Clause("Rovo", "was set up by", "Ada"), Clause("Rovo", "won", "prizes"))


def test_apposition_and_a_clause_inside_a_phrase_is_left_out() -> None:
    apposition = sentence(
        ("Ada", 6, "nsubj", "PROPN"),
        (",", 0, "punct", "PUNCT"),
        ("an", 3, "det", "DET"),
        ("engineer", 0, "appos", "NOUN"),
        ("from", 3, "prep", "ADP"),
        ("Rovo", 4, "pobj", "PROPN"),
        ("wrote", 6, "ROOT", "VERB"),
        ("books", 6, "dobj", "NOUN"),
    )
    assert clauses(apposition) == (Clause("Ada", "wrote", "books"), Clause("Ada", "is", "an engineer from Rovo"))


def test_a_pronoun_is_no_subject() -> None:
    pronoun = sentence(("It", 1, "nsubj", "PRON"), ("won", 1, "ROOT", "VERB"), ("prizes", 1, "dobj", "NOUN"))
    assert clauses(pronoun) == ()


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
