"""REMINDER: every prompt is preceded by the new fact and, if wanted, by a denial of the old one."""

from collections.abc import Sequence
from typing import ClassVar

from evaluation import Edit, Editor, PromptEdit
from schemas import Fact, Options


class Reminder(Editor):
    """An edit that lives in the prompt; no weight changes."""

    name: ClassVar[str] = "reminder"
    version: ClassVar[int] = 1  # raise it when the same options would give other edits
    about: ClassVar[str] = "the new fact, and a denial of the old one, before every prompt"
    costs: ClassVar[str] = "no search; longer prompts"

    class Params(Options):
        """Options of REMINDER.

        Attributes:
            deny: Also say that the old object no longer holds.
        """

        deny: bool = True

    params: Params

    def edit(self, requests: Sequence[Fact]) -> Edit:
        """One prefix that makes all requests true."""
        sentences = []
        for fact in requests:
            if self.params.deny:
                sentences.append(f"It is no longer true that {fact.fact_prompt} {fact.old.text}.")
            sentences.append(f"{fact.fact_prompt} {fact.new_object.text}.")
        return PromptEdit(prefix=" ".join(sentences) + " ")
