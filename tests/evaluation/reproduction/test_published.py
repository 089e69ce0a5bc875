from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from curation.export.fact_formats import write_cf, write_t
from curation.files.artifact_cache import sha256
from evaluation.reproduction.published import (
    content_of,
    data_difference,
    printed_figures,
    published_data,
    published_table,
    published_tables,
    requirements,
    unit,
)
from schemas.core.errors import DataError, UserError
from tests.support.arithmetic import make_cases


@pytest.fixture(scope="module")
def papers(shared):
    return "".join(p.read_text(encoding="utf-8") for p in sorted((shared / "papers").glob("*.txt")))


@pytest.mark.parametrize("name", published_tables())
def test_every_figure_stands_in_the_paper(name, papers):
    numbers = re.findall(r"(?<![\d.])-?\d+(?:\.\d+)?", papers.replace("−", "-"))
    figures = {float(number) for number in numbers} | {abs(float(number)) for number in numbers}
    for p in printed_figures(published_table(name)):
        assert round(p.value, 2) in figures, p


def test_counts_of_the_tables():
    counts = [99, 20, 4, 15, 48, 260, 18, 18, 81, 319, 40, 30]
    assert [len(printed_figures(published_table(n))) for n in published_tables()] == counts
    assert sum(bool(p.note) for p in printed_figures(published_table("scedit-table2"))) == 1


def test_named_pairs_of_table_6_agree_with_the_papers_words(papers):
    """The pairs are named in the earlier version; each named line must say what our table says."""
    lines = {
        frozenset(m.group(1, 2)): float(m.group(3))
        for m in re.finditer(r"^(\S+) vs\. (\S+)\t(-?0\.\d+)$", papers, flags=re.M)
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


def test_units():
    units = [unit(published_table(n)) for n in published_tables()]
    rated = ["percent", "points of 7", "alpha", "rho", "points of 7"]
    assert units == [*rated, *["percent"] * 4, "percent, perplexities as they are", "percent", "percent"]


NAMES = ("ScEdit-CF", "ScEdit-T")


@pytest.fixture
def cases(tmp_path: Path):
    split = make_cases(4, 3)
    write_cf(split, tmp_path / "ScEdit-CF.json")
    write_t(split, tmp_path / "ScEdit-T.json")
    return {k: [c for c in split.cases if c.fact.change == k] for k in ("counterfactual", "temporal")}


def test_cases_that_went_through_the_file_are_the_same_in_any_order_and_under_other_keys(cases, tmp_path):
    files = published_data(NAMES, tmp_path)
    assert {n: f.contents.total() for n, f in files.items()} == {"ScEdit-CF": 4, "ScEdit-T": 3}
    assert files["ScEdit-CF"].sha256 == sha256(tmp_path / "ScEdit-CF.json")
    variants = [c.model_copy(update={"key": f"x/{n}"}) for n, c in enumerate(reversed(cases["counterfactual"]))]
    assert data_difference("ScEdit-CF", variants, files) == ""
    assert data_difference("ScEdit-T", cases["temporal"], files) == ""


@pytest.mark.parametrize("field", ["subject", "ground_truth", "target_new", "rephrase_prompts", "neighborhood_prompts"])
def test_one_changed_field_of_one_case_is_seen(cases, tmp_path, field):
    path = tmp_path / "ScEdit-CF.json"
    rows = json.loads(path.read_text())
    if isinstance(rows[1][field], str):
        new = "Quito" if field != "subject" else "The capital"
        rows[1][field] = new
    else:
        rows[1][field] = [t.replace("Step 1:", "Step 1: Now") for t in rows[1][field]]
    path.write_text(json.dumps(rows))
    difference = data_difference("ScEdit-CF", cases["counterfactual"], published_data(NAMES, tmp_path))
    assert (
        difference == "other data than ScEdit-CF.json: 1 case of 4 is not in the file, 1 case of the file is not here"
    )


def test_some_of_the_published_cases_serve_only_where_some_are_asked_for(cases, tmp_path):
    files, some = published_data(NAMES, tmp_path), cases["counterfactual"][:2]
    assert data_difference("ScEdit-CF", some, files, part=True) == ""
    assert "2 cases of the file are not here" in data_difference("ScEdit-CF", some, files)
    twice = [*some, some[0]]
    assert "1 case of 3 is not in the file" in data_difference("ScEdit-CF", twice, files, part=True)


def test_without_the_file_nothing_is_taken_for_the_published_data(cases, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    assert published_data(NAMES, empty) == {}
    assert "name the folder of ScEdit-CF.json with --data" in data_difference("ScEdit-CF", cases["counterfactual"], {})


def test_hostile_files_are_refused_in_one_sentence(tmp_path):
    with pytest.raises(UserError, match="no such folder of published data"):
        published_data(NAMES, tmp_path / "nowhere")
    for text in ("[]", "{", "not json", '[{"subject": 1}]'):
        (tmp_path / "ScEdit-CF.json").write_text(text)
        with pytest.raises(DataError):
            published_data(["ScEdit-CF"], tmp_path)


def test_content_leaves_keys_out(cases):
    (first, second, *_) = cases["counterfactual"]
    assert content_of(first) == content_of(first.model_copy(update={"key": "other"})) != content_of(second)


def test_needs_name_what_is_missing_and_see_what_is_there(tmp_path):
    (tmp_path / "ScEdit-CF.json").write_text("[]")
    by_name = {n["need"]: n["here"] for n in requirements(published_table("scedit-table2"), data=tmp_path)}
    assert by_name["data: ScEdit-CF.json"] and not by_name["data: ScEdit-T.json"]
    assert by_name["method: rome"] and by_name["method: memit"]
    assert all(n["fix"] for n in requirements(published_table("scedit-table8")))
