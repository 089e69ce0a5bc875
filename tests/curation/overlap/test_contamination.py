from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from curation.loaders.importer import import_split
from curation.overlap.contamination import LEVELS, TextCollection, open_collection, overlap
from curation.overlap.near_duplicates import default_threshold, near_duplicates, store_items
from curation.rules.rule import SplitRule
from curation.shipped import shipped_split
from curation.similarity.texts import rouge1_f
from curation.splits.split_file import write_split
from curation.store.store import Store
from schemas.cases import EventCase
from schemas.core.errors import DataError, StoreError, UserError
from schemas.facts import Entity, Fact, Object, Relation, Source
from tests.support import ROOT
from tests.support.commands import invoke
from tests.support.curation.mini_store import mini_store
from tests.support.curation.near_texts import items, made, slow_pairs
from tests.support.curation.rule_outcomes import choose
from tests.support.curation.rule_records import BESIDE, CHAINS, EDIT, LINK, OTHER, P0, Q0
from tests.support.facts import peru_fact
from tests.support.small import SMALL, small_split

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
        (
            {"relation": {"id": "template:a-x"}, "prompt": "{} is the home of"},
            {"same_edit", "same_fact", "same_subject_relation", "same_subject"},
        ),
        (
            {"relation": {"id": "template:a-x"}, "prompt": "{} is the home of", "old": {"text": "Cusco"}},
            {"same_subject"},
        ),
        ({"relation": {"id": "P17"}, "prompt": "{} lies in"}, {"same_subject"}),
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


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text(other(key="t/1").model_dump_json() + "\n")
    (tmp_path / "eval.jsonl").write_text(PERU.model_dump_json() + "\n")
    sides = (tmp_path / "eval.jsonl", tmp_path / "train.jsonl")
    report = json.loads(invoke("split", "overlap", *sides, "--json"))
    assert report["levels"][0]["examples"][0]["what"] == "The capital of Peru is Lima -> Oslo"
    assert "1 of A (100.0%), 1 of B  same_edit" in invoke("split", "overlap", *sides)
    assert invoke("split", "overlap", *sides, "--fail-on", "near_text")
    with pytest.raises(UserError, match=r"share what they must not: same_edit \(1 of 1\)"):
        invoke("split", "overlap", *sides, "--fail-on", "same_edit")
    with pytest.raises(UserError, match="unknown overlap level"):
        invoke("split", "overlap", *sides, "--fail-on", "same")


PERU_FACT = peru_fact("a/peru")


def test_sources(tmp_path: Path) -> None:
    split = small_split()
    write_split(split, tmp_path / "s.jsonl")
    import_split(split, tmp_path / "s.duckdb", origin="mini")
    (tmp_path / "t.txt").write_text("one line\n\nanother\n")
    (tmp_path / "f.jsonl").write_text(PERU_FACT.model_dump_json() + "\n")
    rows = {p: open_collection(tmp_path / p) for p in ("s.jsonl", "s.duckdb", "t.txt", "f.jsonl")}
    assert rows["s.jsonl"].owners == open_collection(SMALL).owners
    assert list(rows["s.jsonl"].texts) == list(open_collection(SMALL).texts)
    assert len(rows["s.duckdb"].texts) > len(rows["s.jsonl"].texts), "neighbours are in the store too"
    assert len(rows["t.txt"].owners) == 2 and rows["f.jsonl"].facts[0][1] == PERU_FACT
    for name in ("absent.txt", "absent.jsonl"):
        with pytest.raises(UserError):
            open_collection(tmp_path / name)


def test_a_store_gives_questions_and_prompts_under_their_fact(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    with Store.open(path, create=True) as store:
        store.put([EDIT, OTHER, LINK, *CHAINS[0], *BESIDE])
        store.put([P0.model_copy(update={"step": 1})])  # only the present version counts
    collection = open_collection(path)
    texts = [t.text for t in collection.texts if t.owner == EDIT.key]
    assert texts == [EDIT.fact_prompt, *EDIT.paraphrases, Q0.text, P0.text]
    assert collection.owners == (OTHER.key, EDIT.key) or collection.owners == (EDIT.key, OTHER.key)


def test_a_file_gives_its_own_facts_and_leaves_bad_records_out(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    path.write_text(
        PERU_FACT.model_dump_json() + "\n{broken\n" + peru_fact("b/1", subject="Chile").model_dump_json() + "\n"
    )
    assert open_collection(path).owners == ("a/peru", "b/1")


FAULTS = [
    ("nothing.jsonl", PERU_FACT.model_dump_json().replace("Lima", "").encode(), DataError, "no usable fact"),
    ("latin.txt", b"Z\xfcrich\n", UserError, "not UTF-8 text"),
    ("plain.duckdb", b"no database", StoreError, "not a DuckDB file"),
    ("split.jsonl", b'{"split": "s", "digest": "0"}\n', DataError, "not a split file"),
]


@pytest.mark.parametrize(("name", "content", "error", "message"), FAULTS, ids=[f[0] for f in FAULTS])
def test_what_is_no_side(tmp_path: Path, name: str, content: bytes, error: type[UserError], message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(error, match=message) as refusal:
        open_collection(tmp_path / name)
    assert name in str(refusal.value)


def test_a_split_of_events_is_its_texts(tmp_path: Path) -> None:
    write_split(shipped_split("events"), tmp_path / "e.jsonl")
    shipped, collection = open_collection("events"), open_collection(tmp_path / "e.jsonl")
    assert len(collection.owners) == 24 and collection.owners == shipped.owners and not collection.facts
    case = shipped_split("events").all_cases[0]
    assert isinstance(case, EventCase)
    texts = [case.event.text, *(q.text for q in (*case.facts, *case.tendencies))]
    assert [t.text for t in collection.texts if t.owner == case.key] == texts and not any(
        t.cloze for t in collection.texts
    )
    shared = {row.name: row.a for row in overlap(shipped, collection).levels}
    assert shared["same_text"] == 24 and shared["same_edit"] == 0


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return mini_store(tmp_path_factory.mktemp("dedup"))


CHAIN = ("a b c d e", "a b c d x", "a b c y x", "q r s t u")  # 0-1 and 1-2 share 4 of 5, 0-2 share 3 of 5


def test_clusters_and_verdicts_of_a_chain() -> None:
    pairs = near_duplicates(items(*CHAIN), threshold=0.8)
    (cluster,) = pairs.clusters()
    assert [m.key for m in cluster.members] == ["k0", "k1", "k2"] and cluster.greatest == pytest.approx(0.8)
    verdicts = {v.item_id: v for v in pairs.verdicts()}
    assert [verdicts[f"id{n}"].label for n in range(4)] == ["keep", None, None, "keep"]
    assert verdicts["id2"].related == ("id1",) and verdicts["id2"].value == pytest.approx(0.8)
    assert verdicts["id1"].by == "near_duplicate@1" and verdicts["id1"].unit == "rouge1_f"
    assert "0.8" in verdicts["id3"].reason


@pytest.mark.parametrize("seed", range(4))
def test_a_rule_over_the_values_keeps_an_independent_set_at_any_threshold(seed: int) -> None:
    texts = made(120, seed=seed)
    pairs = near_duplicates(items(*texts), threshold=0.4)
    place = {item.id: n for n, item in enumerate(pairs.items)}
    for threshold in (0.4, 0.6, 0.9):
        numbers = [n for n in range(len(pairs.items)) if pairs.best[n] < threshold - 1e-9]
        kept_texts = [pairs.items[n].text for n in numbers]
        assert not slow_pairs(kept_texts, threshold), "no two kept items are alike"
        for n in set(range(len(pairs.items))) - set(numbers):
            partner = pairs.items[pairs.partner[n]]
            assert place[partner.id] < n, "what is left out has a preferred one"
            assert pairs.best[n] == pytest.approx(rouge1_f(partner.text, pairs.items[n].text))
    heads = {c.members[0].id for c in pairs.clusters()}
    assert all(pairs.best[place[h]] == 0 for h in heads), "the representative of a cluster is always kept"


def test_groups_are_apart() -> None:
    same = items("how to go", "how to go", "how to go", groups="xyx")
    for method in ("rouge1", "exact"):
        pairs = near_duplicates(same, method=method, within="fact")  # type: ignore[arg-type]
        assert [m.key for c in pairs.clusters() for m in c.members] == ["k0", "k2"], method
        assert pairs.by.endswith("_in_fact@1")


def test_exact_ignores_case_and_signs() -> None:
    pairs = near_duplicates(items("How to go?", "how  to GO", "how to go there"), method="exact")
    assert pairs.duplicates == 1 and next(pairs.verdicts()).by == "exact_duplicate@1"


@pytest.mark.parametrize("count", [0, 1])
@pytest.mark.parametrize("method", ["rouge1", "exact"])
def test_nothing_to_compare(count: int, method: str) -> None:
    pairs = near_duplicates(items(*["?"] * count), method=method)  # type: ignore[arg-type]
    assert not list(pairs.clusters()) and len(list(pairs.verdicts())) == count


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "rogue1"}, "did you mean 'rouge1'"),
        ({"prefer": "best"}, "unknown preference"),
        ({"within": "country"}, "unknown scope"),
        ({"threshold": 0.0}, "out of range"),
        ({"threshold": 1.01}, "out of range"),
        ({"threshold": float("nan")}, "out of range"),
    ],
)
def test_mistakes(options: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        near_duplicates(items("a"), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["question", "prompt", "fact"])
@pytest.mark.parametrize("scope", ["all", "fact", "relation"])
def test_items_of_a_store(store: Path, kind: str, scope: str) -> None:
    with Store.open(store) as s:
        items = list(store_items(s, kind, within=scope))  # type: ignore[arg-type]
        of_split = list(store_items(s, kind, within=scope, split="mini"))  # type: ignore[arg-type]
        groups = {"all": 1, "fact": 58, "relation": len({c.fact.relation.id for c in small_split().cases})}
    assert {i.id for i in of_split} <= {i.id for i in items}
    assert len({i.group for i in of_split}) == groups[scope]


def test_a_kind_without_text_is_refused(store: Path) -> None:
    with Store.open(store) as s, pytest.raises(UserError, match="no text to compare"):
        list(store_items(s, "neighbour"))


def test_the_default_and_the_shipped_rule_leave_mini_standing(tmp_path: Path) -> None:
    """At 0.4 among all questions 56 of 58 cases were gone."""
    path = mini_store(tmp_path)
    rule = SplitRule.model_validate(tomllib.loads((ROOT / "configs/rules/scedit.toml").read_text("utf-8"))["rule"])
    with Store.open(path, write=True) as store:
        threshold = default_threshold("rouge1", "question")
        store.put(near_duplicates(store_items(store), threshold=threshold).verdicts())
        assert len(choose(store, rule).cases) == 58
