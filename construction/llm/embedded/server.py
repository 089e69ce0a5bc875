"""The server process of a model file: ``python -m construction.llm.embedded.server FILE THREADS SLOTS CONTEXT``.

It prints its address as one JSON line and then waits. The parent holds the other end of its standard input: when the
parent ends, however it ends, the input closes and this process goes too, so no server is ever left behind.
"""

from __future__ import annotations

import json
import os
import sys


def main(path: str, threads: int, slots: int, context: int) -> None:
    """Serve a GGUF file on a free port of the loopback address until standard input closes.

    Args:
        path: The file.
        threads: Processor threads.
        slots: Calls served at once.
        context: Tokens of prompt and reply together, a slot.
    """
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = path
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_parallel = slots
    params.n_ctx = context * slots
    params.cache_prompt = True  # what a call shares with its slot's last one is not computed again
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.verbosity = 0
    params.ui = False
    server = xllamacpp.Server(params)
    sys.stdout.write(json.dumps({"address": server.listening_address}) + "\n")
    sys.stdout.flush()
    while sys.stdin.buffer.read(4096):
        pass
    os._exit(0)  # nothing to save; the library's own shutdown waits for calls in flight


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
