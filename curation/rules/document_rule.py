"""What goes into a split of documents."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from curation.rules.rule import SplitRule

_OF_FACTS = ("changes", "min_prompts", "min_neighbours")


class DocumentRule(SplitRule):
    """What goes into a split of documents: the part of ``SplitRule`` that is about verdicts, and what documents need.

    Attributes:
        edits: Tells it from a rule about facts.
        min_people: A probe needs the verdicts of at least this many people; those with fewer are held.
        min_probes: A document has at least this many probes that are kept.
    """

    edits: Literal["document"] = "document"
    min_people: int = Field(default=0, ge=0)
    min_probes: int = Field(default=1, ge=1)

    @model_validator(mode="after")
    def _no_scripts(self) -> DocumentRule:
        set_options = [n for n in _OF_FACTS if getattr(self, n) != SplitRule.model_fields[n].default]
        if set_options:
            raise ValueError(
                f"'{set_options[0]}' is about facts and script prompts, which a split of documents has not"
            )
        return self
