"""MEND on documents (Wang et al. 2024, MULFE §5.1: MEND-MULFE): the gradient of a whole document becomes an edit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator
from typing_extensions import override

from evaluation.editors.hypernetwork.mend import Mend
from evaluation.editors.hypernetwork.training import TrainingTask
from evaluation.editors.hypernetwork.training_cases import document_text, document_training_cases
from evaluation.editors.target_texts import TargetText
from evaluation.metrics.generation import DocumentChoice
from schemas.core.errors import ModelError, UserError
from schemas.documents.document import Document

Maps = Literal["input", "output"]
TOKENS = 128  # of a document, where the memory of edits is estimated


class DocumentMend(Mend):
    """One gradient of a document's loss as a language model, mapped by a network to low-rank changes of several layers.

    The loss is the mean over all tokens but the first, so a change's rank is the number of tokens that its map reads.
    The network learns from other documents: an edit must make their probes' answers likely and leave what the model
    says to questions about other documents. Several documents of one edit add up, each with its own gradient.
    """

    name: ClassVar[str] = "mend_doc"
    takes: ClassVar[tuple[str, ...]] = ("document",)
    learns_from: ClassVar[tuple[str, ...]] = ("document",)
    about: ClassVar[str] = "a trained hypernetwork turns the gradient of a whole document into low-rank changes (MEND)"
    needs: ClassVar[str] = "a checkpoint for the model (scedit model train --editors mend_doc), or support to train on"
    rows: ClassVar[int] = 8

    class Params(Mend.Params):
        """Options of MEND on documents: those of MEND, and these.

        Attributes:
            layers: Edited layers, from 0; None: the last three.
            maps: Edited maps of their MLPs: those to the inner width (``input``; gate and up where there are two), the
                one back (``output``). Maps of one shape share a network.
            edits: Documents a step. ``equal``: probes of a document that must follow its edit, drawn each step;
                ``all`` of them (published). ``kept``: questions about other documents that must stay (published: 5).
            instruction: What stands before questions, as they are asked in a run.
        """

        edit_format: Literal["raw"] = "raw"
        maps: tuple[Maps, ...] = ("input", "output")
        edits: int = Field(default=4, ge=1)
        equal: Annotated[int, Field(ge=1)] | Literal["all"] = 4  # type: ignore[assignment]
        kept: int = Field(default=4, ge=1)
        instruction: str = DocumentChoice().instruction

        @field_validator("maps")
        @classmethod
        def _some_map(cls, maps: tuple[Maps, ...]) -> tuple[Maps, ...]:
            if not maps or len(set(maps)) < len(maps):
                raise ValueError("name input, output or both, each once")
            return tuple(sorted(maps))

    params: Params

    @property
    @override
    def edited_layers(self) -> tuple[int, ...]:
        return super().edited_layers or (() if self._ready is None else self._ready.layers)

    @property
    def bytes_an_edit(self) -> int:
        """Two factors a map and token of a document, with the copy that rows of a batch read."""
        layout = self.lm.layout
        count = len(self.edited_layers or range(3)) * (1 + len(layout.mlp_in))
        return 2 * 4 * (layout.width + layout.inner) * count * TOKENS

    def maps(self, layers: Sequence[int]) -> list[str]:
        """Names of the modules of the edited linear maps.

        Raises:
            ModelError: the MLP is not of a kind that has them.
        """
        layout, chosen = self.lm.layout, self.params.maps
        if "input" in chosen and not layout.mlp_in:
            raise ModelError(
                "no map to the inner width of the MLP was found", where=self.lm.name, fix='set maps = ["output"]'
            )
        names = list[str]()
        for layer in layers:
            if "input" in chosen:
                names += [f"{layout.block(layer)}.{inside}" for inside in layout.mlp_in]
            if "output" in chosen:
                names.append(layout.projection(layer))
        return names

    def texts_of(self, requests: Sequence[Document]) -> list[TargetText]:
        """The documents' tokens, all but the first of which are predicted.

        Raises:
            UserError: a document of one token, or of more than the model reads.
        """
        texts = []
        for request in requests:
            if (text := document_text(self.lm, request)) is None:
                most = f" and at most {self.lm.limit}, which the model reads at once" if self.lm.limit else ""
                raise UserError(f"a document must have at least 2 tokens{most}", where=request.key)
            texts.append(text)
        return texts

    def training_task(self, cases: Sequence[Any]) -> TrainingTask:
        """What is learnt of documents with their probes.

        Raises:
            UserError: too few of them.
        """
        maps = self.maps(self._complete_options().layers or ())
        choice = DocumentChoice(instruction=self.params.instruction)
        return TrainingTask(maps, document_training_cases(self.lm, cases, choice), shared=False, rows=self.rows)
