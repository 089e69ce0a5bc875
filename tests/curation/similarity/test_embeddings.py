from __future__ import annotations

import numpy as np
import pytest

from curation.files.model_packages import minilm_folder
from curation.overlap.near_duplicates import TextItem, near_duplicates
from curation.similarity.embeddings import Embedder
from curation.similarity.pairs import cosine_pairs
from schemas.core.errors import ModelError, UserError


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
