"""Options that the methods share."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from evaluation.editors import EDITORS

LAYERS = {"layers": (3, 4), "lam": 10.0}
LEAST: dict[str, dict[str, Any]] = {
    "rome": {"layer": 3},
    "r_rome": {"layer": 3},
    "memit": LAYERS,
    "emmet": LAYERS,
    "anyedit": LAYERS,
    "alphaedit": {**LAYERS, "null_share": 0.5},
}
"""Options that a method cannot do without."""


@pytest.mark.parametrize("method", LEAST)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("steps", 0),
        ("lr", 0),
        ("kl_weight", -1),
        ("weight_decay", -1),
        ("clamp", 0),
        ("templates", "{}"),
        ("cap", 0),
        ("corpus", 3),
        ("ridge", -0.1),
        ("no_such_option", 1),
    ],
)
def test_every_method_refuses_what_it_cannot_use(method: str, name: str, value: object) -> None:
    with pytest.raises(ValidationError) as refusal:
        EDITORS.get(method).Params.model_validate({**LEAST[method], name: value})
    assert {error["loc"][0] for error in refusal.value.errors()} == {name}


@pytest.mark.parametrize("method", ["memit", "emmet", "alphaedit", "anyedit"])
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"layers": (4, 3)}, "ascending"),
        ({"layers": (3, 3)}, "ascending"),
        ({"layers": ()}, "at least 1"),
        ({"rho": 0.5}, "either lam"),
        ({"lam": None}, "either lam"),
        ({"lam": None, "rho": 1.0}, "less than 1"),
    ],
)
def test_layers_and_strength_of_what_spreads(method: str, change: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        EDITORS.get(method).Params.model_validate({**LEAST[method], **change})


@pytest.mark.parametrize("change", [{"null_share": 1.0}, {"null_threshold": 1.0}, {"null_share": None}])
def test_one_null_space(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="less than 1|give either null_threshold or null_share"):
        EDITORS.get("alphaedit").Params.model_validate({**LEAST["alphaedit"], **change})
