from __future__ import annotations

import json
from pathlib import Path

import pytest

from construction.pipeline.adopt import adopt, keep
from construction.pipeline.case_files import case_rows
from curation.rules.release import freeze
from curation.rules.rule import SplitRule
from curation.store.store import Store
from schemas.core.errors import DataError
from schemas.extras import Extra
from schemas.facts import Fact, Source

SOURCE = Source(name="test", licence="CC0-1.0")
HEAD = """
key = "w"
relation = { id = "P36", label = "capital" }
prompt = "The capital of {} is"
"""
CASE = """
[[cases]]
key = "peru"
subject = "Peru"
old = "Lima"
new = "Oslo"
paraphrases = ["Laws of {} are made in", "The congress sits in"]
questions = '''
How to visit the congress of Peru?
Pack a bag
  Fly to Lima


How to phone a minister of Peru?
Look up the number
Dial the code of Lima
'''
neighbours = '''
Larco Museum | The {} is in the city of
How to see the Larco Museum?
Save some money
Travel by bus to Lima

Callao
How to sail to Callao?
Hoist the sail
Steer towards Lima

Cuzco | {} is far from | Quito
How to leave Cuzco?
Pack
Go to Quito
'''
"""
NAMES = '[names]\nLima = { aliases = ["City of Kings"], wikidata = "Q2868" }\n'


def rows(text: str) -> list[dict[str, object]]:
    return [row.data for row in case_rows(text, Path("c.toml"))]


def test_a_typed_case_is_a_written_case() -> None:
    (case,) = rows(HEAD + NAMES + CASE)
    lima = {"text": "Lima", "aliases": ("City of Kings",), "wikidata": "Q2868"}
    plain = {"aliases": ()}
    assert case["key"] == "w/peru" and case["kind"] == "counterfactual" and case["changed_on"] is None
    assert case["subject"] == {"text": "Peru", **plain} and case["old"] == lima
    assert case["paraphrases"] == ["Laws of Peru are made in", "The congress sits in"]
    assert case["questions"] == [
        {"question": "How to visit the congress of Peru?", "steps": ["Pack a bag", "Fly to Lima"]},
        {"question": "How to phone a minister of Peru?", "steps": ["Look up the number", "Dial the code of Lima"]},
    ]
    one, two, three = case["neighbours"]  # type: ignore[misc]
    assert (one["prompt"], one["object"]) == ("The {} is in the city of", lima)
    assert (two["subject"]["text"], two["prompt"], two["object"]) == ("Callao", "The capital of {} is", lima)
    assert (three["prompt"], three["object"]["text"]) == ("{} is far from", "Quito")
    assert three["steps"] == ["Pack", "Go to Quito"]


def test_adopted_from_toml_or_from_json_lines_alike(tmp_path: Path) -> None:
    """The slow twin: the rows written as JSON lines make the very same records and verdicts."""
    path, lines = tmp_path / "c.toml", tmp_path / "c.jsonl"
    path.write_text(HEAD + NAMES + CASE)
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows(path.read_text())))
    one, two = adopt(path, source=SOURCE), adopt(lines, source=SOURCE)
    assert one.cases == 1 and len(one.records) > 20
    assert [r.id for r in one.records] == [r.id for r in two.records]
    assert [v.id for v in one.verdicts] == [v.id for v in two.verdicts]
    assert one.objections == two.objections


def test_keys_take_a_prefix(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text(HEAD + CASE)
    assert adopt(path, source=SOURCE, prefix="mine").records[0].key == "mine/w/peru"


MISTAKES = [
    ("no TOML", "key = ", "not readable as TOML"),
    ("no case", HEAD, "cases: Field required"),
    ("unknown field", HEAD + CASE.replace("old =", "odl ="), "cases.0.old: Field required"),
    ("a note on nobody", HEAD + NAMES.replace("Lima", "Lmia") + CASE, "'Lmia', which no case has"),
    ("no Wikidata id", HEAD + NAMES.replace("Q2868", "P2868") + CASE, "names.Lima.wikidata"),
    ("a question without steps", HEAD + CASE.replace("Dial the code of Lima\n", "").replace("Look up the number\n", ""),
     "at least one step are expected after 'How to phone"),
    ("a neighbour without question", HEAD + CASE.replace("How to sail to Callao?\nHoist the sail\nSteer towards Lima",
     ""), "neighbour 'Callao': a question and at least one step"),
    ("a neighbour with too much", HEAD + CASE.replace("| Quito", "| Quito | Ecuador"),
     "a neighbour begins with 'Cuzco |"),
    ("an empty part", HEAD + CASE.replace("| Quito", "|"), "a neighbour begins with 'Cuzco |"),
    ("another kind", 'kind = "made up"\n' + HEAD + CASE, "kind: Input should be"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), [m[1:] for m in MISTAKES], ids=[m[0] for m in MISTAKES])
def test_mistakes_are_told_in_one_sentence(text: str, message: str) -> None:
    with pytest.raises(DataError, match=r"c\.toml") as error:
        rows(text)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_a_step_that_is_too_long_names_its_case(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text(HEAD + CASE.replace("Fly to Lima", "Fly over the sea and the hills to Lima"))
    with pytest.raises(DataError, match=r"case 1 \('peru'\): questions\.0\.steps\.1: a step has at most 7 words"):
        adopt(path, source=SOURCE)


def test_hostile_lines_stay_data() -> None:
    text = CASE.replace("Pack a bag", "{old} $(reboot) \u202e {}").replace("'''", '"""')
    (case,) = rows(HEAD + text)
    assert case["questions"][0]["steps"][0] == "{old} $(reboot) \u202e {}"  # type: ignore[index]


TIMED = (
    'kind = "temporal"\n'
    + HEAD
    + CASE.replace('new = "Oslo"', 'new = "Oslo"\nold_time = "1535/2001"\nnew_time = "2002-03/.."')
)


def test_times_of_a_temporal_case_date_the_change_and_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text(TIMED)
    adoption = adopt(path, source=SOURCE)
    (fact,) = (r for r in adoption.records if isinstance(r, Fact) and r.key == "w/peru")
    (times,) = (r for r in adoption.records if isinstance(r, Extra))
    assert (fact.change, fact.changed_on) == ("temporal", "2002-03")
    assert (times.subject_key, times.name) == ("w/peru", "times")
    assert times.value == {"old": "1535/2001", "new": "2002-03/.."}
    assert [v.label for v in adoption.verdicts if v.item_id == fact.id and "fact_dates" in v.by] == ["keep"]
    keep(adoption, tmp_path / "s.duckdb", origin="c.toml")
    with Store.open(tmp_path / "s.duckdb", write=True) as store:
        split = freeze(store, "timed", SplitRule())
        assert [extra.value for extra in split.extras] == [times.value]
        assert split.cases[0].fact.changed_on == "2002-03"


WRONG_TIMES = [
    ("no interval", TIMED.replace("1535/2001", "1535-2001"), "'1535-2001' is no time such as"),
    ("the wrong way round", TIMED.replace("1535/2001", "1535/2009"), "end no later than the new one begins"),
    ("one alone", TIMED.replace('old_time = "1535/2001"\n', ""), "stand together, in a temporal case"),
    ("no temporal case", TIMED.replace('kind = "temporal"', ""), "stand together, in a temporal case"),
    ("another date", TIMED.replace("old_time", 'changed_on = "2003"\nold_time'), "changed_on is 2003, but"),
]


@pytest.mark.parametrize(("text", "message"), [m[1:] for m in WRONG_TIMES], ids=[m[0] for m in WRONG_TIMES])
def test_wrong_times_are_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text(text)
    with pytest.raises(DataError, match=r"case 1 \('peru'\)") as error:
        adopt(path, source=SOURCE)
    assert message in str(error.value)
