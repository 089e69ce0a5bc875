"""Our JSONL and CSV, foreign tables through a mapping: round trips, faults, columns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from curation.loaders import load
from curation.loaders.formats.native import read_mapping, write_records
from schemas.core.errors import DataError, UserError
from schemas.extras import Extra
from schemas.facts import Fact, Neighbour
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion


def test_a_paraphrase_may_have_a_gap_for_the_subject(tmp_path: Path) -> None:
    row = {"subject": "Peru", "relation": "capital", "prompt": "The capital of {} is", "old": "Lima", "new": "Oslo"}
    header, cells = ",".join((*row, "paraphrases")), ",".join((*row.values(), "{} is ruled from|Peru's capital is"))
    (tmp_path / "f.csv").write_text(f"{header}\n{cells}\n")
    (tmp_path / "f.jsonl").write_text(json.dumps({**row, "paraphrases": ["{} is ruled from", "Peru's capital is"]}))
    for name in ("f.csv", "f.jsonl"):
        assert load(tmp_path / name).facts[0].paraphrases == ("Peru is ruled from", "Peru's capital is")


def test_every_other_kind_comes_back_too(peru: Fact, tmp_path: Path) -> None:
    question = ScriptQuestion(key="f/peru/q1", fact=peru.key, text="How to go?")
    prompt = ScriptPrompt(key="p", fact=peru.key, text="How to go?\nStep 1: To", offset=22, targets=("Lima",))
    records = [
        peru, question, Script(key="s", question=question.key, steps=("Walk",)), prompt,
        Neighbour(key="n", edit=peru.key, fact="f/x", how="near_subject", distance=0.5, measure="m"),
        Extra.holding("e", {"é": [1, None, "\u2028"]}, subject_key=peru.key, name="x"),
    ]  # fmt: skip
    write_records(records, tmp_path / "f.jsonl")
    import_result = load(tmp_path / "f.jsonl", "jsonl")
    assert [*import_result.facts, *import_result.records] == records and not import_result.problems
    (tmp_path / "g.jsonl").write_text('{"kind": "colour", "key": "x"}\n')
    assert "unknown kind 'colour'" in load(tmp_path / "g.jsonl", "jsonl").problems[0].what


HEADER = "subject,relation,prompt,old,new\n"

CSV = [
    ("quoted newline", HEADER + 'Peru,P36,"The capital\nof {} is",Lima,Oslo\nChad,P36,{} has,A,B\n', 2, []),
    ("cut in a quote", HEADER + 'Peru,P36,{} has,Lima,Oslo\nChad,P36,"{} h', 1, [("line 3", "truncated")]),
    ("wrong encoding", (HEADER + "Per\xfa,P36,{} has,Lima,Oslo\n").encode("latin-1"), 0, [("line 2", "malformed")]),
    ("stray quote", HEADER + 'Peru,P36,"{}" has,Lima,Oslo\nChad,P36,{} has,A,B\n', 1, [("line 2", "malformed")]),
    ("too few cells", HEADER + "Peru,P36\n", 0, [("line 2", "malformed")]),
    ("byte-order mark", "\ufeff" + HEADER + "Peru,P36,{} has,Lima,Oslo\n", 1, []),
]


@pytest.mark.parametrize(("content", "expected", "problems"), [c[1:] for c in CSV], ids=[c[0] for c in CSV])
def test_csv_faults(tmp_path: Path, content: str | bytes, expected: int, problems: list[tuple[str, str]]) -> None:
    path = tmp_path / "f.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    import_result = load(path)
    assert len(import_result.facts) == expected
    assert [(p.where.rsplit(", ", 1)[1], p.kind) for p in import_result.problems] == problems


def test_tabs_and_columns(tmp_path: Path) -> None:
    (tmp_path / "f.tsv").write_text((HEADER + "Peru,P36,{} has,Lima,Oslo\n").replace(",", "\t"))
    assert load(tmp_path / "f.tsv").facts[0].old.text == "Lima"
    for header, message in (
        ("subject,relation,prompt,new", "column 'old' is missing"),
        ("subject,relation,prompt,old,new,x", "column 'x'"),
        ("subject,subject,relation,prompt,old,new", "'subject' stands twice"),
    ):
        (tmp_path / "f.csv").write_text(header + "\n")
        with pytest.raises(DataError, match=message):
            load(tmp_path / "f.csv")


def test_a_foreign_csv_through_a_mapping(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(
        '[columns]\nsubject = "who"\nold = "answer"\n[values]\nprompt = "The capital of {} is"\nrelation = "P36"\n'
        '[source]\nname = "mine"\nlicence = "CC0-1.0"\n'
    )
    (tmp_path / "f.csv").write_text("who,answer,edit,votes\nPeru,Lima,Oslo,3\n")
    mapping = read_mapping(tmp_path / "m.toml", ["new=edit"])
    import_result = load(tmp_path / "f.csv", mapping=mapping)
    fact = import_result.facts[0]
    assert (fact.subject.text, fact.old.text, fact.new and fact.new.text) == ("Peru", "Lima", "Oslo")
    assert (fact.source.licence, fact.relation.id, import_result.format) == ("CC0-1.0", "P36", "table")
    assert [r.value for r in import_result.records if isinstance(r, Extra)] == [{"votes": "3"}]


def test_foreign_json_through_a_mapping(tmp_path: Path) -> None:
    rows = [
        {"s": "Peru", "q": "Peru has", "t": {"o": ["Lima", "City of Kings"]}, "y": 2019, "n": "Oslo"},
        {"s": "Chad", "q": "It has", "t": {"o": "A"}, "n": "B"},
        {"q": "x"},
    ]
    (tmp_path / "f.jsonl").write_text("\n".join(json.dumps(r) for r in rows))
    import_result = load(
        tmp_path / "f.jsonl", mapping=read_mapping(settings=["subject=s", "prompt=q", "old=t.o", "new=n"])
    )
    assert [f.prompt for f in import_result.facts] == ["{} has"]
    assert import_result.facts[0].old.names == ("Lima", "City of Kings")
    assert import_result.facts[0].relation.id == "template:x-has"
    assert ["not in the prompt" in import_result.problems[0].what, import_result.problems[1].what] == [
        True,
        "the field 's' is missing",
    ]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("old", "--map takes name=column, got 'old'"),
        ("odl=x", "unknown column of ours 'odl'.*did you mean 'old'"),
    ],
)
def test_bad_mappings(setting: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_mapping(settings=[setting])
    with pytest.raises(UserError, match="needs a mapping"):
        load("x.csv", "table")


SHEET = "s,p,o,n,r\nPeru,The capital of {} is,Lima,Oslo,P36\n"
COLUMNS_OF_IT = ["subject=s", "prompt=p", "old=o", "new=n", "relation=r"]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.csv", SHEET.replace(",", ";"), "line 1: the columns are divided by semicolons, a .csv file needs commas"),
        ("a.csv", SHEET.replace(",", "\t"), "divided by tabs, a .csv file needs commas; .*with tabs is called .tsv"),
        ("a.tsv", SHEET.replace(",", ";"), "divided by semicolons, a .tsv file needs tabs"),
        ("a.tsv", SHEET, "divided by commas, a .tsv file needs tabs"),
        (
            "a.csv",
            SHEET.replace("The", "The {name}"),
            r"line 2: invalid record: .* the placeholder \{name\}",
        ),
        ("a.csv", SHEET.replace("Peru", "Per\u00fa"), "line 2: malformed record: not UTF-8 text"),
        (
            "a.jsonl",
            '{"s": {"label": "Peru"}, "p": "", "o": "", "n": "", "r": ""}',
            "'s' holds an object .* fields label",
        ),
        ("a.jsonl", '{"s": "Peru", "p": "x {}", "o": [{"a": 1}], "n": "", "r": ""}', "'o' holds a list of objects"),
    ],
)
def test_odd_sheets_are_told_in_one_sentence(tmp_path: Path, name: str, text: str, words: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="latin-1" if "UTF-8" in words else "utf-8")
    with pytest.raises(DataError, match=words) as error:
        load(path, mapping=read_mapping(None, COLUMNS_OF_IT)).require()
    assert "\n" not in str(error.value)
