"""Which simplification stands around a method, as a run's configuration says it: ``simplify = "ner_qg"``."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, model_validator

from evaluation.simplify import SIMPLIFIERS
from evaluation.simplify.base import Simplifier
from schemas.core.config import Options, validate
from schemas.core.errors import UserError


class SimplifyChoice(Options):
    """A strategy and its options; a bare string names one without options.

    Attributes:
        name: Name in ``SIMPLIFIERS``. Other fields are its options.

    Example:
        >>> SimplifyChoice.model_validate("openie").name
        'openie'
    """

    model_config = ConfigDict(extra="allow")

    name: str

    @model_validator(mode="before")
    @classmethod
    def _accept_bare_name(cls, data: Any) -> Any:
        return {"name": data} if isinstance(data, str) else data

    @model_validator(mode="after")
    def _known_strategy(self) -> SimplifyChoice:
        try:
            self.made()
        except UserError as error:
            raise ValueError(str(error)) from None
        return self

    def made(self) -> Simplifier:
        """The strategy itself.

        Raises:
            UserError: unknown strategy or option, or a value out of range.
        """
        kind: type[Simplifier] = SIMPLIFIERS.get(self.name)
        return kind(validate(kind.Params, dict(self.model_extra or {}), where=f"options of '{self.name}'"))
