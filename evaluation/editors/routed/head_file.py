"""A trained scope head as a file: the weights, what it was trained on, with which encoder and settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from evaluation.editors.hypernetwork.training import read_tensors, write_tensors
from evaluation.editors.in_context.retrieval import Vectors
from evaluation.editors.routed.head import HeadRouter, ScopeHead
from evaluation.editors.routed.head_training import TrainedHead
from evaluation.editors.training_data import TrainingData
from schemas.core.errors import DataError, UserError

FORMAT = 1
HEAD = "head"
RETRAIN = "train one: scedit model train --editors serac"


class HeadFile(NamedTuple):
    """A head as read from a file.

    Attributes:
        head: The network.
        shortlist: Events that it looks at.
        names_apart: Whether it has a weight for each name in a question.
        encoder: Identity of the encoder that it was trained with.
    """

    head: ScopeHead
    shortlist: int
    names_apart: bool
    encoder: str

    @classmethod
    def load(cls, path: Path) -> HeadFile:
        """Read a head.

        Raises:
            DataError: the file is none.
        """
        tensors, manifest = read_tensors(path)
        try:
            with torch.random.fork_rng(devices=[]):  # a new network draws its weights
                head = ScopeHead(int(manifest["dimensions"]), int(manifest["hidden"]))
            head.load_state_dict({name: value.float() for name, value in tensors.items()})
            head.eval().requires_grad_(False)
            identity = manifest["identity"]
            p = identity["params"]
            return cls(head, int(p["shortlist"]), bool(p["names_apart"]), str(identity["encoder"]))
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise DataError(f"no trained head of serac: {error}", where=str(path)) from None

    def fits(self, encoder: str, *, where: str) -> None:
        """Refuse a head that was trained with another encoder.

        Raises:
            UserError: names both.
        """
        check_encoder(self.encoder, encoder, where=where)

    def router(self, texts: Sequence[str], vectors: Vectors, *, threshold: float) -> HeadRouter:
        """The head over these events."""
        return HeadRouter(
            self.head,
            texts,
            vectors,
            shortlist=self.shortlist,
            threshold=threshold,
            names_apart=self.names_apart,
        )


def check_encoder(trained: str, encoder: str, *, where: str) -> None:
    """Refuse a checkpoint of another encoder.

    Args:
        trained: Identity of the encoder that it was trained with.
        encoder: Identity of the one that is to be used.
        where: The checkpoint.

    Raises:
        UserError: they differ; names both.
    """
    if trained != encoder:
        raise UserError(
            f"the head was trained with the encoder {trained}, not with {encoder}",
            where=where,
            fix=f"set params.encoder to that one, or {RETRAIN}",
        )


def scorer_of(path: Path) -> str:
    """Which scorer a file holds: ``head`` or ``cross``.

    Raises:
        DataError: the file does not say it.
    """
    return _said(path, lambda identity: identity["params"].get("scorer", HEAD))


def encoder_of(path: Path) -> str:
    """Identity of the encoder with which the scorer of a file was trained.

    Raises:
        DataError: the file does not say it.
    """
    return _said(path, lambda identity: identity["encoder"])


def _said(path: Path, read: Callable[[dict[str, Any]], object]) -> str:
    """What a file says of its training."""
    _, manifest = read_tensors(path)
    try:
        return str(read(manifest["identity"]))
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(f"no trained head of serac: {error} is missing", where=str(path)) from None


def write_head(
    path: Path, trained: TrainedHead, *, identity: dict[str, Any], data: TrainingData, questions: list[str]
) -> None:
    """Write a head, whole or not at all.

    Args:
        path: The file.
        trained: The head.
        identity: Method, version, encoder, settings and digest of the cases: all that the training depends on.
        data: What it was trained on.
        questions: Digests of the questions' texts.
    """
    description = {
        "dimensions": trained.network.dimensions,
        "hidden": trained.network.hidden,
        "identity": identity,
        "held_out": {**trained.held_out._asdict(), "step": trained.step},
    }
    write_trained(path, trained.network.half().state_dict(), description, data, questions)


def write_trained(
    path: Path, tensors: dict[str, Tensor], told: dict[str, Any], data: TrainingData, questions: list[str]
) -> None:
    """Write a scorer of either kind with what it learnt from.

    Args:
        path: The file.
        tensors: The weights.
        told: What is particular to the scorer, its ``identity`` among it.
        data: What it was trained on.
        questions: Digests of the questions' texts.
    """
    learnt = {
        "format": FORMAT,
        "trained": {"name": data.name, "digest": data.digest, "cases": sum(k.startswith("case/") for k in data.keys)},
        "keys": sorted(data.keys),
        "subjects": sorted(data.subjects),
        "events": sorted(data.texts),
        "questions": sorted(questions),
    }
    write_tensors(path, tensors, {**learnt, **told})


def trained_on(path: Path) -> TrainingData:
    """What the head of a file was trained on.

    Raises:
        DataError: the file does not say it.
    """
    _, manifest = read_tensors(path)
    try:
        training = manifest["trained"]
        names = (frozenset(manifest[name]) for name in ("keys", "subjects", "events"))
        keys, subjects, texts = names
        return TrainingData(training["name"], training["digest"], keys, subjects, texts)
    except (KeyError, TypeError) as error:
        raise DataError(f"no trained head of serac: {error} is missing", where=str(path)) from None
