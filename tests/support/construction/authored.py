"""Construction with several authors."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from construction.cli.construct import construct
from tests.support.facts import make_fact, write_facts
from tests.support.scripted_server import asked, field

THEMES = ("cook a soup of", "send a parcel to", "learn the anthem of", "rent a house in", "vote in", "study law in")


def many(payload):
    """A number of questions, two of them alike and one that leaks; scripts that name their model."""
    user, model = asked(payload), payload["model"]
    if "Question: " in user:
        question, old = field(user, "Question"), field(user, "Object")
        steps = ["Look for a friend", f"Ask for {old}", f"Thank {model}"]
        return json.dumps({"steps": ["Go there"] if "rent a house" in question else steps})
    subject, old = field(user, "Subject"), field(user, "Object before the change") or field(user, "Object")
    texts = [f"How to cook a nice soup of {subject}?", f"How to see {old} in {subject}?"]
    texts += [f"How to {theme} {subject}?" for theme in THEMES]
    return json.dumps({"questions": texts[: int(field(user, "Number of questions"))]})


@pytest.fixture
def facts(tmp_path):
    return write_facts(tmp_path / "facts.jsonl", (make_fact(), make_fact("Japan", "Tokyo", "Rome")))


def run(facts, folder, server, *more, code=0):
    folder.mkdir(exist_ok=True)
    line = [
        facts,
        "--store",
        folder / "s.duckdb",
        "--model",
        "m",
        "--base-url",
        server.url,
        "--neighbours",
        0,
        "--json",
        *(() if "--verify" in more else ("--no-verify",)),
    ]
    result = CliRunner().invoke(construct, [str(x) for x in (*line, *more)], env={"OPENAI_API_KEY": "sk-one"})
    assert result.exit_code == code, result.output
    return json.loads(result.stdout.splitlines()[-1]) if code == 0 else result.stderr
