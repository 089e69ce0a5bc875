"""What engines, regimes and the runner need of a language model, an edit and an editing method."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from schemas.answers import Answer
from schemas.probes import GenerateProbe, ScoreProbe


class Scorer(Protocol):
    """A language model that answers probes (``evaluation.inference.answering.ModelScorer``, or another)."""

    @property
    def name(self) -> str:
        """Name of the model."""
        ...

    @property
    def revision(self) -> str:
        """What tells its weights from others; part of a run's identity."""
        ...

    @property
    def other_attention(self) -> str:
        """How it computes attention, where that is not as usual; empty where it is, and where none is known."""
        ...

    @property
    def device(self) -> str:
        """Where it computes: memory is measured there."""
        ...

    @property
    def has_chat(self) -> bool:
        """Whether probes can be asked in a chat template of the model's."""
        ...

    @property
    def editable(self) -> Any:
        """What edits are put on: it is handed to ``EditLike.on``."""
        ...

    @property
    def weights(self) -> Any:
        """The module whose weights edits change; None where there is none (edits are stacked then)."""
        ...

    def score(
        self, probes: Sequence[ScoreProbe], *, rewrite: Callable[[str], str] | None = None, batch_tokens: int = 4096
    ) -> list[Answer]:
        """Log-probabilities of targets, in the order of the probes."""
        ...

    def write(self, probes: Sequence[GenerateProbe], *, rewrite: Callable[[str], str] | None = None) -> list[Answer]:
        """Texts, in the order of the probes."""
        ...


class EditLike(Protocol):
    """One edit."""

    @property
    def notes(self) -> Mapping[str, Any]:
        """What the method says of this edit."""
        ...

    @property
    def deltas(self) -> Any:
        """Its weight changes as data, or None."""
        ...

    def on(self, lm: Any) -> AbstractContextManager[Any]:
        """The model with the edit, undone on exit."""
        ...

    def rewrite(self, prompt: str) -> str:
        """The prompt as the edit wants it."""
        ...

    def answers(self, probes: Sequence[Any]) -> list[Answer] | None:
        """Its own answers; None where the model is asked."""
        ...

    def expect(self, prompts: Sequence[str]) -> None:
        """Told the prompts that will be asked."""
        ...


class EditorLike(Protocol):
    """An editing method, set up for one model (``evaluation.editors.base.Editor``, or another).

    Attributes:
        name: Of the method.
        version: Raised when the same options would give other edits.
        params: Its options, or a mapping of them.
    """

    name: Any
    version: Any
    params: Any

    @property
    def components(self) -> Mapping[str, str]:
        """What else its edits depend on, by name; part of a run's identity. Nothing, unless the method says."""
        return {}

    @property
    def first_layer(self) -> int | None:
        """The lowest block that its edits change; None where that is not known."""
        return None

    @property
    def bytes_an_edit(self) -> int:
        """Bytes that one edit takes on the device until it is scored. Nothing to speak of, unless the method says."""
        return 0

    def facts_in(self, request: Any) -> int:
        """Facts that one request is to the method: engines make so many fewer edits together. One, unless it says."""
        return 1

    def wants_support(self, options: Mapping[str, Any]) -> bool:
        """Whether edits with these options depend on the run's support."""
        return False

    def wants_split(self, options: Mapping[str, Any]) -> bool:
        """Whether edits with these options depend on all edits of the split."""
        return False

    def read_split(self, requests: Sequence[Any]) -> None:
        """Told all edits of the split, before any is made."""
        return None

    def prepare(self, support: Sequence[Any]) -> None:
        """Whatever is needed once."""
        ...

    def edit(self, requests: Sequence[Any]) -> EditLike:
        """One edit of requests of the kinds that the method takes."""
        ...

    def edit_each(self, requests: Sequence[Any]) -> Sequence[EditLike]:
        """Independent edits."""
        ...

    def edit_after(self, requests: Sequence[Any], earlier: Sequence[Any]) -> EditLike:
        """One edit on a model that carries earlier ones."""
        ...
