"""A trained cross scorer as a file: the encoder's weights as trained, and what it was trained on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from curation.similarity.embeddings import encoder_identity
from evaluation.editors.hypernetwork.training import read_tensors
from evaluation.editors.in_context.retrieval import Vectors
from evaluation.editors.routed.cross import CrossRouter, CrossScorer
from evaluation.editors.routed.cross_training import TrainedCross
from evaluation.editors.routed.head_file import check_encoder, write_trained
from evaluation.editors.training_data import TrainingData
from schemas.core.errors import DataError

CROSS = "cross"


class CrossFile(NamedTuple):
    """A scorer as read from a file.

    Attributes:
        scorer: The encoder and its linear layer.
        shortlist: Events that it looks at.
    """

    scorer: CrossScorer
    shortlist: int

    @classmethod
    def load(cls, path: Path, encoder: str | None) -> CrossFile:
        """Read a scorer.

        Args:
            path: The file.
            encoder: Folder of the encoder that it was trained from, which has tokenizer and configuration; None:
                all-MiniLM-L6-v2.

        Raises:
            UserError: it was trained from another encoder.
            DataError: the file is none.
        """
        tensors, manifest = read_tensors(path)
        try:
            identity = manifest["identity"]
            check_encoder(str(identity["encoder"]), encoder_identity(encoder), where=str(path))
            scorer = CrossScorer(None if encoder is None else Path(encoder).expanduser())
            scorer.load_state_dict({k: v.float() if v.is_floating_point() else v for k, v in tensors.items()})
            scorer.eval().requires_grad_(False)
            return cls(scorer, int(identity["params"]["shortlist"]))
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise DataError(f"no trained scorer of serac: {error}", where=str(path)) from None

    def router(self, texts: Sequence[str], vectors: Vectors, *, threshold: float) -> CrossRouter:
        """The scorer over these events."""
        return CrossRouter(self.scorer, texts, vectors, shortlist=self.shortlist, threshold=threshold)


def write_cross(
    path: Path, trained: TrainedCross, *, identity: dict[str, Any], data: TrainingData, questions: list[str]
) -> None:
    """Write a scorer, whole or not at all; the arguments are those of ``write_head``."""
    write_trained(
        path,
        trained.network.half().state_dict(),
        {"identity": identity, "held_out": {**trained.held_out._asdict(), "step": trained.step}},
        data,
        questions,
    )
