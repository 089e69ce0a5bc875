"""Review the level of a curated probe: approve it, or name another and say why (MULFE §4.3, second round)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from annotation_ui.tasks.base import RatingTask, TaskItem, join_reasons
from annotation_ui.tasks.documents.probe_items import (
    LEVELS,
    SOURCE_HINT,
    level_of,
    new_version,
    probe_items,
)
from annotation_ui.tasks.forms import Answers, read_form
from schemas.core.records import Record
from schemas.verdicts import Label

if TYPE_CHECKING:
    from curation.store.store import Store


class ReviewLevel(RatingTask):
    """Is the level right? Shown as it stands after the first round, to somebody else."""

    about = "Review the levels of curated probes: approve, or another level and why"
    source_hint = SOURCE_HINT
    form = read_form("review_level")

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

    def checked(self, item: TaskItem, answers: Answers) -> dict[str, Any]:
        """The answers, and the level that is shown where it was approved."""
        checked = super().checked(item, answers)
        return checked | ({"level": level_of(item) or 0} if checked["approved"] == "yes" else {})

    def verdict(self, item: TaskItem, answers: Answers) -> tuple[Label, str]:
        """``keep``, or ``unsure`` with the other level."""
        if answers["approved"] == "yes":
            return "keep", join_reasons(answers.get("comment"))
        return "unsure", join_reasons(f"level {answers['level']}, not {level_of(item)}", answers.get("comment"))

    def corrections(self, store: Store, item: TaskItem, answers: Mapping[str, Answers]) -> list[Record]:
        """The probe with the level that all name; nothing where they differ. Tags go where the level has none."""
        levels = {self.checked(item, one)["level"] for one in answers.values()}
        if len(levels) != 1:
            return []
        (level,) = levels
        probe = new_version(store, item, {"level": level, **({} if level == 3 else {"tags": ()})})
        if probe is None or level == level_of(item):
            return []
        reason = f"corrected: level {level}, not {level_of(item)}"
        return [probe, *(self.person_verdict(probe.id, who, label="keep", reason=reason) for who in answers)]
