"""Rate Executability: the script and nothing else is seen (ScEdit Figure 8)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from annotation_ui.tasks.base import TaskItem
from annotation_ui.tasks.forms import read_form
from annotation_ui.tasks.likert import ScaleTask, generated_items

if TYPE_CHECKING:
    from curation.store.store import Store


class RateExecutability(ScaleTask):
    """Seven points for Executability. Rate it before the other aspects: their task shows the question."""

    about = "Rate Executability of generated scripts, from the script alone"
    form = read_form("rate_executability")

    def items(self, store: Store) -> Iterator[TaskItem]:
        """Every generated script, as it was written."""
        yield from generated_items(store, blind_to_fact=True)
