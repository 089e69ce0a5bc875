"""SERAC (Mitchell et al. 2022) for events: a trained scope scorer decides which event stands before a question.

As in ELKEN (Peng et al. 2024), the model that answers in scope is the model itself with the event in context; out of
scope it is asked as if there were no edit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import torch
from pydantic import Field, model_validator
from typing_extensions import override

from curation.case_sources.support import TrainingData, text_digest
from curation.similarity.embeddings import encoder_identity
from evaluation.editors.checkpoints import CheckpointEditor
from evaluation.editors.in_context.retrieval import Vectors
from evaluation.editors.routed.base import Router, RoutingEditor
from evaluation.editors.routed.cross import CrossScorer
from evaluation.editors.routed.scorer_file import (
    CROSS,
    MakeRouter,
    check_encoder,
    load_router,
    write_scorer,
)
from evaluation.editors.routed.training import (
    CrossTrainer,
    HeadTrainer,
    ScorerStep,
    TrainedScorer,
    questions_of,
)
from schemas.cases import AnyCase, EventCase
from schemas.core.errors import UserError
from schemas.core.ids import seed

_USUAL_CROSS: Mapping[str, Any] = {"epochs": 1, "batch": 32, "lr": 3e-5, "weight_decay": 0.01, "shortlist": 16}
"""Values of ``cross``, as far as they are published (Peng et al. 2024, the released code)."""


class Serac(CheckpointEditor, RoutingEditor):
    """A trained scorer of question and event; below its threshold the plain prompt.

    ``head`` is a small network over frozen sentence vectors, ``cross`` an encoder that reads both together and looks
    at the nearest events only.

    Trained beforehand (``scedit model train --editors serac``) or on the run's support. The language model has no part
    in it: the same head serves all models.
    """

    name: ClassVar[str] = "serac"
    about: ClassVar[str] = "a trained scope scorer puts the fitting event before a question, or none (SERAC)"
    needs: ClassVar[str] = "a trained head (scedit model train --editors serac), or support with events; the encoder"
    costs: ClassVar[str] = "an embedding and a look-up a prompt (some milliseconds); longer prompts in scope"
    shipped_in: ClassVar[str] = "evaluation.editors.routed"
    trains_without_model: ClassVar[bool] = True

    class Params(RoutingEditor.Params):
        """Options of serac. Those of training count where there is no checkpoint.

        Attributes:
            checkpoint: File of a trained head; ``shipped:NAME`` for one that comes with the program; None: train on the
                support (kept in the cache).
            scorer: ``head``: the small network; ``cross``: the encoder itself, trained on pairs (binary
                cross-entropy, by default 1 epoch, batches of 32 pairs and a rate of 3e-5, as published). A checkpoint
                brings its own.
            encoder: Folder of the sentence encoder; None: all-MiniLM-L6-v2. ``head`` leaves it frozen; ``cross`` starts
                from it, and finds the nearest events with it.
            shortlist: Events that the scorer looks at: the nearest by meaning and by words.
            hidden: Width of the network.
            dropout: Share left out in training. Of ``head`` alone.
            epochs: Passes over the questions; the one with the best held-out accuracy counts.
            batch: Questions a step, of ``cross`` pairs.
            lr: AdamW's learning rate.
            weight_decay: Its decay.
            near: Events nearest to a question that it is told from.
            far: Drawn ones.
            names_apart: A name in a question has a weight of its own; False: all names are one word. False where few
                names stand for what is out of scope, as in ``events_from_facts``. Of ``head`` alone.
            held_out: Share of the events kept aside.
            seed: Of the network's start and of all draws.
        """

        checkpoint: str | None = None
        scorer: Literal["head", "cross"] = "head"
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

        @model_validator(mode="before")
        @classmethod
        def _usual(cls, data: Any) -> Any:
            """The usual values of the scorer, where they are not given."""
            if isinstance(data, Mapping) and data.get("scorer") == CROSS:
                return {**_USUAL_CROSS, **data}
            return data

    device: ClassVar[str] = "cpu"
    """Where encoder and head compute: both are small."""

    params: Params
    _vectors: Vectors | None = None
    _make_router: MakeRouter | None = None

    @classmethod
    def training_data(cls, options: Mapping[str, Any]) -> TrainingData | None:
        """What the named checkpoint was trained on; one of another encoder is refused before anything is computed."""
        data, named = super().training_data(options), options.get("checkpoint")
        if named is not None:
            check_encoder(cls.checkpoint_path(str(named)), options.get("encoder"))
        return data

    @property
    @override
    def components(self) -> Mapping[str, str]:
        return {"encoder": encoder_identity(self.params.encoder), "words": "bm25s-en@1", **super().components}

    def learn(self) -> None:
        """Read the checkpoint, or train on the support unless the cache has the result.

        Raises:
            UserError: neither is there, or the checkpoint is of another encoder.
        """
        self._make_router = load_router(self.checkpoint_file(), self.params.encoder, device=self.device)

    @override
    def router(self, texts: Sequence[str]) -> Router:
        assert self._make_router is not None
        return self._make_router(texts, self._encoder(), threshold=self.params.threshold)

    def train(
        self,
        cases: Sequence[AnyCase],
        *,
        name: str,
        out: Path | str,
        on_step: Callable[[ScorerStep], None] | None = None,
        minutes: float | None = None,
    ) -> TrainedScorer:
        """Train a scorer and write it to a file.

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
        data = TrainingData.of(name, events)
        trainer = self._trainer(events)
        trained = trainer.run(on_step, minutes)
        questions = sorted({text_digest(q.text) for c in events for q in questions_of(c)})
        write_scorer(out, trained, identity=self.identity(data.digest), data=data, questions=questions)
        return trained

    def _trainer(self, events: Sequence[EventCase]) -> HeadTrainer | CrossTrainer:
        p = self.params
        if p.scorer != CROSS:
            return HeadTrainer(events, self._encoder(), p, device=self.device)
        folder = None if p.encoder is None else Path(p.encoder).expanduser()
        with torch.random.fork_rng(devices=[]):  # a new linear layer draws its weights
            torch.manual_seed(seed(str(p.seed), "serac", CROSS))
            scorer = CrossScorer(folder)
        return CrossTrainer(events, self._encoder(), p, scorer)

    def identity(self, data: str) -> dict[str, Any]:
        """The encoder and the options of training."""
        unused = {"checkpoint", "encoder", "memory", "threshold"}
        unused |= {"hidden", "dropout", "names_apart"} if self.params.scorer == CROSS else set()
        p = self.params.model_dump(mode="json", exclude=unused)
        encoder = encoder_identity(self.params.encoder)
        return {"method": "serac", "version": self.version, "encoder": encoder, "data": data, "params": p}

    def _encoder(self) -> Vectors:
        if self._vectors is None:
            self._vectors = Vectors(self.params.encoder, device=self.device)
        return self._vectors
