"""A head in a file: what is read is what was written; what it learnt from; files of another kind."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from evaluation.editors.hypernetwork.training import write_tensors
from evaluation.editors.routed.head import HeadRouter, ScopeHead
from evaluation.editors.routed.head_file import HeadFile, trained_on, write_head
from evaluation.editors.routed.head_training import RoutingAccuracy, TrainedHead
from evaluation.editors.training_data import TrainingData
from schemas.core.errors import DataError, UserError
from tests.support.evaluation.routed_events import DIMENSIONS, TOWNS, HashedVectors, town_cases

CASES = town_cases(TOWNS[:8])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    head = ScopeHead(DIMENSIONS, 8).eval()
    head_result = TrainedHead(head, RoutingAccuracy(0.8, None), 3, 1.0)
    identity = {"encoder": "tiny@1", "params": {"shortlist": 8, "names_apart": True}, "data": "d"}
    write_head(
        tmp_path / "head.safetensors",
        head_result,
        identity=identity,
        data=TrainingData.of("towns", CASES),
        questions=["x"],
    )
    return tmp_path / "head.safetensors"


def test_what_is_read_routes_as_what_was_written(path: Path) -> None:
    torch.manual_seed(0)
    head, head_file = ScopeHead(DIMENSIONS, 8).eval(), HeadFile.load(path)
    assert (head_file.shortlist, head_file.encoder) == (8, "tiny@1")
    texts = [c.event.text for c in CASES]
    before, after = (HeadRouter(h, texts, HashedVectors(), shortlist=8, threshold=0.0) for h in (head, head_file.head))
    for case in CASES[:5]:
        first, second = before.route(case.facts[0].text), after.route(case.facts[0].text)
        assert first.item == second.item and np.isclose(first.score, second.score, atol=2e-3), "half precision"


def test_it_says_what_it_learnt_from(path: Path) -> None:
    data = trained_on(path)
    assert data == TrainingData.of("towns", CASES)
    assert data.shares(CASES[0]) and data.shares(town_cases(TOWNS[9:10], prefix="f")[0]) is None
    same_text = CASES[0].event.model_copy(update={"key": "other", "text": "ALBA has elected Ada as its new mayor"})
    questions = tuple(q.model_copy(update={"event": "other", "subject": None}) for q in CASES[0].facts)
    variant = CASES[0].model_copy(
        update={"key": "case/other", "event": same_text, "facts": questions, "tendencies": ()}
    )
    assert data.shares(variant) == "the event 'other'", "the same event under another key"


def test_another_encoder_is_refused_by_name(path: Path) -> None:
    HeadFile.load(path).fits("tiny@1", where="here")
    with pytest.raises(UserError, match=r"here: the head was trained with the encoder tiny@1, not with e5@2; set"):
        HeadFile.load(path).fits("e5@2", where="here")


def test_files_that_are_no_head(tmp_path: Path) -> None:
    write_tensors(tmp_path / "other.safetensors", {"w": torch.zeros(2)}, {"format": 1, "dimensions": 4})
    (tmp_path / "text.safetensors").write_text("no")
    for name, words in (("other", "no trained head of serac"), ("text", "cannot|not a file"), ("none", "not a file")):
        with pytest.raises(DataError, match=words):
            HeadFile.load(tmp_path / f"{name}.safetensors")
        with pytest.raises(DataError):
            trained_on(tmp_path / f"{name}.safetensors")
