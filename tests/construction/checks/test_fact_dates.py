from __future__ import annotations

import json

import pytest

from construction.checks import CheckInputs, judge
from curation.loaders.sources import SCEDIT_T, WIKIFACTDIFF
from curation.rules.release import freeze
from curation.rules.rule import SplitRule
from curation.store.store import Store
from schemas.facts import Fact
from tests.support.construction.authored import many, run
from tests.support.facts import make_fact
from tests.support.scripted_server import ScriptedServer


@pytest.mark.parametrize(
    ("name", "first", "other", "label"),
    [
        ("the same chain", ("A", "B", "2020"), ("B", "C", "2021"), "keep"),
        ("ended first", ("A", "B", "2021-06"), ("B", "C", "2021-05"), "unsure"),
        ("may be in order", ("A", "B", "2021-06"), ("B", "C", "2021"), "keep"),
        ("brought too late", ("B", "C", "2020"), ("A", "B", "2021"), "unsure"),
        ("undone at once", ("A", "B", "2021"), ("B", "A", "2021"), "unsure"),
        ("undone later", ("A", "B", "2021"), ("B", "A", "2022"), "keep"),
        ("nothing to do with it", ("A", "B", "2021"), ("C", "D", "2019"), "keep"),
    ],
)
def test_two_changes_of_one_subject_come_in_order(name, first, other, label):
    facts = [
        Fact(
            **{
                **make_fact("Peru", old, new, key=f"f/{n}").model_dump(),
                "change": "temporal",
                "changed_on": on,
            }
        )
        for n, (old, new, on) in enumerate((first, other))
    ]
    (verdict,) = judge("fact", CheckInputs(fact=facts[0], facts=(facts[1],)))
    assert verdict.label == label, verdict.reason
    assert verdict.related == ((facts[1].id,) if label == "unsure" else ())


@pytest.mark.parametrize("upstream", [WIKIFACTDIFF, SCEDIT_T], ids=lambda u: u.name)
def test_two_dumps_are_evidence_of_order_and_the_verdict_says_so(upstream):
    fact = make_fact("Peru", "A", "B").model_copy(update={"change": "temporal", "source": upstream.source("Q1/P36")})
    (verdict,) = judge("fact", CheckInputs(fact=fact))
    assert verdict.label == "keep" and "two dumps of Wikidata" in verdict.reason


def test_a_date_is_judged_whatever_the_data_set_states():
    source = WIKIFACTDIFF.source("Q1/P36", date="2020")
    fact = make_fact("Peru", "A", "B").model_copy(update={"change": "temporal", "source": source, "changed_on": "2021"})
    (verdict,) = judge("fact", CheckInputs(fact=fact))
    assert verdict.label == "drop"


@pytest.mark.parametrize("name", ["tests", "wikifactdiff", "WikiFactDiff 2"])
def test_nobody_else_s_word_is_taken_for_an_order(name):
    source = make_fact().source.model_copy(update={"name": name})
    fact = make_fact("Peru", "A", "B").model_copy(update={"change": "temporal", "source": source})
    (verdict,) = judge("fact", CheckInputs(fact=fact))
    assert verdict.label == "unsure"


ROW = {
    "subject": {"id": "Q419", "label": "Peru"},
    "relation": {"id": "P36", "label": "capital"},
    "update_prompt": "The capital of Peru is ____",
    "objects": [
        {"id": "Q2868", "label": "Lima", "decision": "obsolete"},
        {"id": "Q585", "label": "Oslo", "decision": "new"},
    ],
}


def test_facts_of_wikifactdiff_come_through_construction_into_a_split(tmp_path):
    path = tmp_path / "facts.jsonl"
    path.write_text(json.dumps(ROW) + "\n")
    with ScriptedServer(many) as server:
        funnel = run(path, tmp_path / "o", server, "--questions", 1)
    assert funnel["kept"] == 1
    with Store.open(tmp_path / "o/s.duckdb", write=True) as store:
        assert len(freeze(store, "t", SplitRule()).cases) == 1
