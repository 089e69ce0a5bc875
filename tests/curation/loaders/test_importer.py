"""Facts and splits into a store: sources, conflicts, keys with a prefix."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from curation.loaders import load
from curation.loaders.audit import defects
from curation.loaders.formats.native import TableMapping
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
from schemas.facts import Fact
from tests.support.curation.importable_files import SHORT, write
from tests.support.curation.rule_records import EDIT, said
from tests.support.facts import peru_fact
from tests.support.small import small_split


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
