"""The gold set: items whose answer is settled, by everybody or by the lead, as training items for the next round."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any, Literal, NamedTuple

from annotation_ui.campaigns.campaign import task_of
from annotation_ui.ratings.database import RatingsDB
from curation.files.atomic import atomic_file


class GoldItem(NamedTuple):
    """A settled item: the answers that count, and how they were settled."""

    item: str
    shown: dict[str, str]
    answers: dict[str, Any]
    settled: Literal["adjudicated", "unanimous"]


def gold_items(db: RatingsDB, name: str) -> list[GoldItem]:
    """Items that a lead decided, and items on which two or more people gave the very same judgements."""
    task, items, decided = task_of(db, name), db.items(name), db.adjudications(name)
    field_names = [f.name for f in task.form.asked_fields()]
    answers_by_item: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for r in db.current_answers(name):
        if r.item in items and items[r.item].purpose == "real" and r.answers and not task.form.faults(r.answers):
            answers_by_item[r.item].append({a: r.answers.get(a) for a in field_names})
    out = []
    for item, placed in items.items():
        if item in decided and not task.form.faults(decided[item].answers):
            answers = {a: decided[item].answers[a] for a in field_names}
            out.append(GoldItem(item, dict(placed.item.shown), answers, "adjudicated"))
        elif len(answers_by_item[item]) > 1 and all(s == answers_by_item[item][0] for s in answers_by_item[item]):
            out.append(GoldItem(item, dict(placed.item.shown), answers_by_item[item][0], "unanimous"))
    return out


def write_gold_set(db: RatingsDB, name: str, path: Path) -> int:
    """Write the gold set as a file that ``scedit annotate new --control-items`` takes; returns the number of items."""
    gold = gold_items(db, name)
    with atomic_file(path) as file:
        for g in gold:
            row = {"purpose": "training", "id": f"gold-{g.item}", "shown": g.shown, "expected": g.answers}
            file.write(json.dumps({**row, "because": g.settled}, ensure_ascii=False) + "\n")
    return len(gold)
