"""Control items: training and attention items, whose right answers are known."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from annotation_ui.ratings.database import CampaignItem
from annotation_ui.tasks.base import RatingTask, TaskItem
from curation.files.json_files import json_lines
from schemas.core.config import validate
from schemas.core.errors import DataError, UserError
from schemas.core.ids import content_id
from schemas.core.records import Frozen


class RaterControlItem(Frozen):
    """A training or attention item with its right answers, one a line of a file.

    Attributes:
        purpose: ``training`` or ``attention``.
        id: A name of its own.
        shown: Texts, as the form shows them.
        expected: Right answers by field; an answer that differs by more than ``tolerance`` on a scale is wrong.
        because: What a trainee reads afterwards.
    """

    purpose: Literal["training", "attention"]
    id: str
    shown: dict[str, str]
    expected: dict[str, Any]
    because: str = ""
    tolerance: int = Field(default=1, ge=0)


def read_control_items(path: Path, task: RatingTask) -> list[RaterControlItem]:
    """Training and attention items from JSON lines, each checked against the form.

    Raises:
        UserError: there is no such file.
        DataError: a line is not such an item; says which and why.
    """
    lines = [(validate(RaterControlItem, data, where=where), where) for _, where, data in json_lines(path)]
    for known, where in lines:
        _check_by_form(known, task, where)
    return [known for known, _ in lines]


def _check_by_form(known: RaterControlItem, task: RatingTask, where: str) -> None:
    names = {f.name for f in task.form.asked_fields()}
    for name, value in known.expected.items():
        if name not in names:
            raise DataError(f"the form does not ask '{name}'", where=where, allowed=", ".join(sorted(names)))
        if fault := task.form.field(name).fault(value):
            raise DataError(f"expected answer: {fault}", where=where)
    wanted = {s.name for s in task.form.shows if not s.optional}
    if missing := wanted - {name for name, text in known.shown.items() if text.strip()}:
        raise DataError(f"nothing is shown as '{sorted(missing)[0]}'", where=where, allowed=", ".join(sorted(wanted)))


def place_control_item(known: RaterControlItem, task: RatingTask) -> CampaignItem:
    """A control item under an id like those of real items, so that nobody tells it from them."""
    opaque = content_id("control item", [known.purpose, known.id, known.shown])
    item = TaskItem(id=opaque, case=f"known/{known.id}", stratum=known.purpose, shown=known.shown)
    expected = {
        "answers": known.expected, "because": known.because, "tolerance": known.tolerance, "name": known.id
    }  # fmt: skip
    return CampaignItem(item, known.purpose, expected)


def is_control(item: TaskItem, known: Sequence[RaterControlItem]) -> bool:
    """Whether an item is one whose right answer is known: by the gold set's id, or by the very same texts."""
    return any(k.id.removeprefix("gold-") == item.id or k.shown == dict(item.shown) for k in known)


def refuse_double_use(placed: Sequence[CampaignItem], known: Sequence[RaterControlItem]) -> None:
    """Refuse control items that are rated in the same campaign.

    Raises:
        UserError: one is.
    """
    for p in placed:
        if p.purpose == "real" and is_control(p.item, known):
            raise UserError(
                f"the item '{p.item.id}' is rated in this campaign and cannot have a known answer in it too",
                fix="leave it out of the control items, or make a new campaign with them from the start",
            )


def wrong_fields(placed: CampaignItem, task: RatingTask, answers: dict[str, Any]) -> list[str]:
    """The fields of a training or attention item that were not answered as expected; empty for real items."""
    if placed.expected is None:
        return []
    out = []
    for name, right in placed.expected["answers"].items():
        answer = answers.get(name)
        scale = task.form.field(name).kind == "scale"
        if scale and isinstance(answer, int) and not isinstance(answer, bool):
            off = abs(answer - int(right)) > int(placed.expected["tolerance"])
        else:
            off = answer != right
        out += [name] if off else []
    return out
