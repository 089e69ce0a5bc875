"""A store counted by hand."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from construction.authoring.outcome import asked_as_edit
from construction.cli.construct import construct
from curation.store.store import Store
from schemas.facts import Neighbour
from schemas.lineage import Lineage
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from schemas.verdicts import Verdict, verdict_key
from tests.support.facts import make_fact
from tests.support.scripted_server import ScriptedServer, author, field

AT = "2026-11-21T00:00:00+00:00"


def said(item, by, label, *, reason="because", related=(), model=None):
    key = verdict_key(item_id=item.id, by=by, related=related, model=model)
    return Verdict(key=key, item_id=item.id, by=by, label=label, reason=reason, related=related, model=model)


def chain(fact, number, *, step=2, prompt=True):
    """Question, script and prompt of a fact."""
    question = ScriptQuestion(key=f"{fact.key}/q{number}", fact=fact.key, text=f"How to go to {fact.subject.text}?")
    script = Script(key=f"{question.key}/s", question=question.key, steps=("Pack a bag", f"Fly to {fact.old.text}"))
    body = f"{question.text}\nStep 1: Pack a bag\nStep 2: Fly to"
    cut = ScriptPrompt(
        key=f"{script.key}/p",
        fact=fact.key,
        question=question.key,
        script=script.key,
        text=body,
        offset=len(body) + 1,
        step=step,
        targets=(fact.old.text,),
    )
    return (question, script, cut) if prompt else (question, script)


@pytest.fixture
def by_hand(tmp_path):
    """Two edits and a neighbour fact; each question but the first of Peru has something against it."""
    peru, temporal = make_fact(), make_fact("Chile", "A", "B").model_copy(update={"change": "temporal"})
    japan = make_fact("Japan", "Lima", None)
    chains = {n: chain(peru, n, step=1 if n == 2 else 2) for n in (1, 2, 3, 4)}
    reduced_chain, chile, neighbour = chain(peru, 5, prompt=False), chain(temporal, 1), chain(japan, 1)
    link = Neighbour(key="f/Peru~f/Japan", edit=peru.key, fact=japan.key, how="same_object")
    records = [peru, temporal, japan, link, *sum(chains.values(), ()), *reduced_chain, *chile, *neighbour]
    verdicts = [
        *(asked_as_edit(f, edited=f is not japan) for f in (peru, temporal, japan)),
        said(chains[2][2], "early_cut@2", "unsure"),
        said(chains[3][0], "leak_in_question@1", "drop"),
        said(chains[3][0], "leak_in_question@2", "keep"),  # the newer version counts
        said(chains[3][2], "leak_in_prompt@2", "drop", reason="names <b>Oslo</b>"),
        said(chains[4][2], "leak_in_prompt@2", "drop"),
        said(chains[4][2], "person:ann/filter_question@1", "keep"),  # a person outranks it
        said(reduced_chain[1], "no_mention@2", "drop"),
        said(temporal, "fact_dates@1", "unsure", reason="a temporal edit without the date of its change"),
        said(link, "subject_in_neighbour@2", "keep", related=(neighbour[2].id,)),
    ]
    ask = {"model": "gpt-4o", "made_at": AT, "stage": "scripts", "tokens_in": 1_000_000, "tokens_out": 0}
    lines = [Lineage(item_id=c[1].id, request=f"r{n}", **ask) for n, c in chains.items()]
    lines += [Lineage(item_id=reduced_chain[1].id, request="r4", **ask)]  # one reply brought two
    path = tmp_path / "s.duckdb"
    with Store.open(path, create=True) as store:
        store.put([*records, *verdicts], lines)
    return path


def variants(payload):
    """A question that leaks, one without a place to cut, one cut in step 1; scripts that name their model."""
    user = payload["messages"][-1]["content"]
    if "Question: " not in user:
        return author(payload)
    old = field(user, "Object")
    steps = ["Pack a bag", f"Fly to {old}", f"Thank {payload['model']}"]
    return json.dumps({"steps": [f"Fly to {old}"] if payload["model"] == "bob" else steps})


@pytest.fixture(scope="module")
def constructed(tmp_path_factory):
    """A store that the command filled, with two authors and hostile names."""
    folder = tmp_path_factory.mktemp("yield")
    facts = [
        make_fact(),
        make_fact("Japan", "Tokyo", "Rome"),
        make_fact("</svg><script>x()", "Lima", "Oslo", key="f/0"),
    ]
    (folder / "facts.jsonl").write_text("".join(f.model_dump_json() + "\n" for f in facts))
    with ScriptedServer(variants) as server:
        line = [
            folder / "facts.jsonl",
            "--store",
            folder / "s.duckdb",
            "--model",
            "gpt-4o-mini",
            "--base-url",
            server.url,
        ]
        line += ["--author", "ann", "--author", "bob", "--neighbours", 1, "--no-verify", "--json"]
        result = CliRunner().invoke(construct, [str(x) for x in line], env={"OPENAI_API_KEY": "sk-one"})
    assert result.exit_code == 0, result.output
    return folder / "s.duckdb", json.loads(result.stdout.splitlines()[-1])
