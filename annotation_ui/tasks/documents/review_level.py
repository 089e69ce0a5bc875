"""Review the level of a curated probe: approve it, or name another and say why (MULFE §4.3, second round)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from annotation_ui.tasks.base import RatingTask, TaskItem, person_verdict
from annotation_ui.tasks.documents.probe_items import (
    LEVELS,
    SOURCE_HINT,
    level_of,
    new_version,
    probe_items,
)
from annotation_ui.tasks.forms import Answers, Field, read_form
from schemas.core.records import Record

if TYPE_CHECKING:
    from curation.store.store import Store


class ReviewLevel(RatingTask):
    """Is the level right? Shown as it stands after the first round, to somebody else."""

    about = "Review the levels of curated probes: approve, or another level and why"
    source_hint = SOURCE_HINT
    form = read_form("review_level")

    def answer_of(self, field: Field, value: float) -> Any:
        """A level is the number itself."""
        return int(value) if field.name == "level" else super().answer_of(field, value)

    def items(self, store: Store) -> Iterator[TaskItem]:
        """Every probe with a level that neither a check nor a person has dropped."""
        for item, probe in probe_items(store, people_too=True):
            if probe.level is not None:
                level = f"{probe.level} ({LEVELS[probe.level].partition(':')[0]})"
                yield item.model_copy(update={"shown": {**item.shown, "level": level}})

    def faults(self, item: TaskItem, answers: Answers) -> list[str]:
        """Also: a no without another level, and a yes with one."""
        out = super().faults(item, answers)
        level, shown = answers.get("level"), level_of(item)
        if answers.get("approved") == "no" and level is None:
            out.append("'approved' is no without another 'level'")
        if answers.get("approved") == "no" and level == shown:
            out.append(f"'approved' is no, and 'level' is the {shown} that is shown")
        if answers.get("approved") == "yes" and level not in (None, shown):
            out.append(f"'approved' is yes, and 'level' is {level}, not {shown}")
        return out

    def records(self, item: TaskItem, answers: Answers, *, person: str) -> list[Record]:
        """``keep``, or ``unsure`` with the other level; whether it was approved, and the level, as measurements."""
        checked = self.checked(item, answers)
        approved, shown = checked["approved"] == "yes", level_of(item)
        level = shown if approved else checked["level"]
        why = "" if approved else f"level {level}, not {shown}"
        reason = "; ".join(x for x in (why, str(checked.get("comment", ""))) if x)
        name, version = self.form.name, self.form.version
        return [
            person_verdict(name, version, item.id, person, label="keep" if approved else "unsure", reason=reason),
            person_verdict(f"{name}_approved", version, item.id, person, value=float(approved)),
            person_verdict(f"{name}_level", version, item.id, person, value=float(level or 0), unit="level"),
        ]

    def corrections(self, store: Store, item: TaskItem, answers: Mapping[str, Answers]) -> list[Record]:
        """The probe with the level that all name; nothing where they differ. Tags go where the level has none."""
        checked = [self.checked(item, one) for one in answers.values()]
        levels = {level_of(item) if one["approved"] == "yes" else one["level"] for one in checked}
        if len(levels) != 1:
            return []
        (level,) = levels
        probe = new_version(store, item, {"level": level, **({} if level == 3 else {"tags": ()})})
        if probe is None or level == level_of(item):
            return []
        reason = f"corrected: level {level}, not {level_of(item)}"
        name, version = self.form.name, self.form.version
        return [
            probe,
            *(person_verdict(name, version, probe.id, who, label="keep", reason=reason) for who in answers),
        ]
