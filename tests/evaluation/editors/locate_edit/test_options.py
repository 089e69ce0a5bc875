"""Options that the methods share: a run's manifest and id hold them as these texts, in this order."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from evaluation.editors import EDITORS

SEARCH = '"steps":25,"lr":0.5,"kl_weight":0.0625,"weight_decay":0.001,"clamp":4.0,"stop_below":0.05,"templates":null,'
COVARIANCE = '"corpus":null,"cap":null,"moments":null,"ridge":0.0'
ROME = f'"layer":3,{SEARCH}"template_lengths":[[5,10],[10,10]],"covariance":true,{COVARIANCE}'
MEMIT = (
    f'"layers":[3,4],{SEARCH}"template_lengths":[[10,5]],'
    f'"template_starts":["The","Therefore","Because","I","You"],"lam":10.0,"rho":null,{COVARIANCE}'
)
ANYEDIT = (
    '"layers":[3,4],"window":40,"lead":5,"steps":25,"lr":0.5,"weight_decay":0.001,"clamp":4.0,"stop_below":0.01,'
    f'"lam":10.0,"rho":null,{COVARIANCE}'
)
LAYERS = {"layers": (3, 4), "lam": 10.0}
STORED: dict[str, tuple[dict[str, Any], str]] = {
    "rome": ({"layer": 3}, ROME),
    "r_rome": ({"layer": 3}, ROME),
    "memit": (LAYERS, MEMIT),
    "emmet": (LAYERS, MEMIT),
    "anyedit": (LAYERS, ANYEDIT),
    "alphaedit": ({**LAYERS, "null_share": 0.5}, f'{MEMIT},"null_threshold":null,"null_share":0.5'),
}


def test_every_method_is_here() -> None:
    editor_names = {
        n for n in EDITORS.names() if EDITORS.get(n).__module__.startswith("evaluation.editors.locate_edit.")
    }
    assert editor_names == set(STORED)


@pytest.mark.parametrize("method", STORED)
def test_options_are_stored_as_ever(method: str) -> None:
    least, text = STORED[method]
    assert EDITORS.get(method).Params.model_validate(least).model_dump_json() == "{" + text + "}"


@pytest.mark.parametrize("method", STORED)
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
        EDITORS.get(method).Params.model_validate({**STORED[method][0], name: value})
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
        EDITORS.get(method).Params.model_validate({**STORED[method][0], **change})
