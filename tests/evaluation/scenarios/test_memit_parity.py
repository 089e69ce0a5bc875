"""MEMIT and its covariances against the published code's measured results, on SmolLM2-135M in float32.

Apart from the other methods (``test_parity``), since the covariances of five layers take minutes.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from curation.files.artifact_cache import Cache
from evaluation.covariance.covariance import Corpus, key_covariances
from evaluation.editors.base import Editor
from evaluation.editors.presets import make_editor
from evaluation.models.language_model import LM
from tests.evaluation.scenarios.test_parity import cases, published_moments, reference, together

__all__ = ["reference"]  # a fixture
pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(
        not os.environ.get("SCEDIT_EVERY_FACT"),
        reason="second moments of five layers take ten minutes: SCEDIT_EVERY_FACT=1, or benchmarks.editing.parity",
    ),
]

MEMIT = {100: "memit_layers4-8_lambda100.json", 15000: "memit_layers4-8_lambda15000.json"}


@pytest.fixture(scope="module")
def measured(embedded: LM, reference: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the reference's corpus and a cache of its second moments: some minutes."""
    folder = tmp_path_factory.mktemp("measured")
    measure(embedded, reference, folder)
    return folder


def measure(lm: LM, reference: Path, folder: Path) -> None:
    documents = json.loads((reference / "covariance_corpus.json").read_text())
    (folder / "corpus.jsonl").write_text("".join(json.dumps({"text": one["text"]}) + "\n" for one in documents))
    key_covariances(lm, range(4, 9), Corpus([folder / "corpus.jsonl"]), cache=Cache(folder / "cache"), cap=1024)


def memit(lam: int, lm: LM, reference: Path, folder: Path) -> Editor:
    texts = json.loads((reference / "context_templates.json").read_text())["memit"]
    options = {
        "layers": [4, 5, 6, 7, 8],
        "lam": lam,
        "lr": 0.5,
        "clamp": 4.0,
        "weight_decay": 1e-3,
        "kl_weight": 0.0625,
        "templates": [text for kind in texts for text in kind],
        "corpus": str(folder / "corpus.jsonl"),
        "cap": 1024,
    }
    return make_editor("memit", lm, Cache(folder / "cache"), options)


@pytest.mark.slow
@pytest.mark.timeout(1500)  # on a machine that does much else
@pytest.mark.parametrize("lam", MEMIT)
def test_memit(lam: int, embedded: LM, reference: Path, measured: Path) -> None:
    together(embedded, memit(lam, embedded, reference, measured), cases(reference, MEMIT[lam]), within=0.02)


@pytest.mark.slow
def test_moments(embedded: LM, reference: Path, measured: Path) -> None:
    corpus = Corpus([measured / "corpus.jsonl"])
    covariance = key_covariances(embedded, [5], corpus, cache=Cache(measured / "cache"), cap=1024)[5]
    want = published_moments(reference)
    assert covariance.tokens == want.tokens
    assert (covariance.second - want.second).norm() < 1e-4 * want.second.norm()
