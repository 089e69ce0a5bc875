"""Tasks about probes of documents: curate them, review their levels (MULFE 4.3 and Appendix A.3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from annotation_ui.tasks.base import RatingTask, TaskItem, join_reasons
from annotation_ui.tasks.forms import Answers, read_form
from schemas.core.records import Record
from schemas.documents.document import Document, DocumentProbe
from schemas.documents.tags import TAGS
from schemas.verdicts import Label

if TYPE_CHECKING:
    from curation.store.store import Store

SOURCE_HINT = "import or construct documents with probes first: scedit data construct-documents"
LEVELS = {
    1: "literal: with the blank filled in, the document says it word for word",
    2: "paraphrase: the document says it in other words",
    3: "reasoning: you have to draw a conclusion from the document, or sum it up",
}
"""What the levels mean (MULFE §4.2)."""


def probe_items(store: Store, *, people_too: bool = False) -> Iterator[tuple[TaskItem, DocumentProbe]]:
    """Every probe that no check has dropped, with its document and the document's other probes.

    Args:
        store: The store.
        people_too: Leave out what people dropped, too.
    """
    dropped = {
        v.item_id for v in store.verdicts(stale=False) if v.label == "drop" and (v.judged_by is None or people_too)
    }
    for document in store.all(Document):
        if document.id in dropped:
            continue
        probes = [p for p in store.of_parents(DocumentProbe, [document.key]) if p.id not in dropped]
        for probe in probes:
            others = [p for p in probes if p.key != probe.key]
            shown = {
                "document": document.text,
                "query": probe.query,
                "answer": probe.answer,
                "accepted": "; ".join(probe.accepted),
                "siblings": "\n".join(f"{n}. {p.query} — {p.answer}" for n, p in enumerate(others, 1)),
            }
            item = TaskItem(
                id=probe.id,
                case=document.key,
                stratum="no level" if probe.level is None else f"level {probe.level}",
                shown={name: text for name, text in shown.items() if text},
                related=(document.id, *(p.id for p in others)),
            )
            yield item, probe


def level_of(item: TaskItem) -> int | None:
    """The level that an item's probe had when it was shown."""
    name = item.stratum.removeprefix("level ")
    return int(name) if name.isdecimal() else None


def new_version(store: Store, item: TaskItem, changes: Mapping[str, Any]) -> DocumentProbe | None:
    """The probe as people corrected it; None where nothing changed, or where it has another version already."""
    judged = store.get(item.id)
    assert isinstance(judged, DocumentProbe)
    if store.get(judged.key).id != judged.id:
        return None
    changed = DocumentProbe.model_validate({**judged.payload(), **changes})
    return None if changed.id == judged.id else changed


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
