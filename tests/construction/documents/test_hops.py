"""Cases of one hop: answers by the table, the step as premise, and every way in which a source can be wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from construction.documents.hops import HopItem, HopTable, hop_case, read_hops
from curation.shipped import SHIPPED
from curation.splits.split_file import load_split
from schemas.core.errors import DataError, UserError
from schemas.facts import Source
from tests.support.commands import invoke

SOURCE = Source(name="test", licence="CC0-1.0")
SCRIPT = "How to pay a guide in Milan?\n1. Agree on a price.\n2. Thank the guide.\n3. Hand over some ___"
ITEM = {
    "subject": "Milan", "prompt": "The city of {} is in", "old": "Italy", "new": "Japan", "hop": "currency",
    "rephrase": "Which country is {} in?", "question": "Which money is used in {}?", "script": SCRIPT,
}  # fmt: skip
TABLES = {
    "currency": HopTable(
        ask="What is the currency of {}?", values={"Italy": "euro", "Japan": ("yen", "Yen"), "France": "euro"}
    ),
    "sea": HopTable(ask="Which sea?", values={"Italy": "sea", "Japan": "ocean"}),
    "shore": HopTable(ask="Which sea is near {}?", values={"Italy": "water", "Japan": ("ocean", "Water")}),
    "language": HopTable(ask="What is spoken in {}?", values={"Italy": "Italian", "Japan": "Japanese"}),
    "product": HopTable(
        ask="What do people get from {}?",
        values={"sheep": "wool", "honey bees": "honey", "egg-laying hens": ("food", "Egg"), "goats": "goat's milk"},
    ),
    "home": HopTable(
        ask="Where is the home of {}?", values={"Korean Air": "Korea", "Saab": "Sweden", "the Netherlands": "Dutch"}
    ),
    "asked": HopTable(ask="Is it wool that {} give?", values={"sheep": "wool", "hens": "eggs"}),
}  # fmt: skip


def made(**changes: Any) -> Any:
    item = HopItem.model_validate({**ITEM, **changes})
    return hop_case(item, TABLES, "h", SOURCE, where="file")


def test_a_case_and_its_lineage() -> None:
    case = made()
    told = {p.group: (p.answers, p.old_answer) for p in case.probes}
    assert told == {
        "efficacy": (("Japan",), "Italy"),
        "rephrase": (("Japan",), "Italy"),
        "hop": (("yen", "Yen"), "euro"),
        "script_hop": (("yen", "Yen"), "euro"),
        "locality": (("euro",), None),
    }
    hop = next(p for p in case.probes if p.group == "script_hop")
    assert hop.query == SCRIPT and [(p.query, p.answers) for p in hop.premises] == [
        ("What is the currency of Japan?", ("yen", "Yen"))
    ]
    assert case.document.text == "The city of Milan is in Japan." and case.document.statements[0].target == "Japan"
    assert next(p for p in case.probes if p.group == "locality").query == "What is the currency of Italy?"


def test_the_question_of_a_table_must_not_name_its_own_answer() -> None:
    """The fault of one shipped case until then; of both objects, of accepted answers, and in the table's own words."""
    for old, new, hop, named in (
        ("honey bees", "sheep", "product", "'What do people get from honey bees?' names 'honey'"),
        ("sheep", "honey bees", "product", "'What do people get from honey bees?' names 'honey'"),
        ("egg-laying hens", "sheep", "product", "'What do people get from egg-laying hens?' names 'Egg'"),
        ("Korean Air", "Saab", "home", "'Where is the home of Korean Air?' names 'Korean'"),
        ("sheep", "hens", "asked", "'Is it wool that sheep give?' names 'wool'"),
    ):
        with pytest.raises(DataError) as caught:
            made(old=old, new=new, hop=hop)
        assert f"file: the question of the table '{hop}' leaks its answer: {named}" in str(caught.value)


def test_an_object_that_is_as_a_whole_derived_from_its_answer_may_stand() -> None:
    """A country and its language: otherwise nobody could ask for it. Part of an answer's name is no answer, either."""
    for changes, answer in (
        ({"hop": "language"}, "Italian"),
        ({"old": "the Netherlands", "new": "Saab", "hop": "home"}, "Dutch"),
        ({"old": "goats", "new": "sheep", "hop": "product"}, "goat's milk"),
    ):
        assert [p.answer for p in made(**changes).probes if p.group == "locality"] == [answer]


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"hop": "capital"}, "there is no table 'capital'"),
        ({"new": "Narnia"}, "a hop without its fact: 'currency' says nothing of 'Narnia'"),
        ({"old": "Narnia"}, "a hop without its fact: 'currency' says nothing of 'Narnia'"),
        ({"new": "France"}, "'currency' has the same answer for both objects"),
        ({"hop": "shore"}, "'shore' has the same answer for both objects"),
        ({"script": SCRIPT.replace("Milan", "Rome")}, "its question does not name the subject"),
        ({"script": SCRIPT.replace("2.", "3.")}, "its steps must be numbered from 1"),
        ({"script": SCRIPT.replace("\n2. Thank", "\nThank")}, "its steps must be numbered from 1"),
        ({"script": SCRIPT.removesuffix(" ___")}, "must end the last step"),
        ({"script": SCRIPT + " now"}, "must end the last step"),
        ({"script": SCRIPT.replace("a price", "___")}, "must end the last step"),
        ({"script": "Go to Milan?\n1. Pay in ___"}, "it has 1 steps"),
        ({"script": "Milan?\n" + "\n".join(f"{n}. Go" for n in range(1, 10)) + "\n10. Pay ___"}, "it has 10 steps"),
        ({"script": SCRIPT.replace("Thank the guide", "Thank him so very warmly for everything today")}, "more than 7"),
        ({"script": SCRIPT.replace("a price", "some euro")}, "the script leaks the answer: it names 'euro'"),
        ({"script": SCRIPT.replace("the guide.", "the Japanese guide.")}, "leaks the answer: it names 'Japanese'"),
        ({"script": SCRIPT.replace("the guide.", "the Italian guide.")}, "leaks the answer: it names 'Italian'"),
        ({"question": "How many yen for {}?"}, "the question leaks the answer: it names 'yen'"),
        ({"rephrase": "Is {} in Japan?"}, "the rephrasing leaks the answer: it names 'Japan'"),
        ({"prompt": "Not in Italy, {} is in"}, "the prompt leaks the answer: it names 'Italy'"),
        ({"subject": "Yen Town", "script": SCRIPT.replace("Milan", "Yen Town")}, "the subject leaks the answer"),
        ({"question": "Which money is used there?"}, "one {} for the subject, it holds 0"),
        ({"rephrase": "Which country?"}, "the rephrasing must hold exactly one {}"),
        ({"prompt": "It is in"}, "the prompt must hold exactly one {}"),
        ({"question": "{} or {}?"}, "the question must hold exactly one {} for the subject, it holds 2"),
        ({"hop": "sea"}, "the question of the table 'sea' must hold exactly one {} for the object, it holds 0"),
        ({"subject": "US", "script": SCRIPT.replace("Milan", "industry")}, "its question does not name the subject"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_sentence(changes: dict[str, str], what: str) -> None:
    with pytest.raises(DataError, match="file") as caught:
        made(**changes)
    assert what in str(caught.value)


def test_two_edits_of_one_subject_by_one_table_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "h.toml"
    edit = "\n".join(f"{name} = {json.dumps(value)}" for name, value in ITEM.items())
    table = '[table.currency]\nask = "What is the currency of {}?"\nvalues = { Italy = "euro", Japan = "yen" }\n'
    path.write_text(f"{table}[[edit]]\n{edit}\n[[edit]]\n{edit}\n", encoding="utf-8")
    with pytest.raises(DataError, match="Milan: there are two edits of it by the table 'currency'"):
        read_hops(path, "h", SOURCE)


def test_a_file_without_tables_or_with_other_fields_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "h.toml"
    path.write_text('[table.a]\nask = "Which {}?"\nvalues = { x = "y" }\n', encoding="utf-8")
    with pytest.raises(Exception, match="edit"):
        read_hops(path, "h", SOURCE)


SOURCE_CONSTRUCT_HOPS = (SHIPPED / "hops/hops.jsonl").with_name("source.toml")


def test_the_shipped_source_becomes_a_split_under_a_name_of_ones_own(tmp_path: Path) -> None:
    out = tmp_path / "mine.jsonl"
    told = invoke("data", "construct-hops", "mine", SOURCE_CONSTRUCT_HOPS, "--out", out)
    assert told.startswith(f"40 edits with 200 probes in {out}.\nNext: split = ")
    split = load_split(out)
    assert split.name == "mine" and split.all_cases[0].key.startswith("case/mine/")
    again = json.loads(
        invoke("data", "construct-hops", "mine", SOURCE_CONSTRUCT_HOPS, "--out", tmp_path / "b.jsonl", "--json")
    )
    assert (again["digest"], again["cases"], again["probes"]) == (split.digest, 40, 200)


def test_bad_input_writes_nothing(tmp_path: Path) -> None:
    out, bad = tmp_path / "mine.jsonl", tmp_path / "bad.toml"
    bad.write_text(
        SOURCE_CONSTRUCT_HOPS.read_text(encoding="utf-8").replace('new = "Japan"', 'new = "Narnia"', 1),
        encoding="utf-8",
    )
    with pytest.raises(DataError, match="a hop without its fact: 'currency' says nothing of 'Narnia'"):
        invoke("data", "construct-hops", "mine", bad, "--out", out)
    with pytest.raises(UserError, match="cannot be the name of a split"):
        invoke("data", "construct-hops", "../mine", SOURCE_CONSTRUCT_HOPS, "--out", out)
    assert not out.exists()
    out.write_text("kept", encoding="utf-8")
    with pytest.raises(UserError):
        invoke("data", "construct-hops", "mine", SOURCE_CONSTRUCT_HOPS, "--out", out)
    assert out.read_text(encoding="utf-8") == "kept"
