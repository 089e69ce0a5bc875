"""What a call costs: a dated table in a file, ours or the user's."""

from __future__ import annotations

import re
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from schemas.core.config import Options, read_toml, validate

_DATED = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8})$")


class Price(NamedTuple):
    """US dollars for a million tokens in and out, and the day on which that was so."""

    input: float
    output: float
    checked: date

    def cost(self, tokens_in: int, tokens_out: int) -> float:
        """US dollars of a call.

        Example:
            >>> Price(0.5, 1.0, date(2026, 1, 1)).cost(1_000_000, 2_000_000)
            2.5
        """
        return (tokens_in * self.input + tokens_out * self.output) / 1e6


FREE = Price(0.0, 0.0, date(2026, 1, 1))
"""Of a model on this machine."""


class PriceEntry(Options):
    """A model's line in a price table; batch prices are the live ones where left out."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    batch_input: float | None = Field(default=None, ge=0)
    batch_output: float | None = Field(default=None, ge=0)


class PriceTable(Options):
    """A price table.

    Attributes:
        checked: Day on which the prices held.
        note: Where they come from.
        models: By the model's name at the endpoint.
    """

    checked: date
    note: str = ""
    models: dict[str, PriceEntry]

    def price(self, model: str, *, batch: bool) -> Price | None:
        """The price of a model, or None where it is not listed; a dated name falls back to the name without date."""
        line = self.models.get(model) or self.models.get(_DATED.sub("", model))
        if line is None:
            return None
        into, out = line.input, line.output
        if batch:
            into = line.batch_input if line.batch_input is not None else into
            out = line.batch_output if line.batch_output is not None else out
        return Price(into, out, self.checked)


SHIPPED = Path(str(files("construction.llm.cost").joinpath("prices.toml")))
"""The table that comes with the program."""


def price_of(model: str, *, batch: bool = False, table: Path | None = None) -> Price | None:
    """The price of a model from the user's table, else from ours.

    Args:
        model: Its name at the endpoint.
        batch: Whether it is asked in batches.
        table: The user's table.

    Raises:
        UserError: the file is missing or not a price table.
    """
    for path in (table, SHIPPED):
        if path is not None:
            price = validate(PriceTable, read_toml(path), where=str(path)).price(model, batch=batch)
            if price is not None:
                return price
    return None


def how_to_add(model: str) -> str:
    """What to do about a model without a price.

    Example:
        >>> print(how_to_add("m"))  # doctest: +ELLIPSIS
        no price is known for ... into a file for --prices
    """
    line = f'checked = 2026-01-31 and [models] "{model}" = {{ input = 0.0, output = 0.0 }}'
    return f"no price is known for '{model}': write {line} with US dollars a million tokens into a file for --prices"
