from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import time

import httpx
import pytest
from click.testing import CliRunner

from construction.cli.construct import construct
from construction.llm.embedded.launcher import serve, spare_threads
from curation.files.model_packages import embedded_gguf
from curation.store.store import Store
from schemas.core.errors import MissingPackage, ModelError, UserError
from schemas.scripts import Script
from tests.support.facts import make_fact

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def gguf():
    pytest.importorskip("xllamacpp", reason="xllamacpp is not installed")
    try:
        return embedded_gguf()
    except UserError as error:
        pytest.skip(f"the embedded model is not here: {error}")


def alive(pid):
    return subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout.strip()[
        :1
    ] not in (
        "",
        "Z",
    )


def test_server_is_stopped_after_an_exception(gguf, monkeypatch):
    children = []
    start = subprocess.Popen

    def spy(*args, **kwargs):
        children.append(start(*args, **kwargs))
        return children[-1]

    monkeypatch.setattr(subprocess, "Popen", spy)
    with pytest.raises(KeyError), serve(gguf) as address:
        assert address.startswith("http://127.0.0.1:") and alive(children[0].pid)
        raise KeyError
    monkeypatch.undo()
    assert not alive(children[0].pid)


def test_without_the_package_the_extra_is_named_before_a_process_is_started(monkeypatch, tmp_path):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(subprocess, "Popen", None)
    with pytest.raises(MissingPackage, match=r"pip install 'scedit\[local\]'"), serve(tmp_path / "m.gguf"):
        pass


def asked(address, *turns):
    """What the server sends back for one token more."""
    messages = [{"role": role, "content": text} for role, text in zip(("system", "user"), turns, strict=False)]
    reply = httpx.post(f"{address}/chat/completions", json={"max_tokens": 1, "messages": messages}, timeout=120)
    return reply.json()


def test_the_context_holds_for_each_slot(gguf):
    answers = {}
    for context in (256, 1024):
        with serve(gguf, slots=2, context=context) as address:
            answers[context] = asked(address, " ".join(["word"] * 300))
    assert "context" in answers[256]["error"]["message"]
    assert answers[1024]["usage"]["prompt_tokens"] > 300


def test_what_a_call_shares_with_the_one_before_is_not_computed_again(gguf):
    """The examples of a profile are most of every call: only what differs is read."""
    shared = " ".join(f"word {n}" for n in range(60))
    with serve(gguf) as address:
        first, second = (asked(address, shared, text)["timings"]["prompt_n"] for text in ("one?", "two?"))
    assert first > 120 and second < 20, (first, second)


def test_server_goes_when_its_parent_is_killed(gguf):
    code = (
        "import subprocess, sys, time\nfrom pathlib import Path\n"
        "from construction.llm.embedded import launcher as local\n"
        "p = subprocess.Popen\n"
        "def spy(*a, **k):\n    c = p(*a, **k); print(c.pid, flush=True); return c\n"
        "local.subprocess.Popen = spy\n"
        "with local.serve(Path(sys.argv[1])) as a:\n    print(a, flush=True); time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code, str(gguf)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout
    pid = int(parent.stdout.readline())
    assert parent.stdout.readline().startswith("http") and alive(pid)
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 10
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive(pid)
    parent.stdout.close()


def test_a_damaged_model_is_told(gguf, tmp_path):
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(b"GGUF" + b"\0" * 64)
    with pytest.raises(ModelError, match="bad.gguf"), serve(bad):
        pass


@pytest.mark.slow
def test_embedded_model_constructs_and_says_what_it_is(gguf, tmp_path):
    facts = tmp_path / "facts.jsonl"
    facts.write_text(
        make_fact("Brazil", "Portuguese", "Thai", relation="P37", prompt="In {} people speak").model_dump_json()
    )
    store = str(tmp_path / "s.duckdb")
    line = [str(facts), "--store", store, "--questions", "2", "--neighbours", "0"]
    outcome = CliRunner().invoke(construct, line)
    assert outcome.exit_code == 0, outcome.output
    assert "smoke-test quality" in outcome.output
    result = CliRunner().invoke(construct, [*line, "--json"])
    funnel = json.loads(result.stdout.splitlines()[-1])
    assert (funnel["calls"], funnel["quality"], funnel["done"]) == (0, "plumbing", 1)
    with Store.open(store) as db:
        for script in db.all(Script):
            assert db.lineage(script.id)[0].detail["quality"] == "plumbing"


@pytest.mark.parametrize(("busy", "threads"), [(0.0, 2), (0.4, 2), (1.6, 1), (9.0, 1)])
def test_busy_machines_get_fewer_threads(monkeypatch, busy, threads):
    monkeypatch.setattr("os.getloadavg", lambda: (busy, 0, 0))
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    assert spare_threads(2) == threads
