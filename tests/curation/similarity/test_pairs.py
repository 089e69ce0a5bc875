"""Pairs of similar texts: the product against the double loop."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.files.model_packages import minilm_folder
from curation.overlap.near_duplicates import near_duplicates
from curation.similarity.embeddings import Embedder
from curation.similarity.pairs import cosine_pairs, encode, similar_pairs
from curation.similarity.texts import TextItem, case_records, group_of, record_text, rouge1_f
from schemas.cases import Case
from schemas.core.errors import ModelError, UserError
from tests.support.arithmetic import make_case
from tests.support.curation.near_texts import slow_pairs
from tests.support.curation.rule_records import EDIT, LINK, P0, Q0, S0

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
