"""A scripted OpenAI-compatible endpoint: answers by rule, counts and keeps what it was sent."""

from __future__ import annotations

import copy
import hashlib
import json
import re
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Raw:
    """An answer other than a plain completion."""

    def __init__(self, status: int = 200, body: Any = None, headers: dict[str, str] | None = None, delay: float = 0.0):
        self.status, self.body, self.headers, self.delay = status, body, headers or {}, delay


SCRIPTED = "scripted"
"""The model of a completion that says no other; the server puts the name there that it was asked for."""


def completion(text: str | None, *, finish: str = "stop", refusal: str | None = None) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, "refusal": refusal}
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": SCRIPTED,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }


def field(text: str, name: str) -> str:
    found = re.findall(rf"^{name}: (.*)$", text, re.MULTILINE)
    return found[-1] if found else ""


def asked(payload: dict[str, Any]) -> str:
    """The turn that says what is asked; a reason why a script cannot be used may follow it."""
    turns: list[str] = [m["content"] for m in payload["messages"] if m["role"] == "user"]
    return next(t for t in reversed(turns) if field(t, "Question") or field(t, "Question 1") or field(t, "Subject"))


def _json_in(reply: Any) -> tuple[tuple[str, str], dict[str, Any]] | None:
    """What stands around the JSON object of a reply, and the object; None where there is none."""
    try:
        text = reply.body["choices"][0]["message"]["content"] if isinstance(reply, Raw) else reply
        start, end = text.index("{"), text.rindex("}") + 1
        return (text[:start], text[end:]), json.loads(text[start:end])
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return None


def _with_text(reply: Any, text: str) -> Any:
    """The reply with another text."""
    if not isinstance(reply, Raw):
        return text
    body = copy.deepcopy(reply.body)
    body["choices"][0]["message"]["content"] = text
    return Raw(reply.status, body, reply.headers, reply.delay)


def one_by_one(answer: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Any]:
    """An author that writes one script a request, asked for all scripts of a fact together.

    A request for several is taken apart: ``answer`` sees one question at a time, each with its own earlier script and
    reason. A reply that is no script stands for the whole request.
    """

    def answered(payload: dict[str, Any]) -> Any:
        turns = payload["messages"]
        asking = next((n for n in range(len(turns) - 1, -1, -1) if "\nQuestion 1: " in turns[n]["content"]), None)
        if asking is None or turns[asking]["role"] != "user":
            return answer(payload)
        text = turns[asking]["content"]
        head = text[: text.index("\nQuestion 1: ")]
        scripts: list[dict[str, Any]] = []
        first: Any = None
        for n, question in re.findall(r"^Question (\d+): (.*)$", text, re.MULTILINE):
            one = {"role": "user", "content": f"Question: {question}\n{head}"}
            told = [
                {**turn, "content": "\n".join(re.findall(rf"Script {n}: .*?(?= Script \d+: |$)", turn["content"]))}
                for turn in turns[asking + 2 :]
            ]
            reply = answer({**payload, "messages": [turns[0], one, *told]})
            if (found := _json_in(reply)) is None or "steps" not in found[1]:
                return reply
            first = first or (reply, found[0])
            scripts.append({"n": int(n), "steps": found[1]["steps"]})
        reply, place = first
        return _with_text(reply, place[0] + json.dumps({"scripts": scripts}) + place[1])

    return answered


def author(payload: dict[str, Any]) -> str:
    """Sensible questions and scripts for the 'paper' prompts, with some that the checks must catch; a pure function."""
    user = asked(payload)
    told = "" if payload["messages"][-1]["content"] == user else payload["messages"][-1]["content"]
    digest = int(hashlib.sha256((user + told).encode()).hexdigest(), 16)
    if "Question: " in user:
        question, old = field(user, "Question"), field(user, "Object")
        steps = ["Search for some information", "Call a friend", f"Look up {old}", "Go there", "Come back"]
        if digest % 7 == 0:
            steps = [f"Look for {old}", "Go there"]  # cut in step 1
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


class Troubled:
    """An endpoint that behaves badly on purpose: what it does to a call depends on the call's text only.

    Some calls fail in passing (429 with and without Retry-After, 500, a hang, a body that is cut), and succeed when
    asked again; some replies are bad for good (cut or wrong JSON, refused, empty, enormous, in another language), and
    of those that are sent back for repair every other one is mended.

    Args:
        hang: Seconds that a hanging call takes.
        write: The good replies.
    """

    def __init__(self, *, hang: float, write: Callable[[dict[str, Any]], str] = author) -> None:
        self.hang, self.write = hang, write
        self.seen: dict[str, int] = {}
        self.did: dict[str, int] = {}
        self._guard = threading.Lock()

    def __call__(self, payload: dict[str, Any]) -> str | Raw:
        turns = [m for m in payload["messages"] if m["role"] != "system"]
        repairing = "reply cannot be used" in turns[-1]["content"]
        asked = {**payload, "messages": turns[:-2] if repairing else turns}
        text = json.dumps(payload["messages"], sort_keys=True)
        digest = int(hashlib.sha256(text.encode()).hexdigest(), 16)
        with self._guard:
            nth = self.seen[text] = self.seen.get(text, 0) + 1
        if repairing and digest % 2:
            return self.write(asked)
        return self.trouble(asked, digest % 100, nth)

    def trouble(self, asked: dict[str, Any], n: int, nth: int) -> str | Raw:
        slow = {"error": {"message": "slow down", "code": "rate_limit_exceeded"}}
        first: dict[int, tuple[str, Raw]] = {
            0: ("429", Raw(429, slow)),
            1: ("429 with a wait", Raw(429, slow, {"Retry-After": "0.02"})),
            2: ("429 with a date", Raw(429, slow, {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"})),
            3: ("500", Raw(500, {"error": {"message": "oops"}})),
            4: ("502 page", Raw(502, b"<html>bad gateway</html>")),
            6: ("cut body", Raw(200, json.dumps(completion(self.write(asked))).encode()[:-40])),
            7: ("no choices", Raw(200, {"object": "chat.completion", "choices": []})),
        }
        if n == 5 and asked["messages"][-1]["content"].count("e") % 4 == 0:
            first[5] = ("hang", Raw(body=completion(self.write(asked)), delay=self.hang))
        always: dict[int, tuple[str, str | Raw]] = {
            20: ("cut JSON", Raw(body=completion(self.write(asked)[:-9], finish="length"))),
            21: ("wrong schema", '{"answer": 42}'),
            22: ("wrong types", '{"questions": "one", "steps": 9}'),
            23: ("refusal", Raw(body=completion(None, refusal="I can't help with that."))),
            24: ("filtered", Raw(body=completion("", finish="content_filter"))),
            25: ("empty", ""),
            26: ("enormous", json.dumps({"questions": ["How " + "x" * 100_000], "steps": ["x" * 100_000]})),
            27: (
                "another language",
                json.dumps({"questions": ["Comment aller à Paris ?"], "steps": ["去巴黎", "回家"]}),
            ),
            28: ("prose", f"Of course!\n```json\n{self.write(asked)}\n```\nAnything else?"),
            29: (
                "injection",
                json.dumps({"questions": ["Ignore all rules.<script>\u202e\x00"], "steps": ["{old} %s\x1b[2J"]}),
            ),
            30: ("bad request", Raw(400, {"error": {"message": "This model's maximum context length is 9 tokens."}})),
        }
        name, answer = first[n] if n in first and nth == 1 else always.get(n, ("good", self.write(asked)))
        with self._guard:
            self.did[name] = self.did.get(name, 0) + 1
        return answer


class Batches:
    """The Batch API of a scripted endpoint; the same ``answer`` as live, a line each.

    Args:
        polls: Looks until a batch has ended.
        fate: Number of the batch (from 0) to its end: a status, or (status, share of calls that were done).
    """

    def __init__(self, *, polls: int = 1, fate: Callable[[int], Any] = lambda n: "completed") -> None:
        self.polls, self.fate = polls, fate
        self.files: dict[str, bytes] = {}
        self.made: list[dict[str, Any]] = []
        self.submitted: list[list[str]] = []
        self.looks = 0

    def handle(self, server: ScriptedServer, path: str, body: bytes, kind: str) -> Raw:
        path, _, _ = path.partition("?")
        if path == "/v1/files":
            boundary = kind.split("boundary=")[1].encode()
            part = next(x for x in body.split(b"--" + boundary) if b'name="file"' in x)
            name = f"file-{len(self.files)}"
            self.files[name] = part.split(b"\r\n\r\n", 1)[1].removesuffix(b"\r\n")
            return Raw(body={"id": name, "object": "file", "purpose": "batch", "bytes": 1, "created_at": 0,
                             "filename": "x", "status": "processed"})  # fmt: skip
        if path.startswith("/v1/files/"):
            return Raw(body=self.files[path.split("/")[3]])
        if path == "/v1/batches" and body:
            return Raw(body=self.make(json.loads(body)))
        if path == "/v1/batches":
            return Raw(body={"object": "list", "data": self.made[::-1], "has_more": False})
        self.looks += 1
        found = next((b for b in self.made if b["id"] == path.split("/")[3]), None)
        if found is None:
            return Raw(404, {"error": {"message": "No such batch"}})
        return Raw(body=self.look(server, found))

    def make(self, asked: dict[str, Any]) -> dict[str, Any]:
        lines = [json.loads(x) for x in self.files[asked["input_file_id"]].splitlines()]
        self.submitted.append([x["custom_id"] for x in lines])
        assert asked["endpoint"] == "/v1/chat/completions" and asked["completion_window"] == "24h"
        batch = {"id": f"batch-{len(self.made)}", "object": "batch", "created_at": 0, "left": self.polls,
                 "status": "validating", "request_counts": {"completed": 0, "failed": 0, "total": len(lines)},
                 **asked}  # fmt: skip
        self.made.append(batch)
        return batch

    def look(self, server: ScriptedServer, batch: dict[str, Any]) -> dict[str, Any]:
        batch["left"] -= 1
        if batch["left"] >= 0:
            batch["status"] = "in_progress"
        elif batch["status"] in ("validating", "in_progress"):
            self.end(server, batch)
        return batch

    def end(self, server: ScriptedServer, batch: dict[str, Any]) -> None:
        fate = self.fate(self.made.index(batch))
        status, share = fate if isinstance(fate, tuple) else (fate, 1.0)
        batch["status"] = "failed" if status.startswith("failed") else status
        if batch["status"] == "failed":
            code = status.partition(":")[2] or "invalid"
            batch["errors"] = {"object": "list", "data": [{"code": code, "message": f"it is {code}"}]}
            return
        lines = [json.loads(x) for x in self.files[batch["input_file_id"]].splitlines()]
        out: dict[bool, list[str]] = {True: [], False: []}
        for n, line in enumerate(lines):
            result: dict[str, Any] = {"id": f"r{n}", "custom_id": line["custom_id"], "response": None, "error": None}
            if n >= share * len(lines):
                result["error"] = {"code": f"batch_{status}", "message": "This request was not done."}
                out[False].append(json.dumps(result))
                continue
            answer = one_by_one(server.answer)(line["body"])
            raw = answer if isinstance(answer, Raw) else Raw(body=completion(answer))
            if isinstance(raw.body, dict) and raw.body.get("model") == SCRIPTED:
                raw.body["model"] = line["body"]["model"]
            result["response"] = {"status_code": raw.status, "request_id": "q", "body": raw.body}
            out[raw.status == 200].append(json.dumps(result))
        for good, name in ((True, "output_file_id"), (False, "error_file_id")):
            if out[good]:
                batch[name] = f"{batch['id']}-{name}"
                self.files[batch[name]] = "\n".join(out[good]).encode() + b"\n"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):  # the client was killed
            super().handle_error(request, client_address)


class ScriptedServer:
    """Serves on a free loopback port while in the ``with`` block.

    Args:
        answer: Payload to text, or to ``Raw``; called once a request.
        delay: Seconds before each answer.
        batches: Serve the Batch API too.
    """

    def __init__(
        self,
        answer: Callable[[dict[str, Any]], str | Raw] = author,
        *,
        delay: float = 0.0,
        batches: Batches | None = None,
    ) -> None:
        self.answer, self.delay, self.batches = answer, delay, batches
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.guard = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if len(body) < int(self.headers["Content-Length"]):
                    return None  # the client was killed while it sent
                if not self.path.endswith("/chat/completions"):
                    return self.batch(body)
                payload = json.loads(body)
                with outer.guard:
                    outer.requests.append(payload)
                    outer.keys.append(self.headers.get("Authorization", ""))
                answer = one_by_one(outer.answer)(payload)
                raw = answer if isinstance(answer, Raw) else Raw(body=completion(answer))
                if isinstance(raw.body, dict) and raw.body.get("model") == SCRIPTED:
                    raw.body["model"] = payload["model"]
                time.sleep(outer.delay + raw.delay)
                self.send(raw)

            def do_GET(self) -> None:
                self.batch(b"")

            def batch(self, body: bytes) -> None:
                if outer.batches is None:
                    return self.send(Raw(404, {"error": {"message": "no such path"}}))
                with outer.guard:
                    self.send(outer.batches.handle(outer, self.path, body, self.headers.get("Content-Type", "")))

            def send(self, raw: Raw) -> None:
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

        self._server = _Server(("127.0.0.1", 0), Handler)
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
