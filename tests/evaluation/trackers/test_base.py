"""What every tracker has: its library is imported when it is made, and one sentence says how to install it."""

from __future__ import annotations

import sys

import pytest

from evaluation.trackers import TRACKERS
from evaluation.trackers.base import Tracker, flat_settings
from schemas.core.errors import UserError


@pytest.mark.parametrize("name", TRACKERS.names())
def test_one_that_is_not_installed_says_how(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = TRACKERS.get(name)
    monkeypatch.setitem(sys.modules, kind.module, None)  # import raises, installed or not
    with pytest.raises(UserError) as caught:
        kind()
    assert (
        f"'{kind.package}', which is not installed" in str(caught.value)
        and caught.value.fix == f"pip install {kind.package}"
    )
    assert "\n" not in str(caught.value)


def test_no_library_is_imported_before_it_is_made() -> None:
    assert all(issubclass(TRACKERS.get(name), Tracker) for name in TRACKERS.names())
    assert not {"wandb", "mlflow", "trackio"} & sys.modules.keys()


def test_the_three_methods_are_a_plug_ins_own() -> None:
    class Empty(Tracker):
        package, module = "json", "json"

    for call in (lambda t: t.begin("a", {}), lambda t: t.log({}, step=1), lambda t: t.finish({}, failed=False)):
        with pytest.raises(NotImplementedError):
            call(Empty())


def test_settings_lose_nothing_when_they_are_flat() -> None:
    nested = {"a": {"b": {}, "c": [1, {"d": 2}]}, "e": None, "f": {"g": {"h": False}}}
    assert flat_settings(nested) == {"a.b": {}, "a.c": [1, {"d": 2}], "e": None, "f.g.h": False}
