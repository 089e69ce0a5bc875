"""The command that lists and renders prompts."""

from __future__ import annotations

import json

from click.testing import CliRunner

from construction.cli.prompts import prompts as prompts_command
from construction.prompts.prompt_file import TASKS
from tests.support.facts import make_fact


def test_prompts_command_lists_and_renders(tmp_path):
    runner = CliRunner()
    rows = [json.loads(x) for x in runner.invoke(prompts_command, ["--jsonl"]).output.splitlines()]
    assert {(r["task"], r["profile"]) for r in rows} == {
        *((task, profile) for task in TASKS for profile in ("paper", "local", "embedded")),
        *((f"verify_{task}", "paper") for task in ("question", "prompt", "next")),
    }
    path = tmp_path / "f.jsonl"
    path.write_text(make_fact().model_dump_json() + "\n")
    result = runner.invoke(prompts_command, ["--fact", str(path), "--profile", "paper"])
    assert result.exit_code == 0 and "Object after the change: Oslo" in result.output
    assert "Object: Lima" in result.output.split("scripts_paper@2, user")[-1]
    verifier = result.output.split("== verify_question@1, user")[-1]
    assert "<text>" in verifier and "Lima" in verifier and "verify_prompt@1" in verifier
