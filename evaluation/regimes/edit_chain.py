"""Edits made one after the other in one model, each on what the earlier ones left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

from evaluation.editors.base import Editor
from evaluation.edits.delta_stack import ChangeNorm, DeltaStack, StackState
from evaluation.edits.edit import CarryingEdit, WeightEdit
from evaluation.inference.answering import Scorer


class NotStorable(Exception):
    """An edit that no file can hold."""


class ChainState(NamedTuple):
    """What is applied to a model, to be applied again.

    Attributes:
        stack: Changes of its weights.
        edits: The edits in order as later ones ask them; None stands for one that changes no weight: it is made again
            from its request, without a pass through the model.
    """

    stack: StackState
    edits: tuple[WeightEdit | None, ...]


class EditChain:
    """The edits that stand in a model, the earliest first. All of them are undone when the stack closes.

    Args:
        scorer: The model.
        stack: What undoes them.
    """

    def __init__(self, scorer: Scorer, stack: ExitStack) -> None:
        self._scorer, self._stack = scorer, stack
        self._weights = None if scorer.weights is None else stack.enter_context(DeltaStack(scorer.weights))
        self.edits: list[Any] = []

    def add(self, editor: Editor, request: Any) -> Any:
        """Make one more edit and apply it; returns it."""
        edit = editor.edit_after([request], self.edits)
        if self._weights is not None and edit.deltas is not None:
            self._weights.add(edit.deltas)
            if isinstance(edit, CarryingEdit):
                self._drop_carried()
            self.edits.append(edit.without_deltas() if isinstance(edit, WeightEdit) else edit)
        else:
            self._stack.enter_context(edit.on(self._scorer.editable))
            self.edits.append(edit)
        return edit

    def _drop_carried(self) -> None:
        """Forget what the newest edit so far carries: the next one carries it on."""
        for n in reversed(range(len(self.edits))):
            if isinstance(self.edits[n], CarryingEdit):
                self.edits[n] = replace(self.edits[n], carried=None)
                return

    @property
    def rewrite(self) -> Callable[[str], str]:
        """Prompts rewritten by every edit so far, the earliest first, so that the newest stands in front."""
        return _compose([edit.rewrite for edit in self.edits])

    @property
    def norms(self) -> list[ChangeNorm]:
        """How far every changed weight is from what it was; none of a model whose weights are not at hand."""
        return [] if self._weights is None else self._weights.norms()

    def state(self) -> ChainState:
        """What stands in the model; tensors are the model's own, not copies.

        Raises:
            NotStorable: an edit keeps its changes to itself, or the model's weights are not at hand.
        """
        if self._weights is None or any(not _is_storable(edit) for edit in self.edits):
            raise NotStorable("an edit keeps its changes to itself")
        edits = tuple(edit if isinstance(edit, WeightEdit) else None for edit in self.edits)
        return ChainState(self._weights.state(), edits)

    def load(self, state: ChainState, editor: Editor, requests: Sequence[Any]) -> None:
        """Put a state on a model without edits.

        Args:
            state: What ``state`` of another chain said.
            editor: The method that goes on.
            requests: Those of the state's edits, in order.

        Raises:
            UserError: a weight is not there or of another shape; then nothing is applied.
        """
        assert self._weights is not None and not self.edits
        edits: list[Any] = []
        for edit, request in zip(state.edits, requests, strict=True):
            edits.append(editor.edit_after([request], edits) if edit is None else edit)
        self._weights.load(state.stack)
        self.edits = edits


def _is_storable(edit: Any) -> bool:
    """Whether an edit is a value, or changes no weight."""
    return isinstance(edit, WeightEdit) or (edit.deltas is not None and not edit.deltas)


def _compose(rewrites: Sequence[Callable[[str], str]]) -> Callable[[str], str]:
    return lambda prompt: reduce(lambda text, rewrite: rewrite(text), rewrites, prompt)
