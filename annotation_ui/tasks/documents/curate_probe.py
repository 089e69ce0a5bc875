"""Curate a probe: usable or not and why, answer, level and tags (MULFE §4.3, first round)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from annotation_ui.tasks.base import RatingTask, TaskItem, join_reasons
from annotation_ui.tasks.documents.probe_items import (
    SOURCE_HINT,
    level_of,
    new_version,
    probe_items,
)
from annotation_ui.tasks.forms import Answers, read_form
from schemas.core.records import Record
from schemas.documents.tags import TAGS
from schemas.verdicts import Label

if TYPE_CHECKING:
    from curation.store.store import Store


class CurateProbe(RatingTask):
    """Can the probe be asked, is its answer right, which level and tags has it? The level as written is not shown.

    Answers that differ from the probe as it stands make a new version of it, where all who judge it say the same.
    """

    about = "Curate probes of documents: usable or why not, answer, level, tags"
    source_hint = SOURCE_HINT
    sets = ("tags",)
    form = read_form("curate_probe")

    def items(self, store: Store) -> Iterator[TaskItem]:
        """Every probe that no check has dropped."""
        for item, probe in probe_items(store):
            shown = {**item.shown, **({"tags": ", ".join(probe.tags)} if probe.tags else {})}
            yield item.model_copy(update={"shown": shown})

    def faults(self, item: TaskItem, answers: Answers) -> list[str]:
        """Also: tags where the level has none, none where it needs one, and an answer that is the shown one."""
        out = super().faults(item, answers)
        tagged, kept = bool(answers.get("tags")), answers.get("usable") == "yes"
        if answers.get("level") == 3 and kept and not tagged:
            out.append("'tags' has no answer, and level 3 needs one")
        if answers.get("level") in (1, 2) and tagged:
            out.append(f"'tags' belong to level 3, and 'level' is {answers['level']}")
        other = str(answers.get("answer") or "").strip()
        if other and answers.get("right") == "yes":
            out.append("'answer' names another answer, and 'right' is yes")
        if other == item.shown["answer"]:
            out.append("'answer' is the answer that is shown")
        return out

    def verdict(self, item: TaskItem, answers: Answers) -> tuple[Label, str]:
        """``drop``, ``unsure`` or ``keep``, and why.

        ``drop``: it cannot be used, or its answer is wrong and nobody names another. ``unsure``: something is to be
        corrected; the new version has verdicts of its own.
        """
        label, why = _label(item, answers)
        return label, join_reasons(why, answers.get("comment"))

    def records(self, item: TaskItem, answers: Answers, *, person: str) -> list[Record]:
        """A verdict on the probe as it was shown, and every answer as a measurement, tags too."""
        tags = self.checked(item, answers).get("tags", [])
        count = self.person_verdict(
            item.id, person, "tags", value=len(tags), unit="tags", reason=", ".join(sorted(tags))
        )
        return [*super().records(item, answers, person=person), count]

    def corrections(self, store: Store, item: TaskItem, answers: Mapping[str, Answers]) -> list[Record]:
        """The probe with the level, tags and answer that all say, and that they keep it; nothing where they differ."""
        checked = [self.checked(item, one) for one in answers.values()]
        wanted = [_changes(item, one) for one in checked if _label(item, one)[0] != "drop"]
        if len(wanted) < len(checked) or any(changes != wanted[0] for changes in wanted):
            return []
        probe = new_version(store, item, wanted[0])
        if probe is None:
            return []
        reason = _label(item, checked[0])[1]
        return [probe, *(self.person_verdict(probe.id, who, label="keep", reason=reason) for who in answers)]


def _label(item: TaskItem, checked: Answers) -> tuple[Label, str]:
    """What the answers say of the probe as it was shown, and why."""
    reasons = ", ".join(checked.get("reasons", []))
    if checked["usable"] == "no" or (checked["right"] == "no" and not checked.get("answer")):
        return "drop", reasons
    changes = _changes(item, checked)
    if not changes:
        return "keep", reasons
    level = level_of(item)
    texts = [
        f"level {changes['level']}, not {level}" if "level" in changes and changes["level"] != level else "",
        f"answer: {changes['answer']}" if "answer" in changes else "",
        f"tags: {', '.join(changes['tags']) or 'none'}" if "tags" in changes else "",
    ]
    return "unsure", f"corrected: {'; '.join(t for t in texts if t)}"


def _changes(item: TaskItem, checked: Answers) -> dict[str, Any]:
    """What differs from the probe as it was shown; the order of tags is that of the closed list."""
    out: dict[str, Any] = {}
    if checked["level"] != level_of(item):
        out["level"] = checked["level"]
    tags = [tag for tag in TAGS if tag in checked.get("tags", [])]
    if set(tags) != set(filter(None, item.shown.get("tags", "").split(", "))):
        out["tags"] = tags
    if checked.get("answer"):
        out["answer"] = checked["answer"]
        out["accepted"] = [a for a in item.shown.get("accepted", "").split("; ") if a and a != checked["answer"]]
    return out
