"""How probes of documents are asked, as a run's configuration says it: the table ``[documents]``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from schemas.core.config import Options


class DocumentChoice(Options):
    """How probes of documents are asked.

    Attributes:
        instruction: What stands before every question, a blank line between (MULFE, Example 7); empty for nothing.
        hint: Whether what stands before a cloze's blank is given as the beginning of the answer. The paper says so for
            GPT-2 models, the released configuration for all.
        answer_tokens: The most new tokens of a written answer, which ends with its line.

    Example:
        >>> DocumentChoice().hint
        True
    """

    instruction: str = "Directly answer the question."
    hint: bool = True
    answer_tokens: Annotated[int, Field(ge=1)] = 24
