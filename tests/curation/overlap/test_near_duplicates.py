from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from curation.overlap.near_duplicates import default_threshold, near_duplicates, store_items
from curation.rules.rule import SplitRule
from curation.rules.selection import choose
from curation.shipped import mini_split
from curation.similarity.texts import rouge1_f
from curation.store.store import Store
from schemas.core.errors import UserError
from tests.support import ROOT
from tests.support.curation.mini_store import mini_store
from tests.support.curation.near_texts import items, made, slow_pairs


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


@pytest.mark.parametrize(("prefer", "stays"), [("key", "k0"), ("longest", "k2"), ("shortest", "k0"), ("judged", "k1")])
def test_who_represents(prefer: str, stays: str) -> None:
    texts = items("visit old peru", "visit old peru now", "visit old peru right now")
    pairs = near_duplicates(texts, threshold=0.7, prefer=prefer, keeps={"id1": 2, "id0": 1})  # type: ignore[arg-type]
    assert next(pairs.clusters()).representative.key == stays


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
    heads = {c.representative.id for c in pairs.clusters()}
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
        ({"threshold": 1.2}, "out of range"),
    ],
)
def test_mistakes(options: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        near_duplicates(items("a"), **options)  # type: ignore[arg-type]


def test_an_item_given_twice_is_refused() -> None:
    with pytest.raises(UserError, match="given twice"):
        near_duplicates(items("a") * 2)


@pytest.mark.parametrize("kind", ["question", "prompt", "fact"])
@pytest.mark.parametrize("scope", ["all", "fact", "relation"])
def test_items_of_a_store(store: Path, kind: str, scope: str) -> None:
    with Store.open(store) as s:
        items = list(store_items(s, kind, within=scope))  # type: ignore[arg-type]
        of_split = list(store_items(s, kind, within=scope, split="mini"))  # type: ignore[arg-type]
        groups = {"all": 1, "fact": 58, "relation": len({c.fact.relation.id for c in mini_split().cases})}
    assert {i.id for i in of_split} <= {i.id for i in items}
    assert len({i.group for i in of_split}) == groups[scope]


def test_a_kind_without_text_is_refused(store: Path) -> None:
    with Store.open(store) as s, pytest.raises(UserError, match="no text to compare"):
        list(store_items(s, "neighbour"))


def test_the_benchmark_measures_itself_against_the_truth() -> None:
    root = ROOT
    if not (root / "benchmarks" / "curation.py").is_file():
        pytest.skip("the benchmarks are not shipped with the package")
    command = [sys.executable, "-m", "benchmarks.curation", "--one", "rouge1:1500:0.8", "--pairs", "30"]
    process = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    result = json.loads(process.stdout)
    assert result["item_precision"] == 1.0 and result["item_recall"] > 0.9 and result["duplicates"] > 150
    assert result["sample_true_pairs"] > 5 and result["peak_mib"] > result["start_mib"] > 0


@pytest.mark.parametrize(
    ("method", "kind", "threshold"),
    [("rouge1", "question", 0.7), ("rouge1", "fact", 0.7), ("rouge1", "script", 0.4), ("rouge1", "prompt", 0.4),
     ("embedding", "question", 0.9), ("exact", "question", 1.0)],
)  # fmt: skip
def test_short_texts_have_a_higher_default(method: str, kind: str, threshold: float) -> None:
    assert default_threshold(method, kind) == threshold


def test_the_default_and_the_shipped_rule_leave_mini_standing(tmp_path: Path) -> None:
    """At 0.4 among all questions 56 of 58 cases were gone."""
    path = mini_store(tmp_path)
    rule = SplitRule.model_validate(tomllib.loads((ROOT / "configs/rules/scedit.toml").read_text("utf-8"))["rule"])
    with Store.open(path, write=True) as store:
        threshold = default_threshold("rouge1", "question")
        store.put(near_duplicates(store_items(store), threshold=threshold).verdicts())
        assert len(choose(store, rule).cases) == 58
