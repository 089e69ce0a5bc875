"""Edits: what a method hands back. Data until it is applied to a model, and reverted again without a trace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from typing_extensions import override

from evaluation.edits.delta_stack import applied
from evaluation.edits.weight_deltas import Delta
from schemas.answers import Answer, GeneratedText, TargetScore
from schemas.core.errors import UserError
from schemas.probes import GenerateProbe, Probe

if TYPE_CHECKING:
    from evaluation.models.language_model import LM


class Edit:
    """One edit of a model.

    Attributes:
        deltas: Changes of weights; ``()`` leaves them as they are; None says that the edit cannot share a batch.
        notes: Measured facts about the making of the edit, as JSON values: ``loss``, ``steps``, ``value_norm`` (|v|),
            ``norm_ratio`` (the change's norm over the weight's), ``blow_up`` (it diverged: a norm ratio above
            ``DIVERGENCE_RATIO``) ...
    """

    deltas: Sequence[Delta] | None
    notes: Mapping[str, Any]

    def rewrite(self, prompt: str) -> str:
        """The prompt as the edited model is to see it: itself, unless the edit lives in the prompt."""
        return prompt

    def on(self, lm: LM) -> AbstractContextManager[LM]:
        """Put the edit on the model for the time of a ``with`` block; always undone, bit for bit. Here: no change."""
        return nullcontext(lm)

    def answers(self, probes: Sequence[Probe]) -> list[Answer] | None:
        """The answers of an edit that answers itself; None where the model is to be asked."""
        return None

    def expect(self, prompts: Sequence[str]) -> None:
        """Told the prompts that will be asked, so that what looks something up for them may look at all at once."""


def check_edit(made: Any) -> Any:
    """What a method's ``edit`` returned.

    Raises:
        UserError: it is no edit.
    """
    if not hasattr(type(made), "rewrite"):
        allowed = "PromptEdit, WeightEdit, NoEdit ... of the package 'evaluation'"
        raise UserError(f"edit() returned a {type(made).__name__}, which is no edit", allowed=allowed)
    return made


@dataclass(frozen=True)
class NoEdit(Edit):
    """Nothing is changed: the unedited model, the baseline of every comparison.

    Example:
        >>> NoEdit().rewrite("The capital of Japan is")
        'The capital of Japan is'
    """

    deltas = ()
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PromptEdit(NoEdit):
    """A text that is put before every prompt.

    Example:
        >>> PromptEdit(prefix="The capital of Japan is Madrid. ").rewrite("How to reach Japan's capital?")
        "The capital of Japan is Madrid. How to reach Japan's capital?"
    """

    prefix: str = ""

    @override
    def rewrite(self, prompt: str) -> str:
        return self.prefix + prompt


NEVER = -745.0
"""Log-probability (nats) of what is never said: the least whose probability is not 0 in double precision."""


@dataclass(frozen=True)
class ConstantAnswer(NoEdit):
    """One text in answer to everything; no model is asked.

    Example:
        >>> probe = GenerateProbe(purpose="event_fact", item="q", prompt="Who?")
        >>> ConstantAnswer(text="unknown").answers([probe])[0].written.text
        'unknown'
    """

    text: str = ""

    def answers(self, probes: Sequence[Probe]) -> list[Answer]:
        """The text where one is asked for; targets are all equally improbable."""
        return [self._answer(probe) for probe in probes]

    def _answer(self, probe: Probe) -> Answer:
        if isinstance(probe, GenerateProbe):
            return Answer(probe=probe.id, written=GeneratedText(text=self.text, tokens=0, ended="stop"))
        return Answer(
            probe=probe.id, targets=tuple(TargetScore(text=t, logprob=NEVER, tokens=1) for t in probe.targets)
        )


def own_answers(edits: Sequence[Any], probes: Sequence[Probe]) -> list[Answer] | None:
    """The answers of the newest edit, where it answers itself; None where the model is to be asked."""
    answers: list[Answer] | None = edits[-1].answers(probes) if edits else None
    return answers


@dataclass(frozen=True)
class WeightEdit(Edit):
    """Changes of weights; prompts stay as they are."""

    deltas: tuple[Delta, ...]
    notes: Mapping[str, Any] = field(default_factory=dict)

    @contextmanager
    def on(self, lm: LM) -> Iterator[LM]:
        """The model with its weights changed; restored bit for bit at the end, also after an exception or Ctrl-C."""
        with applied(lm.model, self.deltas):
            yield lm

    def without_deltas(self) -> Self:
        """The edit while its changes stand in the weights: without its copy of them, which would fill the memory."""
        return replace(self, deltas=())


@dataclass(frozen=True)
class CarryingEdit(WeightEdit):
    """An edit that holds all that its method has edited so far: the next one of a sequence goes on from it.

    Attributes:
        carried: What the next edit needs; only the newest edit's is asked for.
    """

    carried: Any = None


def carried_by(earlier: Sequence[Edit]) -> Any:
    """What the newest of some edits carries; None where none does."""
    return next((e.carried for e in reversed(earlier) if isinstance(e, CarryingEdit) and e.carried is not None), None)
