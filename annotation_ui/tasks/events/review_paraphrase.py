"""Review the wording of an event: is everything of the template in it, and nothing more? (ELKEN Appendix A.1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from annotation_ui.tasks.base import RatingTask, TaskItem
from annotation_ui.tasks.events.event_items import SOURCE_HINT, facts_of, numbered_lines, standing_events
from annotation_ui.tasks.forms import read_form
from annotation_ui.tasks.spans import FAIL
from schemas.events.event import TEMPLATE_TEXT, Event
from schemas.lineage import Lineage

if TYPE_CHECKING:
    from curation.store.store import Store


class ReviewParaphrase(RatingTask):
    """Does an event still say what its template says? Its answers in scope are shown: the wording has to bear them."""

    about = "Review the wording of events: nothing lost, nothing added"
    span_labels = (FAIL,)
    source_hint = SOURCE_HINT
    form = read_form("review_paraphrase")

    def items(self, store: Store) -> Iterator[TaskItem]:
        """Every event of a template that no check has dropped."""
        for event in standing_events(store):
            if event.template is None:
                continue
            answers = [f"{q.text} → {q.answer.text}" for q in facts_of(store, event) if q.scope == "in"]
            bare = bare_words(event, store.lineage(event.id))
            shown = {"bare": bare, "event": event.text, "answers": numbered_lines(answers)}
            yield TaskItem(
                id=event.id,
                case=event.key,
                stratum=event.type,
                shown={name: text for name, text in shown.items() if text},
            )


def bare_words(event: Event, lines: Sequence[Lineage]) -> str:
    """The words of an event's template, where its lineage knows them and they are others than the event's."""
    wordings = [str(line.detail[TEMPLATE_TEXT]) for line in lines if TEMPLATE_TEXT in line.detail]
    return wordings[-1] if wordings and wordings[-1] != event.text else ""
