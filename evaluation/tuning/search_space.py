"""Search spaces: ranges of a method's options, and settings drawn from them by number, the same ones every time."""

from __future__ import annotations

import math
import random
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, model_validator

from schemas.core.config import Options, read_toml, validate
from schemas.core.errors import UserError
from schemas.core.ids import seed

Pair = Annotated[tuple[float, float], Field(min_length=2, max_length=2)]


class SearchRange(Options):
    """A range of one option.

    Attributes:
        log: Lowest and highest number, its logarithm uniform.
        linear: The number itself uniform.
        among: Values to choose from.
        depth: A layer, as a share of the model's depth from lowest to highest.
        span: With ``depth``: as many layers in a row that end there, fewest to most.
    """

    log: Pair | None = None
    linear: Pair | None = None
    among: tuple[Any, ...] | None = None
    depth: Pair | None = None
    span: tuple[int, int] | None = None

    @model_validator(mode="after")
    def _check_one(self) -> SearchRange:
        if sum(x is not None for x in (self.log, self.linear, self.among, self.depth)) != 1:
            raise ValueError("give one of log, linear, among, depth")
        if self.span and (self.depth is None or not 1 <= self.span[0] <= self.span[1]):
            raise ValueError("span goes with depth, and counts from 1")
        for pair in (self.log, self.linear, self.depth):
            if pair is not None and not pair[0] < pair[1]:
                raise ValueError("the lower end comes first")
        if self.log is not None and self.log[0] <= 0:
            raise ValueError("a logarithmic range is above 0")
        if self.among is not None and not self.among:
            raise ValueError("among names at least one value")
        return self

    def draw(self, random_: random.Random, depth: int) -> Any:
        """A value; numbers are rounded to three digits, which is what a preset shows."""
        if self.among is not None:
            return random_.choice(self.among)
        if self.depth is not None:
            last = min(depth - 1, round(random_.uniform(*self.depth) * depth))
            if self.span is None:
                return last
            return list(range(max(0, last + 1 - random_.randint(*self.span)), last + 1))
        if self.log is not None:
            return _round(math.exp(random_.uniform(math.log(self.log[0]), math.log(self.log[1]))))
        assert self.linear is not None
        return _round(random_.uniform(*self.linear))


def _round(value: float) -> float:
    return float(f"{value:.3g}")


class SearchSpace(Options):
    """Ranges by option."""

    ranges: dict[str, SearchRange]

    @classmethod
    def of(cls, method: str, file: Path | None = None) -> SearchSpace:
        """A method's search space, from the table that comes with the program or from a file of the same form.

        Raises:
            UserError: the method has none, or a range is wrong.
        """
        where = "evaluation/tuning/search_spaces.toml" if file is None else str(file)
        if file is None:
            table: dict[str, Any] = tomllib.loads(
                (files("evaluation.tuning") / "search_spaces.toml").read_text("utf-8")
            )
        else:
            table = read_toml(file)
        if not isinstance(table.get(method), dict) or not table[method]:
            raise UserError(
                f"no ranges are known for '{method}'",
                where=where,
                allowed=", ".join(table),
                fix="give a TOML file with --space: one table a method, one range an option",
            )
        return validate(cls, {"ranges": table[method]}, where=f"{where}, [{method}]")

    def draw(self, number: int, *, purpose: str, depth: int, constants: Mapping[str, Any]) -> dict[str, Any]:
        """The setting of a number: the same for the same purpose, whatever else is drawn; ``constants`` stay."""
        random_ = random.Random(seed(purpose, str(number), "setting"))
        drawn = {name: one.draw(random_, depth) for name, one in sorted(self.ranges.items())}
        return {**drawn, **constants}
