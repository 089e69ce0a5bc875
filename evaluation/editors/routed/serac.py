"""SERAC (Mitchell et al. 2022) for events: a trained scope scorer decides which event stands before a question.

As in ELKEN (Peng et al. 2024), the model that answers in scope is the model itself with the event in context; out of
scope it is asked as if there were no edit.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from curation.files.checksums import remembered_sha256
from curation.similarity.embeddings import encoder_identity
from evaluation.editors.in_context.retrieval import Vectors
from evaluation.editors.routed.base import Router, RoutingEditor
from evaluation.editors.routed.head import HeadRouter
from evaluation.editors.routed.head_file import RETRAIN, HeadFile, trained_on, write_head
from evaluation.editors.routed.head_training import HeadSettings, HeadStep, HeadTrainer, TrainedHead, questions_of
from evaluation.editors.training_data import TrainingData, text_digest
from schemas.cases import AnyCase, EventCase
from schemas.core.errors import UserError
from schemas.core.ids import content_id

log = logging.getLogger(__name__)

SHIPPED = "shipped:"


class Serac(RoutingEditor):
    """A small network over frozen sentence vectors of question and event; below its threshold the plain prompt.

    Trained beforehand (``scedit model train --editors serac``) or on the run's support. The language model has no part
    in it: the same head serves all models.
    """

    name: ClassVar[str] = "serac"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "a trained scope scorer puts the fitting event before a question, or none (SERAC)"
    needs: ClassVar[str] = "a trained head (scedit model train --editors serac), or support with events; the encoder"
    costs: ClassVar[str] = "an embedding and a look-up a prompt (some milliseconds); longer prompts in scope"
    trainable: ClassVar[bool] = True
    trains_without_model: ClassVar[bool] = True

    class Params(RoutingEditor.Params):
        """Options of serac. Those of training count where there is no checkpoint.

        Attributes:
            checkpoint: File of a trained head; ``shipped:NAME`` for one that comes with the program; None: train on the
                support (kept in the cache).
            scorer: ``head``: the small network. There is no other one yet.
            encoder: Folder of the sentence encoder, frozen; None: all-MiniLM-L6-v2.
            shortlist: Events that the scorer looks at: the nearest by meaning and by words.
            hidden: Width of the network. ``dropout``: share left out in training.
            epochs: Passes over the questions; the one with the best held-out accuracy counts. ``batch``: questions a
                step.
            lr: AdamW's learning rate. ``weight_decay``: its decay.
            near: Events nearest to a question that it is told from. ``far``: drawn ones.
            names_apart: A name in a question has a weight of its own; False: all names are one word. False where few
                names stand for what is out of scope, as in ``events_from_facts``.
            held_out: Share of the events kept aside.
            seed: Of the network's start and of all draws.
        """

        checkpoint: str | None = None
        scorer: Literal["head"] = "head"
        encoder: str | None = None
        shortlist: int = Field(default=32, ge=1)
        hidden: int = Field(default=64, ge=1)
        dropout: float = Field(default=0.3, ge=0, lt=1)
        epochs: int = Field(default=3, ge=1)
        batch: int = Field(default=64, ge=1)
        lr: float = Field(default=1e-3, gt=0)
        weight_decay: float = Field(default=0.05, ge=0)
        near: int = Field(default=12, ge=1)
        far: int = Field(default=4, ge=0)
        names_apart: bool = True
        held_out: float = Field(default=0.15, gt=0, le=0.5)
        seed: int = 0

    device: ClassVar[str] = "cpu"
    """Where encoder and head compute: both are small."""

    params: Params
    _vectors: Vectors | None = None
    _head: HeadFile | None = None

    @classmethod
    def wants_support(cls, options: Mapping[str, Any]) -> bool:
        """Only where there is no checkpoint."""
        return options.get("checkpoint") is None

    @classmethod
    def training_data(cls, options: Mapping[str, Any]) -> TrainingData | None:
        """What the named checkpoint was trained on."""
        named = options.get("checkpoint")
        return None if named is None else trained_on(_path(str(named)))

    @property
    def components(self) -> Mapping[str, str]:
        """The encoder; the checkpoint's digest, where one is named."""
        named = self.params.checkpoint
        own = {"encoder": encoder_identity(self.params.encoder), "words": "bm25s-en@1"}
        return own if named is None else {**own, "checkpoint": remembered_sha256(_path(named))}

    def learn(self) -> None:
        """Read the checkpoint, or train on the support unless the cache has the result.

        Raises:
            UserError: neither is there, or the checkpoint is of another encoder.
        """
        named = self.params.checkpoint
        path = self._trained_path() if named is None else _path(named)
        head = HeadFile.load(path)
        head.fits(encoder_identity(self.params.encoder), where=str(named or path))
        head.head.to(self.device)
        self._head = head

    def router(self, texts: Sequence[str]) -> Router:
        """The head over these events."""
        assert self._head is not None
        return HeadRouter(
            self._head.head,
            texts,
            self._encoder(),
            shortlist=self._head.shortlist,
            threshold=self.params.threshold,
            names_apart=self._head.names_apart,
        )

    def train(
        self,
        cases: Sequence[AnyCase],
        *,
        name: str,
        out: Path,
        on_step: Callable[[HeadStep], None] | None = None,
        minutes: float | None = None,
    ) -> TrainedHead:
        """Train a head and write it to a file.

        Args:
            cases: Events with questions to train on; never evaluated ones.
            name: What the cases are called.
            out: The checkpoint.
            on_step: Called with the progress.
            minutes: End after so many of training, with the best head so far.

        Raises:
            UserError: the cases are facts, or too few, or the file cannot be written.
        """
        events = [case for case in cases if isinstance(case, EventCase)]
        if len(events) < len(cases):
            raise UserError(
                "'serac' learns from events with questions, these cases are facts",
                where=name,
                fix="name events: --support events_from_facts, or a split of events",
            )
        told = self.params.model_dump(include=set(HeadSettings._fields))
        trained = HeadTrainer(events, self._encoder(), HeadSettings(**told), device=self.device).run(on_step, minutes)
        data = TrainingData.of(name, events)
        questions = sorted({text_digest(q.text) for c in events for q in questions_of(c)})
        write_head(out, trained, identity=self._identity(data.digest), data=data, questions=questions)
        return trained

    def _identity(self, data: str) -> dict[str, Any]:
        p = self.params.model_dump(mode="json", include={*HeadSettings._fields, "scorer"})
        encoder = encoder_identity(self.params.encoder)
        return {"method": "serac", "version": self.version, "encoder": encoder, "data": data, "params": p}

    def _trained_path(self) -> Path:
        """Checkpoint of a training on the support, in the cache folder."""
        if not self._support:
            raise UserError(
                "there is no trained head",
                where="serac",
                fix=f"{RETRAIN}, set its file as params.checkpoint, or declare support with events",
            )
        identity = self._identity(TrainingData.of("support", self._support).digest)
        path = self.cache.folder / f"serac-{content_id('serac', identity)}.safetensors"
        if not path.is_file():
            log.warning("training serac on %d events of the support (once)", len(self._support))
            self.train(self._support, name="support", out=path)
        return path

    def _encoder(self) -> Vectors:
        if self._vectors is None:
            self._vectors = Vectors(self.params.encoder, device=self.device)
        return self._vectors


def _path(named: str) -> Path:
    if named.startswith(SHIPPED):
        return Path(str(files("evaluation.editors.routed") / named.removeprefix(SHIPPED)))
    return Path(named).expanduser()
