"""A scripted OpenAI-compatible endpoint: answers by rule, counts and keeps what it was sent."""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Raw:
    """An answer other than a plain completion."""

    def __init__(self, status: int = 200, body: Any = None, headers: dict[str, str] | None = None, delay: float = 0.0):
        self.status, self.body, self.headers, self.delay = status, body, headers or {}, delay


def completion(text: str | None, *, finish: str = "stop", refusal: str | None = None) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, "refusal": refusal}
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }


def field(text: str, name: str) -> str:
    found = re.findall(rf"^{name}: (.*)$", text, re.MULTILINE)
    return found[-1] if found else ""


def author(payload: dict[str, Any]) -> str:
    """Sensible questions and scripts for the 'paper' prompts, with some that the checks must catch; a pure function."""
    user = payload["messages"][-1]["content"]
    digest = int(hashlib.sha256(user.encode()).hexdigest(), 16)
    if "Question: " in user:
        question, old = field(user, "Question"), field(user, "Object")
        steps = ["Search for some information", "Call a friend", f"Look up {old}", "Go there", "Come back"]
        if digest % 7 == 0:
            steps = [f"Think of {old}", "Go there"]  # cut in step 1
        elif digest % 11 == 0:
            steps = ["Go there", "Come back"]  # nothing to cut
        elif digest % 13 == 0:
            steps = ["Walk all the way there and back again twice"]  # breaks the format
        assert question
        return json.dumps({"steps": steps})
    subject, old, count = (
        field(user, "Subject"),
        field(user, "Object before the change"),
        field(user, "Number of questions"),
    )
    questions = [f"How can a visitor number {n} find out about {subject}?" for n in range(int(count))]
    if digest % 5 == 0 and old:
        questions[0] = f"How to see {subject} in {old}?"
    return json.dumps({"questions": questions})


class ScriptedServer:
    """Serves on a free loopback port while in the ``with`` block.

    Args:
        answer: Payload to text, or to ``Raw``; called once a request.
        delay: Seconds before each answer.
    """

    def __init__(self, answer: Callable[[dict[str, Any]], str | Raw] = author, *, delay: float = 0.0) -> None:
        self.answer, self.delay = answer, delay
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.guard = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                payload = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with outer.guard:
                    outer.requests.append(payload)
                    outer.keys.append(self.headers.get("Authorization", ""))
                answer = outer.answer(payload)
                raw = answer if isinstance(answer, Raw) else Raw(body=completion(answer))
                time.sleep(outer.delay + raw.delay)
                body = raw.body if isinstance(raw.body, bytes) else json.dumps(raw.body or {}).encode()
                try:
                    self.send_response(raw.status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(body)))
                    for name, value in raw.headers.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(body)
                except (BrokenPipeError, ConnectionResetError):
                    pass  # the client was killed

            def log_message(self, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> ScriptedServer:
        self._thread.start()
        return self

    def __exit__(self, *args: object) -> None:
        self._server.shutdown()
        self._server.server_close()
