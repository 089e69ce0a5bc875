"""A trained scope scorer as a file: the weights, what it was trained on, with which encoder and settings."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch

from curation.case_sources.support import TrainingData
from curation.similarity.embeddings import encoder_identity
from evaluation.editors.checkpoints import not_trained, read_tensors, write_checkpoint
from evaluation.editors.routed.base import Router
from evaluation.editors.routed.cross import CrossRouter, CrossScorer
from evaluation.editors.routed.head import HeadRouter, ScopeHead
from evaluation.editors.routed.training import TrainedScorer
from schemas.core.errors import UserError

CROSS = "cross"

MakeRouter = Callable[..., Router]
"""Given texts of the memory, the encoder's vectors and a ``threshold``: the router over them."""


def load_router(path: Path | str, encoder: str | None, *, device: str = "cpu") -> MakeRouter:
    """What makes routers of the scorer in a file.

    Args:
        path: The file.
        encoder: Folder of the encoder; None: all-MiniLM-L6-v2.
        device: Where the scorer computes.

    Raises:
        UserError: it was trained with another encoder.
        DataError: the file holds no scorer.
    """
    check_encoder(path, encoder)
    tensors, manifest = read_tensors(path)
    try:
        p = manifest["identity"]["params"]
        more: dict[str, Any] = {"shortlist": int(p["shortlist"])}
        scorer: ScopeHead | CrossScorer
        with torch.random.fork_rng(devices=[]):  # a new network draws its weights
            if p.get("scorer") == CROSS:
                scorer = CrossScorer(None if encoder is None else Path(encoder).expanduser())
            else:
                scorer = ScopeHead(int(manifest["dimensions"]), int(manifest["hidden"]))
                more["names_apart"] = bool(p["names_apart"])
        scorer.load_state_dict({k: v.float() if v.is_floating_point() else v for k, v in tensors.items()})
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise not_trained("serac", error, path) from None
    scorer.eval().requires_grad_(False).to(device)
    make: Any = CrossRouter if isinstance(scorer, CrossScorer) else HeadRouter
    return partial(make, scorer, **more)


def check_encoder(path: Path | str, encoder: str | None) -> None:
    """Refuse a scorer that was trained with another encoder.

    Raises:
        UserError: names both.
        DataError: the file does not say it.
    """
    _, manifest = read_tensors(path)
    try:
        trained = str(manifest["identity"]["encoder"])
    except (KeyError, TypeError) as error:
        raise not_trained("serac", f"{error} is missing", path) from None
    used = encoder_identity(encoder)
    if trained != used:
        raise UserError(
            f"the scorer was trained with the encoder {trained}, not with {used}",
            where=str(path),
            fix="set params.encoder to that one, or train another scorer: scedit model train --editors serac",
        )


def write_scorer(
    path: Path | str, trained: TrainedScorer, *, identity: dict[str, Any], data: TrainingData, questions: list[str]
) -> None:
    """Write a scorer with what it learnt from; the file is replaced as a whole.

    Args:
        path: The file.
        trained: The scorer.
        identity: Method, version, encoder, settings and digest of the cases: all that the training depends on.
        data: What it was trained on.
        questions: Digests of the questions' texts.
    """
    network = trained.network.half()
    shape = {"dimensions": network.dimensions, "hidden": network.hidden} if isinstance(network, ScopeHead) else {}
    write_checkpoint(
        path,
        network.state_dict(),
        data,
        cases=sum(key.startswith("case/") for key in data.keys),
        questions=sorted(questions),
        **shape,
        identity=identity,
        held_out={**trained.held_out._asdict(), "step": trained.step},
    )
