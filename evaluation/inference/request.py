"""What is asked under one edit: the unit that scoring and writing in shared batches work on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from schemas.probes import Probe

if TYPE_CHECKING:
    from evaluation.edits.weight_deltas import Delta


class EditedProbes(NamedTuple):
    """Probes asked under one edit.

    Attributes:
        deltas: The edit's weight changes.
        rewrite: The edit's way with prompts, or None.
        probes: What is asked.
    """

    deltas: Sequence[Delta]
    rewrite: Callable[[str], str] | None
    probes: Sequence[Probe]
