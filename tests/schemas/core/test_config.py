from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, ValidationError

from schemas.core.config import Options, override, read_toml, validate
from schemas.core.errors import DataError, UserError


class Params(Options):
    layer: int = 5
    sizes: tuple[Annotated[int, Field(ge=1)], ...] = ()
    shares: dict[str, float] = Field(default_factory=dict)
    rate: Annotated[float, Field(gt=0)] = 1.0
    either: int | bool = 3
    free: Any = None
    flag: Literal[True] | int = 3


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"a = ", "not readable as TOML"), (b"\xff\xfe", "not UTF-8 text but UTF-16"), (None, "no such")],
)
def test_bad_toml(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "x.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError, match=message):
        read_toml(path)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"layer": "x"}, "run.toml: layer: Input should be a number, not a text"),
        ({"laier": 3}, "run.toml: laier: unknown field, did you mean 'layer'"),
        ({"zzz": 1}, "run.toml: zzz: unknown field"),
        ({"zzz": 1, "layer": "x"}, "(and 1 more)"),
        (3, "run.toml: Input should be a table"),
        ({"sizes": 3}, "run.toml: sizes: Input should be a list"),
        ({"layer": True}, "run.toml: layer: Input should be a number, not true or false"),
        ({"layer": "4"}, "run.toml: layer: Input should be a number, not a text"),
        ({"sizes": [4, "5"]}, "run.toml: sizes: Input should be a number, not a text"),
        ({"shares": {"a": "1"}}, "run.toml: shares: Input should be a number, not a text"),
        ({"sizes": [4, False]}, "run.toml: sizes: Input should be a number"),
        ({"shares": {"a": True}}, "run.toml: shares: Input should be a number"),
        ({"rate": True}, "run.toml: rate: Input should be a number"),
        ({"rate": math.inf}, "run.toml: rate: Input should be a finite number"),
        ({"rate": math.nan}, "run.toml: rate: Input should be a finite number"),
    ],
)
def test_a_mistake_is_one_sentence(data: object, sentence: str) -> None:
    with pytest.raises(DataError) as error:
        validate(Params, data, where="run.toml")
    assert sentence in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("data", [{"either": True}, {"free": [True]}, {"flag": True}, {"layer": 3.0}])
def test_a_truth_value_stands_where_the_option_takes_one(data: dict[str, Any]) -> None:
    assert validate(Params, data, where="run.toml").model_dump() == Params().model_dump() | data


@pytest.mark.parametrize(
    ("settings", "result"),
    [
        (["a.b=3"], {"a": {"c": 1, "b": 3}}),
        (["a.b=true"], {"a": {"c": 1, "b": True}}),
        (["a.b=rome"], {"a": {"c": 1, "b": "rome"}}),
        (['a.b=["x"]'], {"a": {"c": 1, "b": ["x"]}}),
        (["a.b=1e-3"], {"a": {"c": 1, "b": 1e-3}}),
        (["a.b=1", "a.b=2", "a.d=3"], {"a": {"c": 1, "b": 2, "d": 3}}),
        (['a={ name = "batch", size = 10 }'], {"a": {"name": "batch", "size": 10}}),
        (["a={ broken"], {"a": "{ broken"}),
        (["a="], {"a": ""}),
        (["a=x=y"], {"a": "x=y"}),
        (["a=null"], {"a": None}),
        (["a=[1, 2]"], {"a": [1, 2]}),
    ],
)
def test_settings_change_a_copy(settings: list[str], result: object) -> None:
    data = {"a": {"c": 1}}
    assert override(data, settings) == result
    assert data == {"a": {"c": 1}}


@pytest.mark.parametrize(
    ("setting", "message"), [("novalue", "name=value"), ("=3", "name=value"), ("a.b=2", "is a value")]
)
def test_settings_that_are_refused(setting: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        override({"a": 1}, [setting])


def test_options_do_not_change() -> None:
    with pytest.raises(ValidationError):
        Params().layer = 6  # type: ignore[misc]
