"""Items on which the last word has been said: all whom a campaign gave them have answered, or the lead decided."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from annotation_ui.ratings.records import Adjudication, Assignment, CampaignItem, Revision
from annotation_ui.tasks.base import RatingTask, TaskItem
from annotation_ui.tasks.forms import Answers


class SettledItem(NamedTuple):
    """An item that is settled.

    Attributes:
        item: What was judged.
        answers: By person, each passed by the form; the lead's alone where the lead decided.
        settled_at: When the last of them was saved.
        lead: Whether the lead decided.
    """

    item: TaskItem
    answers: Mapping[str, Answers]
    settled_at: str
    lead: bool = False


def settled_answers(
    task: RatingTask,
    items: Mapping[str, CampaignItem],
    *,
    current: Iterable[Revision],
    assigned: Iterable[Assignment],
    decisions: Mapping[str, Adjudication],
) -> list[SettledItem]:
    """The settled real items of a campaign, in its order; none that waits for somebody or has a faulty answer.

    Args:
        task: What the campaign asks.
        items: Of the campaign.
        current: Current answers to them.
        assigned: To whom they were given.
        decisions: The lead's, by item.
    """
    answers_by_item: dict[str, dict[str, tuple[Answers, str]]] = defaultdict(dict)
    for r in current:
        answers_by_item[r.item][r.person] = (r.answers or {} if r.form == task.form.label else {}, r.saved_at)
    people: dict[str, set[str]] = defaultdict(set)
    for a in assigned:
        people[a.item].add(a.person)
    out = []
    for key, placed in items.items():
        if placed.purpose != "real":
            continue
        item, decision = placed.item, decisions.get(key)
        if decision is not None:
            if not task.faults(item, decision.answers):
                out.append(SettledItem(item, {decision.lead: decision.answers}, decision.saved_at, lead=True))
            continue
        answers = answers_by_item[key]
        if not answers or people[key] - set(answers) or any(task.faults(item, one) for one, _ in answers.values()):
            continue
        last = max(at for _, at in answers.values())
        out.append(SettledItem(item, {person: one for person, (one, _) in sorted(answers.items())}, last))
    return out
