"""A store counted by hand."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest
from click.testing import CliRunner

from construction.authoring.outcome import asked_as_edit
from construction.cli.construct import construct
from construction.cli.funnel import funnel
from construction.report.funnel import CountRow, Funnel, percent_of
from construction.report.page import page
from construction.report.records import (
    PAPER_TABLE,
    AuthorLine,
    CheckFindings,
    Length,
    Spending,
    Stage,
    StoreYield,
    Table1,
    sum_spending,
)
from construction.report.store_funnel import store_yield
from construction.report.text import (
    authors_rows,
    costs_rows,
    dollars_note,
    elsewhere_sentence,
    lengths_rows,
    quality_sentence,
    text,
)
from curation.rules.release import freeze
from curation.rules.rule import SplitRule
from curation.store.store import Store
from schemas.facts import Neighbour
from schemas.lineage import Lineage
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from schemas.verdicts import Verdict, verdict_key
from tests.support.facts import make_fact
from tests.support.report.read_report import Reader
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


# The yield of a store: counted by hand, beside what a frozen split holds, and as text, JSON and page.
def test_counted_by_hand(by_hand):
    funnel = store_yield(by_hand)
    stages = {s.name.split(" (")[0]: (s.total, s.kept, s.unsure, s.surplus, s.dropped) for s in funnel.funnel}
    assert stages["edited facts"] == (2, 1, 1, 0, 0)  # the undated one waits although its prompt is kept
    assert stages["neighbour facts"] == (1, 1, 0, 0, 0)
    assert stages["questions"] == (6, 3, 1, 0, 2)
    assert stages["scripts"] == (7, 6, 0, 0, 1)
    assert stages["prompts"] == (6, 4, 1, 0, 1)
    assert stages["neighbour links"] == (1, 1, 0, 0, 0)
    assert {(w.check, w.label): w.count for w in funnel.reasons} == {
        ("early_cut", "unsure"): 1,
        ("leak_in_prompt", "drop"): 1,
        ("no_mention", "drop"): 1,
        ("fact_dates", "unsure"): 1,
    }
    counterfactual, temporal = funnel.table
    assert (counterfactual.cases, counterfactual.efficacy, counterfactual.specificity) == (1, 2, 1)
    assert (temporal.cases, temporal.efficacy, temporal.specificity) == (0, 0, 0)
    assert funnel.steps == {1: 1, 2: 5} and funnel.early_percent == pytest.approx(100 / 6)
    assert funnel.filtered_percent == pytest.approx(100 * 2 / 6)
    (authors,) = funnel.authors
    assert (authors.author, authors.scripts, authors.kept, authors.unsure, authors.dropped) == ("gpt-4o", 5, 2, 1, 2)
    (spending,) = funnel.spending
    assert (spending.calls, spending.tokens_in) == (4, 4_000_000) and spending.cost is not None


def test_table_1_is_what_a_split_holds(by_hand):
    line = store_yield(by_hand).table[0]
    with Store.open(by_hand, write=True) as store:
        cases = list(freeze(store, "all", SplitRule()).cases)
    assert len(cases) == line.cases and sum(len(c.prompts) for c in cases) == line.efficacy
    assert sum(len(n.prompts) for c in cases for n in c.neighbours) == line.specificity


def test_a_split_that_was_added_is_not_counted(by_hand, tmp_path):
    from curation.loaders.importer import import_split
    from tests.support.small import small_split

    before = store_yield(by_hand).model_dump()
    import_split(small_split(), by_hand, origin="mini")
    after = store_yield(by_hand).model_dump()
    assert before.pop("elsewhere") == 0 and after.pop("elsewhere") > 100
    assert after == before


def test_the_store_says_what_the_run_said(constructed):
    path, funnel = constructed
    yield_result = store_yield(path)
    stages = {s.name.split(" (")[0]: s for s in yield_result.funnel}
    assert stages["questions"].kept + stages["questions of neighbours"].kept == funnel["kept"]
    assert yield_result.steps.get(1, 0) > 0 and yield_result.model_dump(mode="json").items() <= funnel.items()
    assert sum(s.calls for s in yield_result.spending) == funnel["calls"]
    assert Counter(s.stage for s in yield_result.spending) == {"questions": 1, "scripts": 2}


def test_the_page_is_whole_and_hostile_text_stays_text(constructed):
    html, outline = page(store_yield(constructed[0])), Reader()
    outline.feed(html)
    assert outline.stack == [] and "<script" not in html and html.count("<h1") == 1
    assert "&lt;/svg&gt;&lt;script&gt;x()" in html
    assert not re.search(r"https?://|src=|@import|url\(", html), "the page fetches nothing"
    bars = [sum(map(float, re.findall(r'<rect[^>]* width="([\d.]+)', bar))) for bar in html.split("<svg")[1:]]
    assert len(bars) >= 6 and any(bars) and all(0 < width <= 100.001 for width in bars if width)
    for figure in ("1,830", "7,342", "13,672", "1,762", "7,038", "6,597", "8.23 %", "6.75 %"):
        assert figure in html, "the paper's figure stands beside ours"


# The yield in words: figures of all and of ours, empty parts left out, hostile text on one line.
def yield_of(**parts):
    table = tuple(
        Table1(change=c, cases=0, efficacy=0, specificity=0, paper=PAPER_TABLE[c])
        for c in ("counterfactual", "temporal")
    )
    fields = {
        "store": "s.duckdb",
        "funnel": (Stage(name="questions", total=0, kept=0),),
        "reasons": (),
        "table": table,
        "lengths": (),
        "steps": {},
        "authors": (),
        "spending": (),
        "elsewhere": 0,
        "quality": None,
        "answered": {},
    }
    return StoreYield(**{**fields, **parts})


def spent(stage="scripts", **more):
    fields = {"model": "m", "calls": 4, "failed": 1, "tokens_in": 1000, "tokens_out": 10, "cost": 0.5}
    return Spending(stage=stage, **{**fields, **more})


def test_a_store_counted_by_hand_is_told_in_its_own_figures(by_hand):
    lines = list(text(store_yield(by_hand)))
    row = next(line for line in lines if line.startswith("prompts")).split()
    assert row[-5:] == ["6", "4", "1", "0", "1"]
    line_number = next(i for i, line in enumerate(lines) if line.startswith("ScEdit-CF, this store"))
    assert lines[line_number].split()[-5:] == ["1", "2", "1", "2.00", "1.00"]
    assert lines[line_number + 1].split()[-5:] == ["1,830", "7,342", "13,672", "4.01", "7.47"]
    assert any(line.startswith("Prompts by the step that was cut: 1: 1, 2: 5") for line in lines)
    reason = [line for line in lines if "leak_in_prompt says drop" in line]
    assert len(reason) == 1 and reason[0].split()[0] == "1"


def test_an_empty_store_is_told_without_empty_tables():
    lines = list(text(yield_of()))
    assert not any(title in line for line in lines for title in ("Scripts by author", "Why items", "Lengths of"))
    assert next(line for line in lines if line.startswith("ScEdit-CF, this store")).split()[-2:] == ["-", "-"]


def test_costs_add_up_only_where_all_is_known():
    funnel = yield_of(spending=(spent(), spent("questions", cost=0.25)))
    assert costs_rows(funnel)[-1] == ("total", "", "8", "2", "2,000", "20", "0.7500")
    part = yield_of(spending=(spent(), spent("verify", cost=None, tokens_in=None, model="qwen")))
    assert costs_rows(part)[-1][4] == "-" and costs_rows(part)[-1][6] == "-"
    assert "qwen" in dollars_note(part) and "--prices" in dollars_note(part) and "qwen" not in dollars_note(funnel)
    assert len(costs_rows(yield_of(spending=(spent(),)))) == 1, "of one line there is no sum"


def test_free_calls_cost_nothing_and_are_not_unknown():
    free = yield_of(spending=(spent(cost=0.0), spent("verify", cost=0.0)))
    assert [row[-1] for row in costs_rows(free)] == ["0.0000"] * 3


def test_rows_of_authors_and_lengths():
    funnel = yield_of(
        authors=(AuthorLine(author="ann", scripts=3, kept=1, unsure=1, dropped=1),),
        lengths=(Length(name="steps", mean=2.345, least=1, most=1200),),
    )
    assert authors_rows(funnel) == [("ann", "3", "1", "1", "1", "33.3")]
    assert lengths_rows(funnel) == [("steps", "2.3", "1", "1,200")]


HOSTILE = {
    "lines": ("How?\nStep 1: Go", "How? / Step 1: Go"),
    "control": ("a\x1b[2Jb\u202ec", "a\ufffd[2Jb\ufffdc"),
    "long": ("x" * 400, "x" * 97 + "..."),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_an_example_stays_on_its_line(name):
    sample, hostile = HOSTILE[name]
    findings = CheckFindings(
        kind="prompt", check="c", label="drop", about="", count=2, examples=(("k", "because", sample),)
    )
    lines = list(text(yield_of(reasons=(findings,))))
    assert lines[-1].strip() == f"k: {hostile}"


def test_a_long_reason_is_broken_at_spaces_for_a_terminal():
    reason = "cut at a doubtful place: no word of 'Apply for a job in' goes with a language, and none with the object"
    examples = (("k", reason, "How can a visitor find out?"),)
    why = CheckFindings(kind="script", check="no_mention", label="drop", about="", count=1, examples=examples)
    whole = next(line for line in text(yield_of(reasons=(why,))) if reason in line)
    lines = [line for line in text(yield_of(reasons=(why,)), columns=60)]
    lines = lines[next(n for n, line in enumerate(lines) if line.startswith("       1")) :]
    assert max(map(len, lines)) <= 60 and " ".join(" ".join(lines[:-1]).split()) == " ".join(whole.split())


def test_items_that_came_with_a_split_are_named_apart():
    assert elsewhere_sentence(yield_of()) == "" and "1,200 prompts" in elsewhere_sentence(yield_of(elsewhere=1200))


def test_a_record_s_word_for_a_smoke_test_is_said_in_ours():
    assert "smoke-test quality" in quality_sentence("plumbing") and "draft quality" in quality_sentence("draft")
    assert list(text(yield_of(quality="plumbing")))[-1] == quality_sentence("plumbing")


@pytest.mark.parametrize(
    ("stage", "drops", "percent"),
    [
        (Stage(name="questions", total=10, kept=6, unsure=2, surplus=1), 1, 100 / 9),
        (Stage(name="questions", total=10, kept=0, unsure=10), 0, 0.0),
        (Stage(name="questions", total=10, kept=0, surplus=10), 0, 0.0),
        (Stage(name="questions", total=10, kept=0), 10, 100.0),
    ],
    ids=["some of each", "all wait", "all surplus", "none stayed"],
)
def test_filtered_are_those_that_were_wanted_and_came_to_nothing(stage, drops, percent):
    other = Stage(name="prompts", total=999, kept=0)
    assert stage.dropped == drops and yield_of(funnel=(other, stage)).filtered_percent == pytest.approx(percent)


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
    scripts, verify = sum_spending(lines)
    assert (scripts.stage, scripts.calls, scripts.failed, scripts.tokens_in, scripts.cost) == ("scripts", 2, 1, 20, 1.5)
    assert (verify.stage, verify.calls, verify.cost) == ("verify", 1, None)  # nobody knows what "m" costs


def test_prices_of_ones_own(by_hand, tmp_path):
    table = tmp_path / "prices.toml"
    table.write_text("checked = 2026-11-01\n[models.gpt-4o]\ninput = 3.0\noutput = 1.0\n")
    (expense,) = store_yield(by_hand, prices=table).spending
    assert expense.cost == pytest.approx(12.0)


# What is lost while events and documents are constructed: listed by stage, the commonest first.
class Small(Funnel):
    names = ("drawn",)
    stages = ("draw", "checks")
    width = 6

    def rows(self, *, stored: bool) -> list[CountRow]:
        return [("drawn", self.n["drawn"], "")]


def test_losses_are_listed_by_stage_then_by_number_then_by_reason() -> None:
    funnel = Small()
    assert funnel.lines() == ["  drawn        0", "", "0 calls made."]
    for reason, count in (("b", 2), ("a", 2), ("c", 1200)):
        funnel.lose("checks", reason, count)
    funnel.lose("draw", "z")
    funnel.lose("draw", "z")
    funnel.lose("draw", "never", 0)
    assert funnel.losses() == [("draw", "z", 2), ("checks", "c", 1200), ("checks", "a", 2), ("checks", "b", 2)]
    funnel.n["calls"] = 1
    lines = funnel.lines(stored=True)
    assert lines[1:5] == ["", "Lost, by reason:", "       2  draw        z", "   1,200  checks      c"]
    assert lines[-1] == "1 call cached."


def test_a_count_or_stage_that_the_funnel_does_not_have_is_an_error() -> None:
    with pytest.raises(KeyError):
        Small().n["draws"] += 1
    with pytest.raises(ValueError, match="tuple"):
        Small().lose("drew", "z")


def test_a_share_of_nothing_is_nothing() -> None:
    assert (percent_of(0, 0), percent_of(0, 4), percent_of(4, 4)) == ("", "0.0 %", "100.0 %")


# The command that accounts for every fact.
def test_the_command_prints_text_json_and_writes_the_page(constructed, tmp_path):
    path = str(constructed[0])
    result = CliRunner().invoke(funnel, ["--store", path, "--page", str(tmp_path / "y.html")])
    assert result.exit_code == 0, result.output
    assert "edited facts" in result.stdout and "ScEdit-CF, the paper" in result.stdout and "bob" in result.stdout
    assert all(line == line.rstrip("\n") for line in text(store_yield(constructed[0])))
    assert (tmp_path / "y.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    row = json.loads(CliRunner().invoke(funnel, ["--store", path, "--json"]).stdout)
    assert row["table"][0]["paper"] == [1830, 7342, 13672] and row["funnel"][0]["name"] == "edited facts"


def test_refusals(tmp_path, by_hand):
    with Store.open(tmp_path / "empty.duckdb", create=True) as store:
        store.put([make_fact()])
    for line, words in (
        (["--store", str(tmp_path / "empty.duckdb")], "there is no construction in the store"),
        (["--store", str(tmp_path / "none.duckdb")], "none.duckdb"),
        (["--store", str(by_hand), "--page", str(by_hand / "y.html")], "cannot be written"),
    ):
        result = CliRunner().invoke(funnel, line)
        assert result.exit_code == 1 and words in str(result.exception)
