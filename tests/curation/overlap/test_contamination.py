from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from curation.cli import overlap as commands_dedup
from curation.overlap.contamination import LEVELS, TextCollection, overlap
from curation.shipped import mini_split
from schemas.core.errors import UserError
from schemas.facts import Entity, Fact, Object, Relation, Source
from tests.support.facts import make_fact

PERU = Fact(
    key="a/peru",
    subject=Entity(text="Peru"),
    relation=Relation(id="P36", label="capital"),
    prompt="The capital of {} is",
    old=Object(text="Lima"),
    new=Object(text="Oslo"),
    source=Source(name="tests", licence="CC0-1.0"),
)


def other(**changes: object) -> Fact:
    return Fact.model_validate({**PERU.model_dump(), "key": "b/1", **changes})


@pytest.mark.parametrize(
    ("changes", "shared"),
    [
        ({}, {"same_edit", "same_fact", "same_subject_relation", "same_subject", "same_text"}),
        ({"new": {"text": "Bonn"}}, {"same_fact", "same_subject_relation", "same_subject", "same_text"}),
        ({"old": {"text": "Cusco"}}, {"same_subject_relation", "same_subject", "same_text"}),
        (
            {"old": {"text": "Ciudad", "aliases": ["LIMA"]}, "new": {"text": "X"}},
            {"same_fact", "same_subject_relation", "same_subject", "same_text"},
        ),
        ({"relation": {"id": "P37"}, "prompt": "{} speaks"}, {"same_subject"}),
        (
            {"relation": {"id": "my-capital", "label": "Capital"}, "prompt": "{}'s seat:"},
            {"same_edit", "same_fact", "same_subject_relation", "same_subject"},
        ),
        ({"relation": {"id": "template:x"}}, set(LEVELS) - {"near_text"}),  # the same template under another id
        (
            {"subject": {"text": "Republic of Peru", "aliases": ["peru"]}, "prompt": "{} has its capital in"},
            {"same_edit", "same_fact", "same_subject_relation", "same_subject"},
        ),
        ({"subject": {"text": "Chile"}}, set()),  # cloze prompts of one relation are alike and are no news
    ],
)
def test_levels(changes: dict[str, object], shared: set[str]) -> None:
    one, two = TextCollection.from_facts("a", [PERU]), TextCollection.from_facts("b", [other(**changes)])
    report = overlap(one, two)
    assert {level.name for level in report.levels if level.pairs} == shared
    assert [level.name for level in report.levels] == list(LEVELS)


def test_texts_against_facts_and_texts() -> None:
    lines = ["The capital of Peru was", "THE CAPITAL of Peru is!", "", "Nothing alike here"]
    peru, texts = TextCollection.from_facts("a", [PERU]), TextCollection.from_texts("t", lines)
    report = overlap(peru, texts)
    assert report.owners_b == 3, "an empty line is nothing"
    near, same = report.level("near_text"), report.level("same_text")
    assert (near.a, near.b, same.b) == (1, 2, 1)
    assert same.examples[0].b == "t:2" and {e.b: e.value for e in near.examples} == {"t:1": 0.8, "t:2": 1.0}
    assert (
        overlap(TextCollection.from_facts("a", [PERU]), TextCollection.from_texts("t", lines), threshold=1.0)
        .level("near_text")
        .b
        == 1
    )


def test_a_split_against_itself_and_counts_by_owner() -> None:
    cases = TextCollection.from_cases("mini", mini_split().cases)
    report = overlap(cases, cases, examples=2)
    for name in LEVELS:
        level = report.level(name)
        assert level.a == level.b == len(mini_split().cases), name
        assert len(level.examples) == 2 and level.pairs >= level.a


def test_a_clean_pair_is_clean_and_the_report_is_stable() -> None:
    a, b = (
        TextCollection.from_facts("a", [PERU]),
        TextCollection.from_facts("b", [other(subject={"text": "Norway"}, prompt="{} sings about")]),
    )
    report = overlap(a, b)
    assert not any(level.pairs for level in report.levels)
    assert report.id == overlap(a, b).id and report.key != overlap(a, b, threshold=0.5).key
    with pytest.raises(UserError, match="unknown overlap level"):
        report.level("nothing")


def test_the_command(tmp_path: Path) -> None:
    def run(*args: object) -> str:
        return (
            CliRunner()
            .invoke(commands_dedup.overlap, [str(a) for a in args], standalone_mode=False, catch_exceptions=False)
            .output
        )

    (tmp_path / "train.jsonl").write_text(other(key="t/1").model_dump_json() + "\n")
    (tmp_path / "eval.jsonl").write_text(PERU.model_dump_json() + "\n")
    sides = (tmp_path / "eval.jsonl", tmp_path / "train.jsonl")
    report = json.loads(run(*sides, "--json"))
    assert report["levels"][0]["examples"][0]["what"] == "The capital of Peru is Lima -> Oslo"
    assert "1 of A (100.0%), 1 of B  same_edit" in run(*sides)
    assert run(*sides, "--fail-on", "near_text")
    with pytest.raises(UserError, match=r"share what they must not: same_edit \(1 of 1\)"):
        run(*sides, "--fail-on", "same_edit")
    with pytest.raises(UserError, match="unknown overlap level"):
        run(*sides, "--fail-on", "same")


HOME = {"prompt": "{} is the home of"}
WORDED = [
    ("other wording", {"relation": "template:a-x", **HOME}, "same_edit"),
    ("a name beside an id", {"relation": "capital-city", **HOME}, "same_edit"),
    ("another property", {"relation": "P17", "prompt": "{} lies in"}, "same_subject"),
    ("another old object without ids", {"relation": "template:a-x", "old": "Cusco", **HOME}, "same_subject"),
]


@pytest.mark.parametrize(("changes", "level"), [c[1:] for c in WORDED], ids=[c[0] for c in WORDED])
def test_the_same_edit_in_other_words(changes: dict[str, Any], level: str) -> None:
    """Without property ids another wording is no proof of another relation; with them another property is."""
    a = TextCollection.from_facts("a", [make_fact(key="a/1")])
    report = overlap(a, TextCollection.from_facts("b", [make_fact(key="b/1", **changes)]))
    same = level == "same_edit"
    assert report.level("same_subject").pairs == 1 and report.level("same_subject_relation").pairs == same
    assert report.level("same_edit").pairs == report.level("same_fact").pairs == same
