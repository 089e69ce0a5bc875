"""Published figures: all there, as the papers print them."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from evaluation.reproduction.published import printed_figures, published_table, published_tables, short, unit
from schemas.core.errors import UserError


@pytest.mark.parametrize("name", published_tables())
def test_every_figure_stands_in_the_paper(name, shared):
    text = "".join(p.read_text(encoding="utf-8") for p in sorted((shared / "papers").glob("*.txt")))
    flat = text.replace("−", "-")
    for p in printed_figures(published_table(name)):
        assert re.search(rf"(?<![\d.]){re.escape(f'{p.value:.2f}'.rstrip('0').rstrip('.'))}0?", flat), p


def test_counts_of_the_tables():
    assert [len(printed_figures(published_table(n))) for n in published_tables()] == [
        99,
        20,
        4,
        15,
        48,
        260,
        18,
        18,
        81,
        319,
        40,
        30,
    ]
    assert sum(bool(p.note) for p in printed_figures(published_table("scedit-table2"))) == 1


def test_named_pairs_of_table_6_agree_with_the_papers_words(shared):
    """The pairs are named in the earlier version; each named line must say what our table says."""
    text = "".join(p.read_text(encoding="utf-8") for p in sorted((shared / "papers").glob("*.txt")))
    lines = {
        frozenset(m.group(1, 2)): float(m.group(3))
        for m in re.finditer(r"^(\S+) vs\. (\S+)\t(-?0\.\d+)$", text, flags=re.M)
    }
    values = {frozenset(p.metric.split(", ")): p.value for p in printed_figures(published_table("scedit-table6"))}
    assert len(lines) == 15 and lines == values


def test_shares_that_the_data_cannot_give_are_marked():
    """Whole events by hand: 4.8 % of 844 is 40.5 of them; 15.1 % of 485 is 73. Overall by .367 and .633."""
    table_2 = {(p.model, p.method, p.metric): p for p in printed_figures(published_table("elken-table2"))}
    assert table_2["GPT-J", "FT", "ev_choice_edit"].note == "no whole number of 844 events"
    assert table_2["GPT-J", "BM25", "ev_fact_edit"].note == ""
    counts = Counter(p.metric for p in table_2.values() if p.note)
    assert counts == {"ev_choice_edit": 5, "ev_open_edit": 1, "ev_all_edit": 1}, "facts: all whole numbers of 485"
    overall = {p.model: p.note for p in printed_figures(published_table("elken-table3")) if p.metric == "ev_fact"}
    assert overall["GPT-J"] == "50.8 by the shares of the released data" and all(overall.values())


def test_recalled_background_facts_stand_in_their_table():
    recall = {p.model: p.value for p in printed_figures(published_table("elken-table4")) if p.metric == "ev_recall"}
    assert (len(recall), recall["GPT-J"], recall["GPT-4"]) == (6, 43.5, 95.7)


def test_unknown_names_are_refused_with_a_near_one():
    with pytest.raises(UserError, match="did you mean 'scedit-table2'"):
        published_table("scedit-table22")


def test_units_and_short_names():
    units = [unit(published_table(n)) for n in published_tables()]
    assert units == [
        "percent",
        "points of 7",
        "alpha",
        "rho",
        "points of 7",
        *["percent"] * 4,
        "percent, perplexities as they are",
        "percent",
        "percent",
    ]
    assert (short("coherence"), short("ES")) == ("Coh.", "ES")
