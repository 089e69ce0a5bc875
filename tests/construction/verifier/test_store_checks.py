"""The verifier over a store."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner

from benchmarks.checks.leak_benchmark import leak_prompts
from construction.authoring.outcome import asked_as_edit
from construction.prompts.prompt_file import FILES
from construction.verifier.steps import read_verdict
from curation.checks.store_checks import STORE_CHECKS, CheckContext
from curation.cli.check import check as check_command
from curation.rules.release import freeze
from curation.rules.rule import SplitRule
from curation.store.store import Store
from schemas.core.errors import UserError
from schemas.scripts import ScriptQuestion
from tests.support.construction.verified import FACT, PROMPT, TEXT, readings
from tests.support.scripted_server import ScriptedServer


def oracle(payload):
    """Quotes the labelled words, knowing the labels: the pipeline from the set to the score is right."""
    user = payload["messages"][-1]["content"]
    texts = re.findall(r"<text>\n(.*?)\n</text>", user, re.DOTALL)
    known = {p.prompt: p.words.text for p in leak_prompts() if p.words}
    said = {"why": "", "needed": "yes", "same": "yes"}
    rows = [{"n": n, **said, "quotes": [known[t]] if t in known else []} for n, t in enumerate(texts, 1)]
    return json.dumps({"readings": rows})


def test_a_perfect_verifier_scores_perfectly_over_a_store(tmp_path):
    """Through ``scedit store check``: due items, endpoint, verdicts, lineage, and nothing asked twice."""
    prompts = leak_prompts("test")[:10]
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put({r.key: r for p in prompts for r in (p.fact, p.script_question, p.script_prompt)}.values())
    with ScriptedServer(oracle) as server:
        line = ["verify_prompt", "--store", str(tmp_path / "s.duckdb"), "--model", "gpt-x", "--jsonl"]
        line += ["--set", f"verify_prompt.base_url={server.url}", "--set", "verify_prompt.key_name=SCEDIT_NO_KEY"]
        dry = CliRunner().invoke(check_command, [*line, "--dry-run"])
        assert dry.exit_code == 0, dry.output
        assert json.loads(dry.stdout)["cost"]["calls"] == 5 and not server.requests
        outcome = CliRunner().invoke(check_command, line)
        assert outcome.exit_code == 0, outcome.output
        count = len(server.requests)
        result = CliRunner().invoke(check_command, [*line, "--again"])
        assert result.exit_code == 0 and len(server.requests) == count, "the journal answers"
        dry = CliRunner().invoke(check_command, [*line, "--again", "--dry-run"])
        assert json.loads(dry.stdout)["cost"]["calls"] == 0, "and a dry run counts none"
    assert json.loads(outcome.stdout)["labels"] == {"drop": 5, "keep": 5}
    with Store.open(tmp_path / "s.duckdb") as store:
        verdicts = {v.item_id: v for v in store.verdicts() if v.check == "verify_prompt"}
        for p in prompts:
            verdict = verdicts[p.script_prompt.id]
            assert verdict.label == ("drop" if p.label == "leak" else "keep")
            assert [s.text for s in verdict.spans] == ([p.words.text] if p.words else [])
            (line,) = store.lineage(verdict.id)
            assert line.prompt == "verify_prompt@3"
            assert line.detail["wording"] == FILES.load("verify_prompt", "paper").digest


def test_a_prompt_without_its_fact_stays_due(tmp_path):
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put([PROMPT])
        check = STORE_CHECKS.get("verify_prompt")()
        assert check.asks([PROMPT], CheckContext(store)) == []


def test_a_verifier_on_this_machine_takes_room_and_threads(tmp_path):
    """``--set verify_prompt.threads=1`` reaches the server of a model file; an endpoint has no such setting."""
    from curation.checks.store_checks import make_checks
    from schemas.core.errors import UserError

    settings = {"verify_prompt": {"context": 1024, "threads": 1}}
    (check,) = make_checks(["verify_prompt"], models=["embedded"], options=settings)
    assert (check.access.context, check.access.threads) == (1024, 1)
    (remote,) = make_checks(["verify_prompt"], models=["gpt-x"], options=settings)
    with pytest.raises(UserError) as error:
        remote.access.check()
    assert "--context" in str(error.value) or "--threads" in str(error.value)


def cases(store, name, **options):
    """Cases of a frozen split; none where there would be none."""
    try:
        return len(freeze(store, name, SplitRule(**options)).cases)
    except UserError as error:
        assert "prompt: held by read: 1" in str(error)
        return 0


def test_what_was_written_offline_is_unsure_until_somebody_reads_it(tmp_path):
    """Nothing is frozen, then a model reads the cut and the case is there; a reply that says nothing reads nothing."""
    path, fact = tmp_path / "s.duckdb", FACT
    question = ScriptQuestion(key="q", fact=fact.key, text=TEXT.split("\n")[0])
    prompt = PROMPT.model_copy(update={"question": "q"})
    with Store.open(path, create=True) as store:
        store.put([fact, question, prompt, asked_as_edit(fact, edited=True), read_verdict(prompt.id)])
        assert cases(store, "a") == 0 and cases(store, "b", ignore=("read",)) == 1
    line = ["verify_prompt", "--store", str(path), "--model", "gpt-x", "--again"]
    for name, reply, n in (("c", "nothing", 0), ("d", None, 1)):
        with ScriptedServer(lambda p, reply=reply: reply or readings(p)) as server:
            more = [f"base_url={server.url}", "key_name=SCEDIT_NO_KEY", f"journal={tmp_path / name}"]
            options = [part for setting in more for part in ("--set", f"verify_prompt.{setting}")]
            assert CliRunner().invoke(check_command, [*line, *options]).exit_code == 0
        with Store.open(path, write=True) as store:
            assert cases(store, name) == n
