"""Ranges, and what is drawn from them."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from evaluation.editors import EDITORS
from evaluation.editors.presets import make_editor
from evaluation.tuning.search import SearchRange, SearchSpace
from schemas.core.errors import DataError, UserError
from tests.support.tiny import make


@pytest.mark.parametrize("method", ["ft", "ft_l", "rome", "r_rome", "memit", "emmet", "alphaedit", "ultraedit"])
def test_what_is_drawn_is_accepted(method: str, cache: Any) -> None:
    lm, space = make("llama"), SearchSpace.of(method)
    visits = set()
    for number in range(20):
        options = space.draw(number, purpose="x", depth=lm.layout.depth, constants={})
        assert set(options) == set(space.ranges) <= set(EDITORS.get(method).Params.model_fields)
        make_editor(method, lm, cache, options)  # refuses layers that the model has not, and values out of range
        visits.add(json.dumps(options))
    assert len(visits) > 15


def test_draws_do_not_depend_on_each_other() -> None:
    space = SearchSpace.of("memit")
    later = space.draw(7, purpose="x", depth=30, constants={"lr": 0.5})
    assert later == {**space.draw(7, purpose="x", depth=30, constants={}), "lr": 0.5}
    assert later != space.draw(8, purpose="x", depth=30, constants={"lr": 0.5})
    assert later != space.draw(7, purpose="y", depth=30, constants={"lr": 0.5})
    for number in range(30):
        options = space.draw(number, purpose="x", depth=30, constants={})
        layers = options["layers"]
        assert layers == list(range(layers[0], layers[-1] + 1)) and 1 <= len(layers) <= 6 and 3 <= layers[-1] <= 18
        assert 0.1 <= options["lr"] <= 1 and 0.3 <= options["rho"] <= 0.99


@pytest.mark.parametrize(
    ("space", "message"),
    [
        ({"log": [0, 1]}, "above 0"),
        ({"linear": [2, 1]}, "lower end comes first"),
        ({"log": [1, 2], "linear": [1, 2]}, "give one of"),
        ({}, "give one of"),
        ({"linear": [1, 2], "span": [1, 2]}, "span goes with depth"),
        ({"among": []}, "at least one value"),
    ],
)
def test_wrong_ranges(space: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        SearchRange.model_validate(space)
    lines = "".join(f"{name} = {value}\n" for name, value in space.items())
    (tmp_path / "space.toml").write_text(f"[ft.lr]\n{lines}")
    with pytest.raises(DataError, match=rf"space.toml, \[ft\]: ranges.lr: {message}|{message}"):
        SearchSpace.of("ft", tmp_path / "space.toml")


def test_no_ranges() -> None:
    with pytest.raises(UserError, match="no ranges are known for 'prompt'.*--space"):
        SearchSpace.of("prompt")


def test_rounded_draws_stay_inside() -> None:
    one = SearchRange(log=(0.001, 0.5))
    values = [one.draw(random.Random(n), 10) for n in range(200)]
    assert 0.001 <= min(values) < 0.005 and 0.1 < max(values) <= 0.5
