"""Our JSONL and CSV, foreign tables through a mapping, and files in a store: sources, conflicts, keys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from curation.loaders import load
from curation.loaders.audit import defects
from curation.loaders.formats.native import TableMapping, read_mapping, write_records
from curation.loaders.importer import (
    FileImport,
    Identity,
    check_prefix,
    import_file,
    import_split,
    split_with_prefix,
    with_prefix,
)
from curation.splits.split_file import make_split
from curation.store.import_sources import ConflictError
from curation.store.store import Store
from schemas.core.errors import DataError, UserError
from schemas.extras import Extra
from schemas.facts import Fact, Neighbour
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from tests.support.curation.importable_files import SHORT, write
from tests.support.curation.rule_records import EDIT, said
from tests.support.facts import peru_fact
from tests.support.small import small_split


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


def test_short_jsonl(tmp_path: Path) -> None:
    temporal = {**SHORT, "subject": {"text": "Chad", "aliases": ["Tchad"]}, "changed_on": "2021"}
    plain = {k: v for k, v in SHORT.items() if k != "new"} | {"subject": "Mali"}
    import_result = load(write(tmp_path / "mine.jsonl", SHORT, temporal, plain))
    assert [f.key for f in import_result.facts] == ["mine/p36/peru", "mine/p36/chad", "mine/p36/mali"]
    assert [f.change for f in import_result.facts] == ["counterfactual", "temporal", "none"]
    assert import_result.facts[1].subject.names == ("Chad", "Tchad")
    assert import_result.facts[0].source.licence == "not stated"


PROBLEMS = [
    ("bad json", '{"subject": "Per}\n', "malformed", "not valid JSON", True),
    ("not an object", "[1]", "malformed", "", True),
    ("missing field", {"subject": "A", "relation": "P1", "prompt": "{} is", "new": "x"}, "malformed", "'old'", True),
    ("equal objects", {**SHORT, "subject": "B", "new": "Lima"}, "invalid", "equal", True),
    ("no gap", {**SHORT, "subject": "C", "prompt": "nothing"}, "invalid", "exactly one", True),
    ("unknown field", {**SHORT, "subject": "D", "colour": 1}, "invalid", "is unknown", True),
    ("duplicate", SHORT, "duplicate", "stands twice", True),
    ("contradiction", {**SHORT, "key": "other", "old": "Cusco"}, "contradictory", "says 'Lima'", False),
]


@pytest.mark.parametrize(("row", "kind", "label", "losses"), [p[1:] for p in PROBLEMS], ids=[p[0] for p in PROBLEMS])
def test_problems_are_named_by_line(tmp_path: Path, row: object, kind: str, label: str, losses: bool) -> None:
    if row == "[1]":
        row = "1"
    path = write(tmp_path / "f.jsonl", SHORT, row)
    import_result = load(path, "jsonl")
    assert len(import_result.problems) == 1
    problem = import_result.problems[0]
    assert (problem.kind, problem.where, problem.lost) == (kind, f"{path}, line 2", losses)
    assert label in problem.what
    if losses:
        with pytest.raises(DataError, match=r"line 2: .*--skip-bad"):
            import_result.require()
        assert len(import_result.require(skip_bad=True)) == 1
    else:
        assert len(import_result.require()) == 2


def numbered(path: Path, name: str, count: int, *, prompts: int = 2) -> Path:
    """A ScEdit-CF file of cases numbered from 0."""
    rows = [
        {
            "case_id": n,
            "prompt": f"The capital of {name}{n} is",
            "subject": f"{name}{n}",
            "ground_truth": f"Old {name}{n}",
            "target_new": "Oslo",
            "property": "capital",
            "rephrase_prompts": [f"How to see {name}{n}? {k}\nStep 1: Fly to" for k in range(prompts)],
            "neighborhood_prompts": [f"How to see beside {name}{n}?\nStep 1: Fly to"],
        }
        for n in range(count)
    ]
    path.write_text(json.dumps(rows))
    return path


def bring(path: Path, file: Path, *, limit: int | None = None, **identity: Any) -> FileImport:
    return import_file(str(file), path, limit=limit, identity=Identity(**identity))


def held(path: Path) -> dict[str, int]:
    with Store.open(path) as store:
        return {kind: n["current"] for kind, n in store.stats()["records"].items()}


def test_two_files_numbered_from_0_do_not_become_one(tmp_path: Path) -> None:
    store = tmp_path / "s.duckdb"
    first = bring(store, numbered(tmp_path / "a.json", "A", 3))
    assert (first.update.new, bring(store, tmp_path / "a.json").update.new) == (first.update.put.seen, 0)
    before = held(store)
    with pytest.raises(ConflictError, match=r"16 records of 'b.json#\w+' .* held by 'a.json#\w+'"):
        bring(store, numbered(tmp_path / "b.json", "B", 2, prompts=3))
    assert held(store) == before
    second = bring(store, tmp_path / "b.json", prefix="b")
    assert second.update.source == "b" and second.update.new == second.update.put.seen
    with Store.open(store) as db:
        assert {f.key for f in db.all(Fact) if f.change != "none"} == {
            *(f"scedit-cf/{n}" for n in range(3)), "b/scedit-cf/0", "b/scedit-cf/1"
        }  # fmt: skip
    assert bring(store, numbered(tmp_path / "b.json", "B", 1), prefix="b").update.gone > 0, "NAME is its source, too"


def test_part_of_a_file_takes_nothing_away(tmp_path: Path) -> None:
    store, file = tmp_path / "s.duckdb", numbered(tmp_path / "a.json", "A", 3)
    bring(store, file)
    before = held(store)
    assert bring(store, file, limit=1).update.gone == 0 and held(store) == before


def test_another_mapping_of_one_table_is_another_source(tmp_path: Path) -> None:
    """Capital and currency of one table are read one after the other; neither takes the other away."""
    table, store = tmp_path / "t.csv", tmp_path / "s.duckdb"
    table.write_text("subject,capital,currency\nPeru,Lima,Sol\n")
    for relation in ("capital", "currency"):
        values = {"relation": relation, "prompt": f"The {relation} of {{}} is", "new": "Oslo"}
        mapping = TableMapping(columns={"old": relation}, values=values)
        assert import_file(str(table), store, mapping=mapping).update.new == 2
    assert held(store)["fact"] == 2


@pytest.mark.parametrize("name", ["", " x", "a\nb", "it's", "an unnamed earlier source", "x" * 201])
def test_names_that_no_source_can_have(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="cannot be the name of a source"):
        Identity(source=name).of("f", "d")


def test_contradictions_within_a_file_and_across_sources(tmp_path: Path) -> None:
    """Facts without keys of their own are both kept, and so are those of another file; all are listed."""
    store = tmp_path / "s.duckdb"
    rows = [SHORT, {**SHORT, "old": "Cusco"}, {**SHORT, "new": "Rome"}]
    limit = bring(store, write(tmp_path / "a.jsonl", *rows))
    assert (limit.facts, [p.kind for p in limit.shown]) == (3, ["contradictory"] * 2)
    across = bring(store, write(tmp_path / "b.jsonl", {**SHORT, "old": "Callao"}))
    (message,) = across.shown
    assert (
        message.kind == "contradictory" and message.where.endswith("b/p36/peru") and "this one 'Callao'" in message.what
    )
    assert held(store) == {"fact": 4}
    assert not bring(tmp_path / "t.duckdb", write(tmp_path / "c.jsonl", SHORT)).problems


@pytest.mark.parametrize("shape", ["lines", "array"])
def test_an_escaped_half_of_a_surrogate_pair_blocks_nothing_else(tmp_path: Path, shape: str) -> None:
    good = [json.loads(peru_fact(f"f/{n}").model_dump_json()) for n in range(3)]
    good[1]["old"]["text"] = "Li\ud800ma"
    texts = [json.dumps(value) for value in good]
    path = tmp_path / "facts.jsonl"
    path.write_text("\n".join(texts) if shape == "lines" else "[\n" + ",\n".join(texts) + "\n]")
    with pytest.raises(DataError, match=r"line [23]: malformed record: half of a surrogate pair"):
        import_file(str(path), tmp_path / "s.duckdb")
    import_result = import_file(str(path), tmp_path / "s.duckdb", skip_bad=True)
    assert (import_result.facts, import_result.problems) == (2, 1) and "surrogate" in import_result.shown[0].what
    assert [p.kind for p in defects(path)[1]] == ["malformed"]


LATIN = '{"subject": "Z\u00fcrich", "relation": "P36", "prompt": "{} is in", "old": "Bern"}'


@pytest.mark.parametrize("name", ["f.jsonl", "f.json"])
def test_another_encoding_is_one_sentence_with_line_and_next_step(tmp_path: Path, name: str) -> None:
    good = LATIN.replace("\u00fc", "u")
    text = f"{good}\n{LATIN}\n" if name == "f.jsonl" else f"[{good},\n{LATIN}]\n"
    (tmp_path / name).write_bytes(text.encode("latin-1"))
    with pytest.raises(DataError, match=r"line 2: .*not UTF-8 text \(Latin-1 or .*save the file as UTF-8"):
        load(tmp_path / name, "jsonl").require()
    assert len(load(tmp_path / name, "jsonl").require(skip_bad=True)) == 1


def test_an_older_version_of_a_split_after_its_facts_were_corrected_is_a_conflict(tmp_path: Path) -> None:
    """Its cases say what is no longer current: nothing is taken back unseen, and --as keeps it beside."""
    store, split = tmp_path / "s.duckdb", small_split()
    import_split(split, store, origin="mini")
    first = split.cases[0]
    variant = first.model_copy(update={"fact": first.fact.model_copy(update={"paraphrases": ("Mended {}",)})})
    fixed_split = make_split("mini", [variant, *list(split.cases)[1:]], version="2.0.0")
    import_split(fixed_split, store, origin="mini2", identity=Identity(replace=True))
    with pytest.raises(ConflictError, match="1 record of 'mini@1.0.0.* would take the place of others"):
        import_split(split, store, origin="mini")
    import_split(split, store, origin="mini", identity=Identity(prefix="old"))
    with Store.open(store) as db:
        assert db.get(first.fact.key) == variant.fact
        assert next(iter(db.open_split("old").cases)).fact.key == f"old/{first.fact.key}"
        assert db.open_split("mini@1.0.0").digest == split.digest, "the version itself is in the store since before"


CAPITALS = (
    "subject,relation,prompt,old,new\n"
    "Peru,P36,The capital of {} is,Lima,Oslo\n"
    "Chad,P36,The capital of {} is,NDjamena,Rome\n"
)


def test_a_corrected_file_of_another_name_corrects_under_its_source(tmp_path: Path) -> None:
    """Keys are made of the file's name where a table has none; the corrected file is often called otherwise."""
    first, second, store = tmp_path / "facts.csv", tmp_path / "facts-v2.csv", tmp_path / "s.duckdb"
    first.write_text(CAPITALS)
    second.write_text(CAPITALS.replace("Rome", "Bergen"))
    import_file(str(first), store, identity=Identity("mine"))
    update = import_file(str(second), store, identity=Identity("mine")).update
    assert (update.new, update.changed, update.gone) == (0, 1, 0)
    with Store.open(store) as open_store:
        assert {key for key, _ in open_store.keys("fact")} == {"facts/p36/peru", "facts/p36/chad"}
    third = import_file(str(first), store, identity=Identity("mine")).update
    assert (third.new, third.changed, third.gone) == (0, 1, 0), "and back"


@pytest.mark.parametrize("name", ["f.csv", "f.jsonl"])
def test_a_second_placeholder_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(CAPITALS.replace("of {} is,Lima", "of {} in {country} is,Lima"))
    if name == "f.jsonl":
        write(path, {**SHORT, "prompt": "The capital of {} in {country} is"})
    with pytest.raises(DataError, match=r"line [12]: invalid record: the prompt has the placeholder {country} beside"):
        import_file(str(path), tmp_path / "s.duckdb")
    assert not (tmp_path / "s.duckdb").exists()


COTE = CAPITALS.replace("Peru", "Côte d'Ivoire")
UNREADABLE = [
    ("f.json", b'{"a": 1}', "not a known shape"),
    ("f.json", b"[]", "holds no record"),
    ("f.json", b"nonsense", "not valid JSON"),
    *(
        ("f.csv", COTE.encode(name), f"not UTF-8 text but {name[:6].upper()};")
        for name in ("utf-16", "utf-16-be", "utf-32", "utf-32-le")
    ),
    ("f.csv", COTE.encode("latin-1"), "line 2: .*not UTF-8 text"),
    ("f.json", json.dumps({**SHORT, "old": 1969}).encode(), 'it is a number: write "1969"'),
    ("f.json", b'[{"id": 1, "annotation_id": 3, "lead_time": 3.2, "text": "How?"}]', "in its format JSON-MIN"),
    ("f.json", b'[{"split": "mine", "digest": "0", "cases": 1}]', "a frozen split, and no facts; scedit split add"),
]


@pytest.mark.parametrize(("name", "content", "message"), UNREADABLE)
def test_what_cannot_be_imported_is_told_and_makes_no_store(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        import_file(str(tmp_path / name), tmp_path / "s.duckdb")
    assert not (tmp_path / "s.duckdb").exists()


def test_what_belongs_to_one_content_cannot_be_moved() -> None:
    with pytest.raises(UserError, match="a verdict belongs to one content"):
        with_prefix(said(EDIT.id, "leak@1", "drop"), "b")


@pytest.mark.parametrize("name", ["", "a/b", "../x", "a b", ".hidden", "x" * 101, "a\n"])
def test_names_that_cannot_stand_before_keys(name: str) -> None:
    with pytest.raises(UserError, match="cannot stand before keys"):
        check_prefix(name)


def test_a_split_of_its_own() -> None:
    original = make_split("mini", small_split().cases[:3], details={"rule": {"prefix": "mini/"}})
    split = split_with_prefix(original, "b")
    assert (split.name, len(split.cases), split.digest == original.digest) == ("b", 3, False)
    assert split.digest == make_split("b", list(split.cases)).digest
    assert split.header["made_of"]["digest"] == original.digest and "rule" not in split.header
    for before, after in zip(original.cases, split.cases, strict=True):
        assert after.key == f"case/b/{before.key.removeprefix('case/')}" and after.fact.key == f"b/{before.fact.key}"
        assert {p.fact for p in after.prompts} == {after.fact.key}
        assert {n.link.fact for n in after.neighbours} == {n.fact.key for n in after.neighbours}
