"""What goes into a split of events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, model_validator

from curation.rules.document_rule import DocumentRule
from curation.rules.rule import SplitRule
from schemas.core.config import validate

_OF_FACTS = ("changes", "min_prompts", "min_neighbours")


class EventRule(SplitRule):
    """What goes into a split of events: the part of ``SplitRule`` that is about verdicts, and what events need.

    Attributes:
        edits: Tells it from a rule about facts.
        types: Only events of these types or topics; None for all.
        min_people: A question needs the verdicts of at least this many people (ELKEN: two, and with ``people = "any"``
            one drop is enough); those with fewer are held.
        min_questions: An event has at least this many questions that are kept.
    """

    edits: Literal["event"] = "event"
    types: tuple[str, ...] | None = None
    min_people: int = Field(default=0, ge=0)
    min_questions: int = Field(default=1, ge=1)

    @model_validator(mode="after")
    def _no_scripts(self) -> EventRule:
        changed = [n for n in _OF_FACTS if getattr(self, n) != SplitRule.model_fields[n].default]
        if changed:
            raise ValueError(f"'{changed[0]}' is about facts and script prompts, which a split of events has not")
        return self


def read_rule(table: Mapping[str, Any], where: str) -> SplitRule:
    """The rule in a table, of facts, or of what ``edits`` says: ``event`` or ``document``.

    Raises:
        UserError: an unknown name or an impossible value.
    """
    others: dict[str, type[SplitRule]] = {"event": EventRule, "document": DocumentRule}
    other = others.get(str(table.get("edits")))
    if other is not None:
        return validate(other, dict(table), where=where)
    return validate(SplitRule, {k: v for k, v in table.items() if k != "edits" or v != "fact"}, where=where)
