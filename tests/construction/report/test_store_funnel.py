"""The yield of a store: counted by hand, beside what a frozen split holds, and as text, JSON and page."""

from __future__ import annotations

import json
import re
from collections import Counter
from html.parser import HTMLParser

import pytest
from click.testing import CliRunner

from construction.authoring.standing import asked_as_edit
from construction.cli.construct import construct
from construction.cli.funnel import funnel
from construction.report.cost import spending
from construction.report.page import page
from construction.report.store_funnel import store_yield
from construction.report.text import text
from curation.rules.release import freeze
from curation.rules.rule import SplitRule
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
    lost, chile, beside = chain(peru, 5, prompt=False), chain(temporal, 1), chain(japan, 1)
    link = Neighbour(key="f/Peru~f/Japan", edit=peru.key, fact=japan.key, how="same_object")
    records = [peru, temporal, japan, link, *sum(chains.values(), ()), *lost, *chile, *beside]
    verdicts = [
        *(asked_as_edit(f, edited=f is not japan) for f in (peru, temporal, japan)),
        said(chains[2][2], "early_cut@2", "unsure"),
        said(chains[3][0], "leak_in_question@1", "drop"),
        said(chains[3][0], "leak_in_question@2", "keep"),  # the newer version counts
        said(chains[3][2], "leak_in_prompt@2", "drop", reason="names <b>Oslo</b>"),
        said(chains[4][2], "leak_in_prompt@2", "drop"),
        said(chains[4][2], "person:ann/filter_question@1", "keep"),  # a person outranks it
        said(lost[1], "no_mention@2", "drop"),
        said(temporal, "fact_dates@1", "unsure", reason="a temporal edit without the date of its change"),
        said(link, "subject_in_neighbour@2", "keep", related=(beside[2].id,)),
    ]
    ask = {"model": "gpt-4o", "made_at": AT, "stage": "scripts", "tokens_in": 1_000_000, "tokens_out": 0}
    lines = [Lineage(item_id=c[1].id, request=f"r{n}", **ask) for n, c in chains.items()]
    lines += [Lineage(item_id=lost[1].id, request="r4", **ask)]  # one reply brought two
    path = tmp_path / "s.duckdb"
    with Store.open(path, create=True) as store:
        store.put([*records, *verdicts], lines)
    return path


def test_counted_by_hand(by_hand):
    found = store_yield(by_hand)
    stages = {s.name.split(" (")[0]: (s.total, s.kept, s.unsure, s.surplus, s.dropped) for s in found.funnel}
    assert stages["edited facts"] == (2, 1, 1, 0, 0)  # the undated one waits although its prompt is kept
    assert stages["neighbour facts"] == (1, 1, 0, 0, 0)
    assert stages["questions"] == (6, 3, 1, 0, 2)
    assert stages["scripts"] == (7, 6, 0, 0, 1)
    assert stages["prompts"] == (6, 4, 1, 0, 1)
    assert stages["neighbour links"] == (1, 1, 0, 0, 0)
    assert {(w.check, w.label): w.count for w in found.reasons} == {
        ("early_cut", "unsure"): 1,
        ("leak_in_prompt", "drop"): 1,
        ("no_mention", "drop"): 1,
        ("fact_dates", "unsure"): 1,
    }
    counterfactual, temporal = found.table
    assert (counterfactual.cases, counterfactual.efficacy, counterfactual.specificity) == (1, 2, 1)
    assert (temporal.cases, temporal.efficacy, temporal.specificity) == (0, 0, 0)
    assert found.steps == {1: 1, 2: 5} and found.early_percent == pytest.approx(100 / 6)
    assert found.filtered_percent == pytest.approx(100 * 2 / 6)
    (wrote,) = found.authors
    assert (wrote.author, wrote.scripts, wrote.kept, wrote.unsure, wrote.dropped) == ("gpt-4o", 5, 2, 1, 2)
    (spent,) = found.spending
    assert (spent.calls, spent.tokens_in) == (4, 4_000_000) and spent.cost is not None


def test_table_1_is_what_a_split_holds(by_hand):
    line = store_yield(by_hand).table[0]
    with Store.open(by_hand, write=True) as store:
        cases = list(freeze(store, "all", SplitRule()).cases)
    assert len(cases) == line.cases and sum(len(c.prompts) for c in cases) == line.efficacy
    assert sum(len(n.prompts) for c in cases for n in c.neighbours) == line.specificity


def test_a_split_that_was_added_is_not_counted(by_hand, tmp_path):
    from curation.loaders.importer import import_split
    from curation.shipped import mini_split

    before = store_yield(by_hand).model_dump()
    import_split(mini_split(), by_hand, origin="mini")
    after = store_yield(by_hand).model_dump()
    assert before.pop("elsewhere") == 0 and after.pop("elsewhere") > 100
    assert after == before


def test_costs_are_by_request():
    def line(request, stage="scripts", cost=None, **detail):
        return Lineage(
            item_id=f"i{request}",
            stage=stage,
            made_at=AT,
            model="m",
            request=request,
            tokens_in=10,
            tokens_out=2,
            cost=cost,
            detail=detail,
        )

    lines = [line("a", cost=1.0), line("a", cost=1.0), line("b", "failed", cost=0.5, of="scripts"), line("c", "verify")]
    scripts, verify = spending(lines)
    assert (scripts.stage, scripts.calls, scripts.failed, scripts.tokens_in, scripts.cost) == ("scripts", 2, 1, 20, 1.5)
    assert (verify.stage, verify.calls, verify.cost) == ("verify", 1, None)  # nobody knows what "m" costs


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
        line += ["--author", "ann", "--author", "bob", "--neighbours", 1, "--json"]
        done = CliRunner().invoke(construct, [str(x) for x in line], env={"OPENAI_API_KEY": "sk-one"})
    assert done.exit_code == 0, done.output
    return folder / "s.duckdb", json.loads(done.stdout.splitlines()[-1])


def test_the_store_says_what_the_run_said(constructed):
    path, funnel = constructed
    found = store_yield(path)
    stages = {s.name.split(" (")[0]: s for s in found.funnel}
    assert stages["prompts"].total == funnel["prompts"] and stages["scripts"].total == funnel["scripts"]
    assert found.steps.get(1, 0) == funnel["early"] > 0
    assert stages["edited facts"].kept == funnel["facts_kept"]
    assert sum(s.calls for s in found.spending) == funnel["calls"]
    assert {a.author: a.scripts for a in found.authors} == {a["author"]: a["scripts"] for a in funnel["authors"]}
    assert Counter(s.stage for s in found.spending) == {"questions": 1, "scripts": 2}
    with Store.open(path, write=True) as store:
        cases = list(freeze(store, "all", SplitRule()).cases)
    line = found.table[0]
    assert (line.cases, line.efficacy) == (len(cases), sum(len(c.prompts) for c in cases)) and cases


class _Outline(HTMLParser):
    """Tags that are open at the end, headings, and the widths of the bars' parts."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: Counter[str] = Counter()
        self.bars: list[float] = []

    def handle_starttag(self, tag, attrs):
        self.seen[tag] += 1
        if tag == "svg":
            self.bars.append(0.0)
        if tag == "rect":
            self.bars[-1] += float(dict(attrs)["width"])
        if tag not in ("meta", "br", "rect", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag != "rect":
            assert self.open.pop() == tag


def test_the_page_is_whole_and_hostile_text_stays_text(constructed):
    html = page(store_yield(constructed[0]))
    outline = _Outline()
    outline.feed(html)
    assert outline.open == [] and outline.seen["script"] == 0 and outline.seen["h1"] == 1
    assert "&lt;/svg&gt;&lt;script&gt;x()" in html
    assert not re.search(r"https?://|src=|@import|url\(", html), "the page fetches nothing"
    assert outline.seen["svg"] >= 6 and all(0 < width <= 100.001 for width in outline.bars if width)
    for figure in ("1,830", "7,342", "13,672", "1,762", "7,038", "6,597", "8.23 %", "6.75 %"):
        assert figure in html, "the paper's figure stands beside ours"


def test_the_command_prints_text_json_and_writes_the_page(constructed, tmp_path):
    path = str(constructed[0])
    told = CliRunner().invoke(funnel, ["--store", path, "--page", str(tmp_path / "y.html")])
    assert told.exit_code == 0, told.output
    assert "edited facts" in told.stdout and "ScEdit-CF, the paper" in told.stdout and "bob" in told.stdout
    assert all(line == line.rstrip("\n") for line in text(store_yield(constructed[0])))
    assert (tmp_path / "y.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    row = json.loads(CliRunner().invoke(funnel, ["--store", path, "--json"]).stdout)
    assert row["table"][0]["paper"] == [1830, 7342, 13672] and row["funnel"][0]["name"] == "edited facts"


def test_prices_of_ones_own(by_hand, tmp_path):
    table = tmp_path / "prices.toml"
    table.write_text("checked = 2026-11-01\n[models.gpt-4o]\ninput = 3.0\noutput = 1.0\n")
    (spent,) = store_yield(by_hand, prices=table).spending
    assert spent.cost == pytest.approx(12.0)


def test_refusals(tmp_path, by_hand):
    with Store.open(tmp_path / "empty.duckdb", create=True) as store:
        store.put([make_fact()])
    for line, words in (
        (["--store", str(tmp_path / "empty.duckdb")], "there is no construction in the store"),
        (["--store", str(tmp_path / "none.duckdb")], "none.duckdb"),
        (["--store", str(by_hand), "--page", str(tmp_path / "no" / "y.html")], "cannot be written"),
    ):
        done = CliRunner().invoke(funnel, line)
        assert done.exit_code == 1 and words in str(done.exception)
