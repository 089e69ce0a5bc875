"""Texts that a model cannot read to their end: how many are cut, said once a method."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from evaluation.models.language_model import LM

log = logging.getLogger(__name__)


class CutTexts:
    """Counts the texts of a method that are longer than its model reads, and says so once.

    Args:
        method: Its name.
        lm: The model; one that tells no greatest length cuts nothing.
    """

    def __init__(self, method: str, lm: LM) -> None:
        self.method, self.lm, self._said = method, lm, False

    def count(self, texts: Sequence[str]) -> int:
        """How many of the texts are cut; a warning says it the first time that there are any."""
        limit = self.lm.limit
        lengths = [len(ids) for ids in self.lm.encodings.texts(list(texts))] if limit else []
        cut = [length for length in lengths if limit and length > limit]
        if cut and not self._said:
            self._said = True
            log.warning(
                "'%s' learns the first %d tokens of longer texts, such as one of %d: the model reads no more; notes of "
                "edits count them as texts_cut",
                self.method, limit, max(cut),
            )  # fmt: skip
        return len(cut)

    def note(self, texts: Sequence[str]) -> dict[str, int]:
        """``texts_cut`` for an edit's notes, where texts are cut at all."""
        count = self.count(texts)
        return {"texts_cut": count} if count else {}
