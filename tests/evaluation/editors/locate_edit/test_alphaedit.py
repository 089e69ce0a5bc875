from __future__ import annotations

from pathlib import Path

import torch

from curation.files.artifact_cache import Cache
from evaluation.covariance.covariance import Corpus, key_covariances
from evaluation.models.language_model import LM
from tests.support.editors import memit
from tests.support.editors.edit_requests import PERU
from tests.support.editors.memit import editor

corpus = memit.corpus


def test_changes_lie_in_the_null_space(tiny: LM, cache: Cache, corpus: str) -> None:
    c = key_covariances(tiny, [0, 1], Corpus([Path(corpus)]), cache=cache)
    alpha = editor("alphaedit", tiny, cache, corpus, null_share=0.02).edit([PERU])
    for layer, delta in enumerate(alpha.deltas):
        spectrum, vectors = torch.linalg.eigh(c[layer].second.double())
        vector = vectors[:, spectrum.cumsum(0) / spectrum.sum() > 0.02]
        assert float((delta.matrix().double() @ vector).norm()) < 1e-4 * delta.norm()
