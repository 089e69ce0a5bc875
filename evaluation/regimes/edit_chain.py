"""Edits made one after the other in one model, each on what the earlier ones left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import fields, is_dataclass, replace
from functools import reduce
from typing import Any

from evaluation.edits.edit import CarryingEdit
from evaluation.edits.weight_deltas import DeltaStack
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
            self.edits[-1:] = [_drop_carried(last) for last in self.edits[-1:]]
            self.edits.append(_drop_weights(edit))
        else:
            self._stack.enter_context(edit.on(self._scorer.editable))
            self.edits.append(edit)
        return edit

    @property
    def rewrite(self) -> Callable[[str], str]:
        """Prompts rewritten by every edit so far, the earliest first, so that the newest stands in front."""
        return _compose([edit.rewrite for edit in self.edits])


def _drop_weights(edit: object) -> Any:
    """An edit whose changes stand in the weights, without its copy of them: a long sequence would fill the memory."""
    if not is_dataclass(edit) or isinstance(edit, type) or "deltas" not in {f.name for f in fields(edit)}:
        return edit
    return replace(edit, deltas=())


def _drop_carried(edit: object) -> Any:
    """An edit that another followed, without what only the newest needs."""
    return replace(edit, carried=None) if isinstance(edit, CarryingEdit) else edit


def _compose(rewrites: Sequence[Callable[[str], str]]) -> Callable[[str], str]:
    return lambda prompt: reduce(lambda text, rewrite: rewrite(text), rewrites, prompt)
