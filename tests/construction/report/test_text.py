"""The yield in words: figures of all and of ours, empty parts left out, hostile text on one line."""

from __future__ import annotations

import pytest

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
from schemas.lineage import Lineage
from tests.support.construction import funnels
from tests.support.construction.funnels import AT

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
