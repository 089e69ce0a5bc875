from __future__ import annotations

from pathlib import Path

import pytest

from schemas.core.config import Options, override, read_toml, validate
from schemas.core.errors import DataError, MissingPackage, UserError
from schemas.core.registry import Registry


class Params(Options):
    layer: int = 5


def test_registry_loads_late_and_suggests() -> None:
    table = Registry("thing", {"ids": "schemas.core.ids:slug", "gone": "no.such.module:x"})
    assert table.names() == ["ids", "gone"]
    assert table.get("ids")("A b") == "a-b"
    with pytest.raises(UserError, match="unknown thing 'idz'; allowed: ids, gone; did you mean 'ids'"):
        table.get("idz")


def test_errors_read_as_one_sentence() -> None:
    assert str(UserError("a", where="w", allowed="x, y", fix="do b")) == "w: a; allowed: x, y; do b"
    assert "pip install 'scedit[eval]'" in str(MissingPackage("torch", extra="eval"))


def test_unknown_option_names_the_near_one() -> None:
    with pytest.raises(DataError, match="run.toml: laier: unknown field, did you mean 'layer'"):
        validate(Params, {"laier": 3}, where="run.toml")


@pytest.mark.parametrize(
    ("setting", "value"),
    [("a.b=3", 3), ("a.b=true", True), ("a.b=rome", "rome"), ('a.b=["x"]', ["x"]), ("a.b=1e-3", 1e-3)],
)
def test_override(setting: str, value: object) -> None:
    data = {"a": {"c": 1}}
    assert override(data, [setting]) == {"a": {"c": 1, "b": value}}
    assert data == {"a": {"c": 1}}


@pytest.mark.parametrize("setting", ["novalue", "=3"])
def test_bad_override(setting: str) -> None:
    with pytest.raises(UserError, match="name=value"):
        override({}, [setting])


def test_override_through_a_value() -> None:
    with pytest.raises(UserError, match="is a value"):
        override({"a": 1}, ["a.b=2"])


@pytest.mark.parametrize(
    ("content", "message"), [(b"a = ", "not readable as TOML"), (b"\xff\xfe", "not readable"), (None, "no such")]
)
def test_bad_toml(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "x.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError, match=message):
        read_toml(path)
