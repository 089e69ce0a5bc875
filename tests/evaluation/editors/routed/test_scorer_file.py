"""A scorer in a file: what is read is what was written; what it learnt from; files of another kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from curation.case_sources.support import TrainingData
from curation.similarity.embeddings import encoder_identity
from evaluation.editors.checkpoints import write_tensors
from evaluation.editors.routed.cross import CrossRouter, CrossScorer
from evaluation.editors.routed.head import HeadRouter, ScopeHead
from evaluation.editors.routed.scorer_file import check_encoder, load_router, write_scorer
from evaluation.editors.routed.serac import Serac
from evaluation.editors.routed.training import RoutingAccuracy, TrainedScorer
from schemas.core.errors import DataError, UserError
from tests.support.evaluation.routed_events import DIMENSIONS, TOWNS, HashedVectors, tiny_encoder, town_cases

CASES = town_cases(TOWNS[:8])
EVENTS = [case.event.text for case in CASES]


@pytest.fixture
def encoder(tmp_path: Path) -> str:
    return str(tiny_encoder(tmp_path / "tiny", EVENTS))


def write(path: Path, network: Any, encoder: str, **params: Any) -> Path:
    identity = {"encoder": encoder_identity(encoder), "params": {"shortlist": 8, **params}, "data": "d"}
    trained, data = TrainedScorer(network, RoutingAccuracy(0.8, None), 3, 1.0), TrainingData.of("towns", CASES)
    write_scorer(path, trained, identity=identity, data=data, questions=["x"])
    return path


@pytest.mark.parametrize("kind", ["head", "cross"])
def test_what_is_read_routes_as_what_was_written(kind: str, encoder: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    scorer: Any = ScopeHead(DIMENSIONS, 8).eval() if kind == "head" else CrossScorer(Path(encoder)).eval()
    make: Any = HeadRouter if kind == "head" else CrossRouter
    routers = [make(scorer, EVENTS, HashedVectors(), shortlist=8, threshold=0.0)]
    routes = [routers[0].route(case.facts[0].text) for case in CASES[:5]]
    path = write(tmp_path / "x.safetensors", scorer, encoder, scorer=kind, names_apart=True)
    read = load_router(path, encoder)(EVENTS, HashedVectors(), threshold=0.0)
    for case, first in zip(CASES, routes, strict=False):
        second = read.route(case.facts[0].text)
        assert first.item == second.item and np.isclose(first.score, second.score, atol=5e-3), "half precision"


def test_it_says_what_it_learnt_from(encoder: str, tmp_path: Path) -> None:
    data = Serac.trained_on(write(tmp_path / "x.safetensors", ScopeHead(DIMENSIONS, 8), encoder, names_apart=True))
    assert data == TrainingData.of("towns", CASES)
    assert data.shares(CASES[0]) and data.shares(town_cases(TOWNS[9:10], prefix="f")[0]) is None
    same_text = CASES[0].event.model_copy(update={"key": "other", "text": "ALBA has elected Ada as its new mayor"})
    questions = tuple(q.model_copy(update={"event": "other", "subject": None}) for q in CASES[0].facts)
    variant = CASES[0].model_copy(
        update={"key": "case/other", "event": same_text, "facts": questions, "tendencies": ()}
    )
    assert data.shares(variant) == "the event 'other'", "the same event under another key"


def test_another_encoder_is_refused_by_name(encoder: str, tmp_path: Path) -> None:
    path = write(tmp_path / "x.safetensors", ScopeHead(DIMENSIONS, 8), encoder, names_apart=True)
    check_encoder(path, encoder)
    with pytest.raises(UserError, match=r"trained with the encoder tiny@\w+, not with all-MiniLM-L6-v2; set"):
        load_router(path, None)


def test_files_of_something_else(encoder: str, tmp_path: Path) -> None:
    said = {"identity": {"encoder": encoder_identity(encoder), "params": {"shortlist": 4}}}
    write_tensors(tmp_path / "other", {"w": torch.zeros(2)}, {"format": 1, "dimensions": 4})
    write_tensors(tmp_path / "head", {"w": torch.zeros(2)}, {**said, "dimensions": 4, "hidden": 2})
    (tmp_path / "text").write_text("no")
    for name, words in (
        ("other", "no trained file of 'serac': 'identity' is missing"),
        ("head", "no trained file of 'serac'"),
        ("text", "cannot|not a file"),
        ("none", "not a file"),
    ):
        with pytest.raises(DataError, match=words):
            load_router(tmp_path / name, encoder)
        with pytest.raises(DataError):
            Serac.trained_on(tmp_path / name)
