from __future__ import annotations

import itertools
import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.cli import overlap as commands_dedup
from curation.loaders.importer import keep_split
from curation.overlap.near_duplicates import Item, near_duplicates, store_items
from curation.shipped import mini_split
from curation.similarity.minhash import Plan, candidate_pairs, minhash_pairs, plan
from curation.similarity.rouge import can_reach, encode, plain_text, rouge1_f, similar_pairs, words
from curation.store.store import Store
from schemas.core.errors import UserError
from tests.support import ROOT

WORDS = ["how", "can", "i", "visit", "the", "red", "old", "castle", "in", "peru", "chile", "oslo", "by", "train"]


def made(n: int, *, seed: int = 0, vocabulary: list[str] = WORDS) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(rng.choices(vocabulary, k=rng.randint(0, 9))) for _ in range(n)]


def slow_pairs(texts: list[str], threshold: float) -> dict[tuple[int, int], float]:
    pairs = {(i, j): rouge1_f(texts[i], texts[j]) for i, j in itertools.combinations(range(len(texts)), 2)}
    return {k: v for k, v in pairs.items() if v >= threshold - 1e-9}


def items(*texts: str, groups: str = "") -> list[Item]:
    return [Item(f"id{n}", f"k{n}", t, groups[n] if groups else "") for n, t in enumerate(texts)]


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
        ("don't", "dont", 0.0),  # don + t against dont
        ("東京へ", "東京", 0.8),  # each character a word
        ("", "", 0.0),
        ("?!", "?!", 0.0),
        ("abc", "", 0.0),
    ],
)
def test_rouge1_by_hand(a: str, b: str, value: float) -> None:
    assert rouge1_f(a, b) == rouge1_f(b, a) == pytest.approx(value)


def test_plain_text_keeps_what_tells_names_apart() -> None:
    assert plain_text("C++") != plain_text("C") != plain_text("C#")
    assert plain_text(" The  Hague. ") == plain_text("the hague")
    assert plain_text("?!") == "?!", "a text without a letter is still itself"


@pytest.mark.parametrize("threshold", [0.05, 0.4, 0.5, 0.7, 0.8, 1.0])
@pytest.mark.parametrize("work", [1, 300, 10**6])
def test_the_join_equals_the_double_loop(threshold: float, work: int) -> None:
    texts = made(130, seed=int(threshold * 100))
    found = {
        (int(i), int(j)): v
        for block in similar_pairs(encode(texts), threshold=threshold, work=work)
        for i, j, v in zip(*block, strict=True)
    }
    assert found == pytest.approx(slow_pairs(texts, threshold))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(alphabet="ab c東é ", max_size=14), max_size=14), st.sampled_from([0.2, 0.4, 2 / 3, 1.0]))
def test_the_join_equals_the_double_loop_on_odd_texts(texts: list[str], threshold: float) -> None:
    blocks = list(similar_pairs(encode(texts), threshold=threshold, work=7))
    found = [(int(i), int(j)) for b in blocks for i, j in zip(b.first, b.second, strict=True)]
    assert len(found) == len(set(found)), "each pair once"
    assert set(found) == set(slow_pairs(texts, threshold))


def test_two_collections_are_joined_across_only() -> None:
    texts = made(90, seed=3)
    blocks = similar_pairs(encode(texts), threshold=0.5, between=40)
    found = {(int(i), int(j)) for b in blocks for i, j in zip(b.first, b.second, strict=True)}
    assert found == {(i, j) for i, j in slow_pairs(texts, 0.5) if i < 40 <= j}


def test_the_parity_filter_rules_out_much_and_nothing_true() -> None:
    texts = made(150, seed=5, vocabulary=[f"w{n}" for n in range(60)])
    rows = encode(texts)
    first, second = np.triu_indices(len(texts), 1)
    for threshold in (0.3, 0.6, 0.9):
        hope = can_reach(rows, first, second, threshold=threshold)
        true = np.array([rouge1_f(texts[i], texts[j]) >= threshold - 1e-9 for i, j in zip(first, second, strict=True)])
        assert not (true & ~hope).any()
    assert hope.mean() < 0.05


def test_columns_do_not_depend_on_the_order_of_texts() -> None:
    texts = made(50)
    one, two = encode(texts), encode(texts[::-1])
    assert (one.matrix != two.matrix[::-1]).nnz == 0


@pytest.mark.parametrize(("threshold", "recall"), [(0.4, 0.99), (0.6, 0.9), (0.8, 0.99), (1.0, 0.99)])
def test_a_plan_keeps_its_promise(threshold: float, recall: float) -> None:
    how = plan(threshold, recall=recall)
    assert how.recall(threshold) >= recall and how.rows * how.bands <= 256
    assert how.recall(threshold / 2) < recall


def test_minhash_finds_what_its_plan_expects_and_nothing_false() -> None:
    vocabulary = [f"w{n}" for n in range(400)]
    rng = random.Random(1)
    texts = made(300, seed=7, vocabulary=vocabulary)
    for _ in range(300):
        parts = rng.choice(texts[:300]).split() or ["w0"]
        parts[rng.randrange(len(parts))] = rng.choice(vocabulary)
        texts.append(" ".join(parts))
    truth = slow_pairs(texts, 0.7)
    rows = encode(texts)
    found = {(int(i), int(j)): v for b in minhash_pairs(rows, threshold=0.7) for i, j, v in zip(*b, strict=True)}
    assert set(found) <= set(truth) and found == pytest.approx({k: truth[k] for k in found})
    assert len(found) >= 0.97 * len(truth) > 200
    again = {
        (int(i), int(j)) for b in minhash_pairs(rows, threshold=0.7) for i, j in zip(b.first, b.second, strict=True)
    }
    assert again == set(found), "seeded"
    few = Plan(rows=8, bands=1)
    fewer = {k for b in minhash_pairs(rows, threshold=0.7, how=few) for k in zip(b.first, b.second, strict=True)}
    assert len(fewer) < len(found), "one narrow band misses some: the promise is the plan's, not luck's"


def test_a_bucket_of_equal_texts_costs_a_window_and_stays_one_cluster() -> None:
    rows = encode(["the same text"] * 500)
    counts = sum(len(first) for first, _ in candidate_pairs(rows, how=Plan(1, 1), window=8))
    assert counts < 500 * 10
    found = near_duplicates(items(*["the same text"] * 500), method="minhash", threshold=0.9)
    (cluster,) = found.clusters()
    assert len(cluster.members) == 500 and found.duplicates == 499


CHAIN = ("a b c d e", "a b c d x", "a b c y x", "q r s t u")  # 0-1 and 1-2 share 4 of 5, 0-2 share 3 of 5


def test_clusters_and_verdicts_of_a_chain() -> None:
    found = near_duplicates(items(*CHAIN), threshold=0.8)
    (cluster,) = found.clusters()
    assert [m.key for m in cluster.members] == ["k0", "k1", "k2"] and cluster.greatest == pytest.approx(0.8)
    verdicts = {v.item_id: v for v in found.verdicts()}
    assert [verdicts[f"id{n}"].label for n in range(4)] == ["keep", None, None, "keep"]
    assert verdicts["id2"].related == ("id1",) and verdicts["id2"].value == pytest.approx(0.8)
    assert verdicts["id1"].by == "near_duplicate@1" and verdicts["id1"].unit == "rouge1_f"
    assert "0.8" in verdicts["id3"].reason


@pytest.mark.parametrize(("prefer", "stays"), [("key", "k0"), ("longest", "k2"), ("shortest", "k0"), ("judged", "k1")])
def test_who_represents(prefer: str, stays: str) -> None:
    texts = items("visit old peru", "visit old peru now", "visit old peru right now")
    found = near_duplicates(texts, threshold=0.7, prefer=prefer, keeps={"id1": 2, "id0": 1})  # type: ignore[arg-type]
    assert next(found.clusters()).representative.key == stays


@pytest.mark.parametrize("seed", range(4))
def test_a_rule_over_the_values_keeps_an_independent_set_at_any_threshold(seed: int) -> None:
    texts = made(120, seed=seed)
    found = near_duplicates(items(*texts), threshold=0.4)
    place = {item.id: n for n, item in enumerate(found.items)}
    for threshold in (0.4, 0.6, 0.9):
        kept = [n for n in range(len(found.items)) if found.best[n] < threshold - 1e-9]
        kept_texts = [found.items[n].text for n in kept]
        assert not slow_pairs(kept_texts, threshold), "no two kept items are alike"
        for n in set(range(len(found.items))) - set(kept):
            partner = found.items[found.partner[n]]
            assert place[partner.id] < n, "what is left out has a preferred one"
            assert found.best[n] == pytest.approx(rouge1_f(partner.text, found.items[n].text))
    heads = {c.representative.id for c in found.clusters()}
    assert all(found.best[place[h]] == 0 for h in heads), "the representative of a cluster is always kept"


def test_groups_are_apart() -> None:
    same = items("how to go", "how to go", "how to go", groups="xyx")
    for method in ("rouge1", "minhash", "exact"):
        found = near_duplicates(same, method=method, within="fact")  # type: ignore[arg-type]
        assert [m.key for c in found.clusters() for m in c.members] == ["k0", "k2"], method
        assert found.by.endswith("_in_fact@1")


def test_exact_ignores_case_and_signs() -> None:
    found = near_duplicates(items("How to go?", "how  to GO", "how to go there"), method="exact")
    assert found.duplicates == 1 and next(found.verdicts()).by == "exact_duplicate@1"


@pytest.mark.parametrize("count", [0, 1])
@pytest.mark.parametrize("method", ["rouge1", "minhash", "exact"])
def test_nothing_to_compare(count: int, method: str) -> None:
    found = near_duplicates(items(*["?"] * count), method=method)  # type: ignore[arg-type]
    assert not list(found.clusters()) and len(list(found.verdicts())) == count


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "rogue1"}, "did you mean 'rouge1'"),
        ({"prefer": "best"}, "unknown preference"),
        ({"within": "country"}, "unknown scope"),
        ({"threshold": 0.0}, "out of range"),
        ({"threshold": 1.2}, "out of range"),
    ],
)
def test_mistakes(options: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        near_duplicates(items("a"), **options)  # type: ignore[arg-type]


def test_an_item_given_twice_is_refused() -> None:
    with pytest.raises(UserError, match="given twice"):
        near_duplicates(items("a") * 2)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dedup") / "s.duckdb"
    keep_split(mini_split(), path, origin="mini")
    return path


def run(command: object, *args: object) -> str:
    result = CliRunner().invoke(command, [str(a) for a in args], standalone_mode=False, catch_exceptions=False)  # type: ignore[arg-type]
    return result.output


def test_the_command_writes_verdicts_and_judging_again_replaces_them(store: Path) -> None:
    said = json.loads(run(commands_dedup.dedup, "-s", store, "--threshold", 0.6, "--json").splitlines()[0])
    assert said["by"] == "near_duplicate@1" and said["verdicts_written"] == said["items"] > 200
    with Store.open(store) as s:
        one = {v.item_id: v for v in s.verdicts() if v.check == "near_duplicate"}
    assert len(one) == said["items"] and sum(v.value is not None for v in one.values()) == said["duplicates"]
    run(commands_dedup.dedup, "-s", store, "--threshold", 0.9)
    with Store.open(store) as s:
        two = [v for v in s.verdicts() if v.check == "near_duplicate"]
    assert len(two) == len(one), "one current verdict an item"
    assert all(v.value is None or v.value >= 0.9 for v in two)


def test_a_dry_run_writes_nothing_and_shows_clusters(store: Path) -> None:
    with Store.open(store) as s:
        before = s.stats()
    text = run(
        commands_dedup.dedup, "-s", store, "--within", "relation", "--threshold", 0.6, "--split", "mini", "--dry-run"
    )
    assert "nothing written" in text and "stays" in text and "near" not in text.split(";")[1]
    with Store.open(store) as s:
        assert s.stats() == before


@pytest.mark.parametrize("kind", ["question", "prompt", "fact"])
@pytest.mark.parametrize("within", ["all", "fact", "relation"])
def test_items_of_a_store(store: Path, kind: str, within: str) -> None:
    with Store.open(store) as s:
        found = list(store_items(s, kind, within=within))  # type: ignore[arg-type]
        of_split = list(store_items(s, kind, within=within, split="mini"))  # type: ignore[arg-type]
        groups = {"all": 1, "fact": 58, "relation": len({c.fact.relation.id for c in mini_split().cases})}
    assert {i.id for i in of_split} <= {i.id for i in found}
    assert len({i.group for i in of_split}) == groups[within]


def test_a_kind_without_text_is_refused(store: Path) -> None:
    with Store.open(store) as s, pytest.raises(UserError, match="no text to compare"):
        list(store_items(s, "neighbour"))


def test_words_are_as_stated() -> None:
    assert words("Step 1: Book_it, 2nd-class!") == ["step", "1", "book_it", "2nd", "class"]


def test_the_benchmark_measures_itself_against_the_truth() -> None:
    root = ROOT
    if not (root / "benchmarks" / "curation.py").is_file():
        pytest.skip("the benchmarks are not shipped with the package")
    command = [sys.executable, "-m", "benchmarks.curation", "--one", "minhash:1500:0.8", "--pairs", "30"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    result = json.loads(done.stdout)
    assert result["item_precision"] == 1.0 and result["item_recall"] > 0.9 and result["duplicates"] > 150
    assert result["sample_true_pairs"] > 5 and result["peak_mib"] > result["start_mib"] > 0
