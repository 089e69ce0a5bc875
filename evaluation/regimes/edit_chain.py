"""Edits made one after the other in one model, each on what the earlier ones left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import reduce
from typing import Any

from evaluation.edits.delta_stack import DeltaStack
from evaluation.edits.edit import WeightEdit
from evaluation.engines.protocols import EditorLike, Scorer


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

    def add(self, editor: EditorLike, request: Any) -> Any:
        """Make one more edit and put it on; returns it."""
        edit = editor.edit_after([request], self.edits)
        if self._weights is not None and edit.deltas is not None:
            self._weights.add(edit.deltas)
            self.edits[-1:] = [last.followed() if isinstance(last, WeightEdit) else last for last in self.edits[-1:]]
            self.edits.append(edit.in_force() if isinstance(edit, WeightEdit) else edit)
        else:
            self._stack.enter_context(edit.on(self._scorer.editable))
            self.edits.append(edit)
        return edit

    @property
    def rewrite(self) -> Callable[[str], str]:
        """Prompts rewritten by every edit so far, the earliest first, so that the newest stands in front."""
        return _compose([edit.rewrite for edit in self.edits])


def _compose(rewrites: Sequence[Callable[[str], str]]) -> Callable[[str], str]:
    return lambda prompt: reduce(lambda text, rewrite: rewrite(text), rewrites, prompt)
