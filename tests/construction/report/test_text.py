"""The yield in words: figures of all and of ours, empty parts left out, hostile text on one line."""

from __future__ import annotations

import pytest

from construction.report.cost import Spending
from construction.report.records import PAPER_TABLE, AuthorLine, CheckFindings, Length, Stage, StoreYield, Table1
from construction.report.store_funnel import store_yield
from construction.report.text import (
    authors_rows,
    costs_rows,
    dollars_note,
    elsewhere_sentence,
    lengths_rows,
    per_case,
    quality_sentence,
    text,
)
from tests.support.construction import funnels

by_hand = funnels.by_hand


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


def test_cases_of_nothing_are_no_share():
    assert per_case((0, 0, 0)) == ("-", "-") and per_case((2, 3, 1)) == ("1.50", "0.50")


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


def test_items_that_came_with_a_split_are_named_apart():
    assert elsewhere_sentence(yield_of()) == "" and "1,200 prompts" in elsewhere_sentence(yield_of(elsewhere=1200))


def test_a_record_s_word_for_a_smoke_test_is_said_in_ours():
    assert "smoke-test quality" in quality_sentence("plumbing") and "draft quality" in quality_sentence("draft")
    assert list(text(yield_of(quality="plumbing")))[-1] == quality_sentence("plumbing")
