"""Which questions a run's model must still answer, as its configuration says it: the table ``[specificity]``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from schemas.core.config import Options


class SpecificityChoice(Options):
    """Questions that the unedited model answers, shared by all cases (MULFE §4.3).

    Attributes:
        file: A specificity set of the run's model: one record as JSON, or MULFE's released shape.
        number: So many of them after every edit, drawn anew for each; ``all`` as published (400).
        seed: Of the draws.
        instruction: What stands before these questions instead of the run's instruction, such as the prompt that took
            no part in choosing them.

    Example:
        >>> SpecificityChoice.model_validate({"file": "known.json"}).number
        40
    """

    file: Path
    number: Annotated[int, Field(ge=1)] | Literal["all"] = 40
    seed: int = 0
    instruction: str | None = None
