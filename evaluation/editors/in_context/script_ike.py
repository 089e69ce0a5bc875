"""IKE with scripts: demonstrations are script questions with a script that follows the new fact (ours, for ScEdit)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field
from typing_extensions import override

from evaluation.editors.in_context.demonstrations import Demonstration, Shows, of_scripts
from evaluation.editors.in_context.ike import Ike
from evaluation.editors.in_context.retrieval import statement
from schemas.cases import Case
from schemas.facts import Fact


class ScriptIke(Ike):
    """As IKE, with scripts up to the new object (update) and neighbours' scripts up to their own (retain)."""

    name: ClassVar[str] = "script_ike"
    about: ClassVar[str] = "the new fact after demonstrations that are whole script questions with scripts (in context)"
    needs: ClassVar[str] = "support with script prompts; the embedding model"

    class Params(Ike.Params):
        """Options of IKE with scripts, as IKE's.

        Attributes:
            k: Demonstrations, each a question with a script.
            ratio: Shares of copy, update and retain.
        """

        k: int = Field(default=4, ge=1)
        ratio: tuple[float, float, float] = (0.0, 1.0, 1.0)

    params: Params

    def shows(self, case: Case) -> Shows:
        """Scripts up to the object."""
        return of_scripts(case)

    @override
    def demonstration(self, fact: Fact, shown: Demonstration) -> str:
        return f"New Fact: {statement(fact)}.\n{shown.text}\n\n"

    def question(self, facts: Sequence[Fact]) -> str:
        """The new facts on a line of their own, as in the demonstrations."""
        return f"New Fact: {'; '.join(statement(f) for f in facts)}.\n"
