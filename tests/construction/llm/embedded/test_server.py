"""The server process of a model file, with a library that only says where it listens."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ROOT

LIBRARY = """
import json, os, types
class CommonParams:
    def __init__(self):
        self.model, self.cpuparams = types.SimpleNamespace(path=None), types.SimpleNamespace(n_threads=0)
        self.cpuparams_batch = types.SimpleNamespace(n_threads=0)
class Server:
    listening_address = "http://127.0.0.1:4242"
    def __init__(self, params):
        if not os.path.exists(params.model.path):
            raise RuntimeError("failed to load model")
        flat = {k: v for k, v in vars(params).items() if not isinstance(v, types.SimpleNamespace)}
        flat |= {"path": params.model.path, "threads": params.cpuparams.n_threads, "pid": os.getpid()}
        flat |= {"batch_threads": params.cpuparams_batch.n_threads}
        open(os.environ["SEEN"], "w").write(json.dumps(flat))
"""


@pytest.fixture
def start(tmp_path):
    """Starts the server over a library of ours; gives the process."""
    (tmp_path / "xllamacpp.py").write_text(LIBRARY)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)]), "SEEN": str(tmp_path / "seen")}
    children = []

    def run(path: Path, *numbers: int):
        command = [sys.executable, "-m", "construction.llm.embedded.server", str(path), *map(str, numbers)]
        children.append(
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
        )
        return children[-1]

    yield run
    for child in children:
        child.kill()
        child.communicate()


def test_it_says_its_address_in_one_line_and_goes_when_its_input_closes(start, tmp_path):
    model = tmp_path / "a model.gguf"
    model.touch()
    child = start(model, 2, 3, 1024)
    assert json.loads(child.stdout.readline()) == {"address": "http://127.0.0.1:4242"}
    assert child.poll() is None, "it stays as long as its parent"
    child.stdin.write(b"more than nothing\n" * 1000)
    child.stdin.flush()
    assert child.poll() is None, "what is written to it is no end"
    out, _ = child.communicate(timeout=30)
    assert (child.returncode, out) == (0, b"")


def test_it_listens_on_this_machine_only_with_a_context_for_every_slot(start, tmp_path):
    model = tmp_path / "m.gguf"
    model.touch()
    child = start(model, 2, 3, 1024)
    child.stdout.readline()
    data = json.loads((tmp_path / "seen").read_text())
    assert (data["hostnames"], data["port"]) == (["127.0.0.1"], 0)
    assert (data["n_parallel"], data["n_ctx"]) == (3, 3 * 1024)
    assert data["cache_prompt"] is True
    assert (data["threads"], data["batch_threads"], data["path"]) == (2, 2, str(model))


def test_a_model_that_does_not_load_ends_it_with_the_reason_and_no_address(start, tmp_path):
    child = start(tmp_path / "nowhere.gguf", 1, 1, 1024)
    out, error = child.communicate(timeout=30)
    assert child.returncode != 0 and out == b"" and error.decode().strip().endswith("failed to load model")
