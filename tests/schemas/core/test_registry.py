from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from schemas.core.errors import UserError
from schemas.core.registry import Registry, suggest


def test_registry_loads_late_and_suggests() -> None:
    table = Registry("thing", {"ids": "schemas.core.ids:slug", "gone": "no.such.module:x"})
    assert table.names() == ["ids", "gone"]
    assert table.get("ids")("A b") == "a-b"
    with pytest.raises(UserError, match="unknown thing 'idz'; allowed: ids, gone; did you mean 'ids'"):
        table.get("idz")


def points(monkeypatch: pytest.MonkeyPatch, *values: str) -> Registry:
    """A registry of one thing beside packages that register "ids" and their own as these values."""
    found = [EntryPoint("ids", value, "scedit.thing") for value in values]
    monkeypatch.setattr("schemas.core.registry.entry_points", lambda group: found if group == "scedit.thing" else [])
    return Registry("thing", {"slug": "schemas.core.ids:slug"})


def test_other_packages_add_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    table = points(monkeypatch, "schemas.core.ids:seed")
    assert table.names() == ["slug", "ids"]
    assert table.get("ids")("a") == table.get("ids")("a")


def test_two_packages_with_one_name_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="two packages register the thing 'ids'"):
        points(monkeypatch, "schemas.core.ids:seed", "schemas.core.ids:slug").names()


@pytest.mark.parametrize(("name", "near"), [("rmoe", "rome"), ("Rome", "rome"), ("zzzz", None), ("", None)])
def test_the_nearest_name_or_none(name: str, near: str | None) -> None:
    assert suggest(name, ["rome", "ft"]) == near


def test_what_is_like_nothing_gets_the_list_only() -> None:
    with pytest.raises(UserError) as caught:
        Registry("thing", {"slug": "schemas.core.ids:slug"}).get("zzzz")
    assert str(caught.value) == "unknown thing 'zzzz'; allowed: slug"
