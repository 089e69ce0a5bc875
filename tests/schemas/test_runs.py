from __future__ import annotations

import pytest

from schemas.answers import Answer, TargetScore
from schemas.runs import CaseResult, RunManifest

MANIFEST = {
    "key": "run/1",
    "editor": "rome",
    "editor_version": 1,
    "params": {"layers": [5]},
    "model": "m",
    "model_revision": "1",
    "dtype": "float32",
    "split": "mini",
    "split_digest": "0" * 64,
    "regime": "single",
    "components": {"torch": "2"},
}


@pytest.mark.parametrize("name", [name for name in MANIFEST if name != "params"])
def test_everything_in_a_manifest_is_its_identity(name: str) -> None:
    value = MANIFEST[name]
    other = {**value, "x": "y"} if isinstance(value, dict) else value + type(value)(1)
    manifest = RunManifest.model_validate({**MANIFEST, name: other})
    assert manifest.id != RunManifest.model_validate(MANIFEST).id


def test_the_order_of_settings_is_no_difference() -> None:
    ways = ({"a": 1, "b": 2}, {"b": 2, "a": 1})
    one, other = (RunManifest.model_validate({**MANIFEST, "params": way}) for way in ways)
    assert one.id == other.id != RunManifest.model_validate({**MANIFEST, "params": {"a": 1}}).id


def test_a_result_without_a_finite_score_comes_back() -> None:
    scores = (TargetScore(text="Lima", logprob=float("-inf"), tokens=1),)
    result = CaseResult(run="r", case="c", answers=(Answer(probe="p", targets=scores),), notes={"norm": 1.5})
    assert CaseResult.model_validate_json(result.model_dump_json()) == result
