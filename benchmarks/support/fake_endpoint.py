"""A scripted endpoint with a given latency, for benchmarks: python -m benchmarks.fake_endpoint SECONDS."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

STEPS = ["Search for some information", "Call a friend", "Pack a bag", "Travel to {old}", "Meet a guide", "Come back"]


def answer(payload: dict[str, Any]) -> str:
    """Questions or a script, as the prompts for capable models ask for them."""
    text = payload["messages"][-1]["content"]
    fields = dict(re.findall(r"^(Subject|Object|Number of questions): (.*)$", text, re.MULTILINE))
    if numbers := re.findall(r"^Question (\d+): ", text, re.MULTILINE):
        steps = [s.format(old=fields.get("Object", "it")) for s in STEPS]
        return json.dumps({"scripts": [{"n": int(n), "steps": steps} for n in numbers]})
    count = int(fields.get("Number of questions", 1))
    questions = [f"How can a visitor number {n} find {fields.get('Subject', 'it')}?" for n in range(count)]
    return json.dumps({"questions": questions})


class Chat(asyncio.Protocol):
    """Just enough HTTP: keeps connections, answers each request after the latency."""

    latency = 0.5

    def connection_made(self, transport: Any) -> None:
        self.transport, self.data = transport, b""

    def data_received(self, data: bytes) -> None:
        self.data += data
        head, head_end, rest = self.data.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
        if not head_end or length is None or len(rest) < int(length[1]):
            return
        body, self.data = rest[: int(length[1])], rest[int(length[1]) :]
        asyncio.get_running_loop().call_later(self.latency, self.reply, json.loads(body))

    def reply(self, payload: dict[str, Any]) -> None:
        message = {"role": "assistant", "content": answer(payload), "refusal": None}
        body = json.dumps({
            "id": "x", "object": "chat.completion", "created": 0, "model": payload["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 700, "completion_tokens": 90, "total_tokens": 790},
        }).encode()  # fmt: skip
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        if not self.transport.is_closing():
            self.transport.write(head.encode() + body)


async def main(latency: float) -> None:
    Chat.latency = latency
    server = await asyncio.get_running_loop().create_server(Chat, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def serving(latency: float) -> Iterator[str]:
    """The endpoint in a process of its own; its address."""
    process = subprocess.Popen([sys.executable, "-m", __name__, str(latency)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1])))
