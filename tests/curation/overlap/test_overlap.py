"""What two collections share, near-duplicates in one, and the search for pairs against the double loop."""

from __future__ import annotations

import itertools
import json
import random
import tomllib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.files.model_packages import minilm_folder
from curation.loaders.importer import import_split
from curation.overlap.contamination import LEVELS, TextCollection, open_collection, overlap
from curation.overlap.near_duplicates import default_threshold, near_duplicates, store_items
from curation.rules.rule import SplitRule
from curation.shipped import shipped_split
from curation.similarity.embeddings import Embedder
from curation.similarity.pairs import cosine_pairs, encode, similar_pairs
from curation.similarity.texts import TextItem, case_records, group_of, record_text, rouge1_f
from curation.splits.split_file import write_split
from curation.store.store import Store
from schemas.cases import Case, EventCase
from schemas.core.errors import DataError, ModelError, StoreError, UserError
from schemas.facts import Entity, Fact, Object, Relation, Source
from tests.support import ROOT
from tests.support.arithmetic import make_case
from tests.support.commands import invoke
from tests.support.curation.mini_store import mini_store
from tests.support.curation.rule_outcomes import choose
from tests.support.curation.rule_records import BESIDE, CHAINS, EDIT, LINK, OTHER, P0, Q0, S0
from tests.support.facts import peru_fact
from tests.support.small import SMALL, small_split

WORDS = ["how", "can", "i", "visit", "the", "red", "old", "castle", "in", "peru", "chile", "oslo", "by", "train"]


def made(n: int, *, seed: int = 0, vocabulary: list[str] = WORDS) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(rng.choices(vocabulary, k=rng.randint(0, 9))) for _ in range(n)]


def slow_pairs(texts: list[str], threshold: float) -> dict[tuple[int, int], float]:
    pairs = {(i, j): rouge1_f(texts[i], texts[j]) for i, j in itertools.combinations(range(len(texts)), 2)}
    return {k: v for k, v in pairs.items() if v >= threshold - 1e-9}


def items(*texts: str, groups: str = "") -> list[TextItem]:
    return [TextItem(f"id{n}", f"k{n}", t, groups[n] if groups else "") for n, t in enumerate(texts)]


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


FOLLOWING = "How can I {} the {} of {} by {} with {} and {} before {} comes"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(alphabet="ab c東é ", max_size=14), max_size=14), st.sampled_from([0.2, 0.4, 2 / 3, 1.0]))
def test_the_join_equals_the_double_loop_on_odd_texts(texts: list[str], threshold: float) -> None:
    blocks = list(similar_pairs(encode(texts), threshold=threshold, cells=7))
    duplicates = [(int(i), int(j)) for b in blocks for i, j in zip(b.first, b.second, strict=True)]
    assert len(duplicates) == len(set(duplicates)), "each pair once"
    assert set(duplicates) == set(slow_pairs(texts, threshold))


@pytest.mark.parametrize("threshold", [0.5, 0.8])
def test_two_collections_of_long_texts(threshold: float) -> None:
    """Templates with few rare words; some texts are equal, some are empty."""
    rng = random.Random(7)
    texts = ["", "?!", *(FOLLOWING.format(*rng.choices("abcdefghij", k=7)) for _ in range(45))] + ["x x x y"] * 3
    rng.shuffle(texts)
    for between in (0, 30, len(texts), None):
        blocks = list(similar_pairs(encode(texts), threshold=threshold, between=between, cells=50))
        duplicates = [(int(i), int(j)) for b in blocks for i, j in zip(b.first, b.second, strict=True)]
        assert len(duplicates) == len(set(duplicates)), "each pair once"
        across = {(i, j) for i, j in slow_pairs(texts, threshold) if between is None or i < between <= j}
        assert set(duplicates) == across


def test_each_kind_is_compared_by_its_own_text() -> None:
    assert record_text(Q0) == Q0.text and record_text(P0) == P0.text
    assert record_text(S0) == "Pack\nFly to Lima"
    assert record_text(EDIT) == "The capital of Peru is Lima"
    with pytest.raises(UserError, match="a neighbour has no text to compare; allowed: question, fact, prompt, script"):
        record_text(LINK)


def test_a_record_that_cases_share_comes_once_and_neighbours_stay_out() -> None:
    case = make_case("Peru")
    twice = [case, Case(**{**dict(case), "key": "case/again"})]
    assert list(case_records(twice, "prompt")) == list(case.prompts)
    assert list(case_records(twice, "fact")) == [case.fact]
    with pytest.raises(UserError, match="a split's cases hold no script; allowed: question, prompt, fact"):
        list(case_records(twice, "script"))


@pytest.mark.parametrize(
    ("scope", "groups"), [("all", ["", "", ""]), ("fact", [EDIT.key] * 3), ("relation", ["P36"] * 3)]
)
def test_inside_which_group(scope: str, groups: list[str]) -> None:
    assert [group_of(r, scope, {EDIT.key: "P36"}) for r in (EDIT, Q0, P0)] == groups


ITEMS = [TextItem("i3", "c", "one two"), TextItem("i1", "a", "one two three"), TextItem("i2", "b", "one")]


@pytest.mark.parametrize(
    ("prefer", "keys"), [("key", "abc"), ("longest", "acb"), ("shortest", "bca"), ("judged", "cab")]
)
def test_who_comes_first(prefer: str, keys: str) -> None:
    found = near_duplicates(ITEMS, prefer=prefer, keeps={"i3": 1, "i2": -1})  # type: ignore[arg-type]
    assert "".join(i.key for i in found.items) == keys


@pytest.mark.parametrize(
    ("a", "b", "value"),
    [
        ("the cat sat", "the cat sat", 1.0),
        ("the cat sat", "sat cat the", 1.0),  # unigrams have no order
        ("a b c d", "a b x y", 0.5),  # 2·2/8
        ("the the the", "the", 0.5),  # clipped: 2·1/4
        ("the the", "the the the the", 2 / 3),  # clipped: 2·2/6
        ("How, can I?", "how CAN i", 1.0),
        ("São Paulo", "Sao Paulo", 1.0),
        ("Book_it, 2nd-class!", "book_it 2nd class", 1.0),
        ("don't", "dont", 0.0),  # don + t against dont
        ("東京へ", "東京", 0.8),  # each character a word
        ("", "", 0.0),
        ("?!", "?!", 0.0),
        ("abc", "", 0.0),
    ],
)
def test_rouge1_by_hand(a: str, b: str, value: float) -> None:
    assert rouge1_f(a, b) == rouge1_f(b, a) == pytest.approx(value)


def vectors(n: int, seed: int = 0) -> np.ndarray:
    v = np.random.default_rng(seed).normal(size=(n, 8)).astype(np.float32)
    return v / np.linalg.norm(v, axis=1, keepdims=True)


@pytest.mark.parametrize("block", [1, 7, 1000])
def test_blocks_equal_the_whole_product(block: int) -> None:
    v = vectors(60)
    duplicates = {
        (int(i), int(j)): x for b in cosine_pairs(v, threshold=0.3, block=block) for i, j, x in zip(*b, strict=True)
    }
    matrix = v @ v.T
    slow = {(i, j): matrix[i, j] for i in range(60) for j in range(i + 1, 60) if matrix[i, j] >= 0.3}
    assert duplicates == pytest.approx(slow, abs=1e-5) and len(slow) > 50


def test_groups_and_thresholds() -> None:
    v = np.repeat(vectors(1), 4, axis=0)
    pairs = [
        (int(i), int(j))
        for b in cosine_pairs(v, threshold=1.0, groups=list("xyxy"))
        for i, j, _ in zip(*b, strict=True)
    ]
    assert pairs == [(0, 2), (1, 3)]
    with pytest.raises(UserError, match="out of range"):
        list(cosine_pairs(v, threshold=0.0))


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    try:
        minilm_folder()
    except ModelError as error:
        pytest.skip(str(error))
    return Embedder(batch=2)


TEXTS = ["How can I travel to Paris?", "What is the way to get to Paris?", "Bake bread at home with yeast and flour"]


@pytest.mark.model
def test_nothing_of_a_library_is_shown_while_it_loads(embedder: Embedder, capfd: pytest.CaptureFixture[str]) -> None:
    Embedder()
    assert capfd.readouterr() == ("", "")


def test_meaning_is_nearer_than_words(embedder: Embedder) -> None:
    v = embedder.embed(TEXTS)
    assert v.shape == (3, 384) and np.allclose(np.linalg.norm(v, axis=1), 1, atol=1e-5)
    assert v[0] @ v[1] > 0.75 > 0.3 > v[0] @ v[2]
    single_vectors = np.concatenate([embedder.embed([t]) for t in TEXTS])
    assert np.allclose(v, single_vectors, atol=1e-5), "neither batch nor padding nor order changes a vector"
    assert embedder.embed([]).shape == (0, 384)


@pytest.mark.model
def test_verdicts_name_model_and_unit(embedder: Embedder) -> None:
    items = [TextItem(f"i{n}", f"k{n}", t) for n, t in enumerate(TEXTS)]
    duplicates = near_duplicates(items, method="embedding", threshold=0.7, embedder=embedder)
    verdicts = list(duplicates.verdicts())
    assert duplicates.duplicates == 1 and verdicts[1].unit == "cosine" and verdicts[1].model == "all-MiniLM-L6-v2"
    assert verdicts[1].by == "near_duplicate_embedding@1"


@pytest.mark.model
def test_an_absent_device_is_one_sentence() -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has the device")
    with pytest.raises(UserError, match="no device 'cuda'"):
        Embedder(device="cuda")
