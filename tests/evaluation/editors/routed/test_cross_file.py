"""A cross scorer in a file: what is read is what was written; other encoders and files are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from curation.similarity.embeddings import encoder_identity
from evaluation.editors.hypernetwork.training import write_tensors
from evaluation.editors.routed.cross import CrossScorer
from evaluation.editors.routed.cross_file import CROSS, CrossFile, write_cross
from evaluation.editors.routed.cross_training import TrainedCross
from evaluation.editors.routed.head_file import scorer_of, trained_on
from evaluation.editors.routed.head_training import RoutingAccuracy
from evaluation.editors.training_data import TrainingData
from schemas.core.errors import DataError, UserError
from tests.support.evaluation.routed_events import TOWNS, HashedVectors, tiny_encoder, town_cases

CASES = town_cases(TOWNS[:8])
EVENTS = [case.event.text for case in CASES]


def test_what_is_read_scores_as_what_was_written_and_says_what_it_learnt_from(tmp_path: Path) -> None:
    encoder, path = tiny_encoder(tmp_path / "tiny", EVENTS), tmp_path / "cross.safetensors"
    torch.manual_seed(0)
    scorer = CrossScorer(encoder).eval()
    before = scorer.scores("Who is mayor?", EVENTS)
    identity = {"encoder": encoder_identity(str(encoder)), "params": {"shortlist": 4, "scorer": CROSS}}
    trained = TrainedCross(scorer, RoutingAccuracy(0.5, None), 1, 1.0)
    write_cross(path, trained, identity=identity, data=TrainingData.of("towns", CASES), questions=["x"])
    assert scorer_of(path) == CROSS and trained_on(path) == TrainingData.of("towns", CASES)
    read = CrossFile.load(path, str(encoder))
    assert torch.allclose(read.scorer.scores("Who is mayor?", EVENTS), before, atol=5e-3), "half precision"
    assert read.shortlist == 4 and read.router(EVENTS, HashedVectors(), threshold=0.0).route("Who?").item is not None
    with pytest.raises(UserError, match=r"trained with the encoder tiny@\w+, not with all-MiniLM-L6-v2"):
        CrossFile.load(path, None)


def test_a_file_of_something_else(tmp_path: Path) -> None:
    encoder = tiny_encoder(tmp_path / "tiny", EVENTS)
    write_tensors(
        tmp_path / "x",
        {"a": torch.zeros(2)},
        {"identity": {"encoder": encoder_identity(str(encoder)), "params": {"shortlist": 4}}},
    )
    with pytest.raises(DataError, match="no trained scorer of serac"):
        CrossFile.load(tmp_path / "x", str(encoder))
    write_tensors(tmp_path / "y", {"a": torch.zeros(2)}, {})
    with pytest.raises(DataError, match="no trained head of serac: 'identity' is missing"):
        scorer_of(tmp_path / "y")
