"""How questions about events are asked and read, as a run's configuration says it: the table ``[events]``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from schemas.core.config import Options


class EventChoice(Options):
    """How questions about events are asked, and how their answers are read.

    Attributes:
        instruction: ``same``: one instruction for every method, before and after the edit. ``paper``: as published,
            another one where an event stands before the question; only that one says that "unknown" is an answer.
        answer_tokens: The most new tokens of a short answer, which ends with its line.
        open_tokens: The most new tokens of an open answer.
        unknown: What counts as the answer "unknown": ``leading``, an answer that is this word or begins with it;
            ``anywhere``, as published, an answer that holds it ("the unknown soldier").
        orders: In which orders the three options are shown: ``cyclic``, all three rotations, their shares averaged;
            ``given``, as published, the order of the data.

    Example:
        >>> EventChoice().instruction
        'same'
    """

    instruction: Literal["same", "paper"] = "same"
    answer_tokens: Annotated[int, Field(ge=1)] = 24
    open_tokens: Annotated[int, Field(ge=1)] = 128
    unknown: Literal["leading", "anywhere"] = "leading"
    orders: Literal["cyclic", "given"] = "cyclic"
