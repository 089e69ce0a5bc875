"""What every check over a store keeps to; nothing here loads a model."""

from __future__ import annotations

from pathlib import Path

import pytest

from curation.checks.store_checks import STORE_CHECKS, CheckContext, StoreCheck, due, make_checks
from curation.store.store import KINDS, Store
from schemas.core.config import Options
from schemas.core.errors import UserError
from schemas.verdicts import Verdict
from tests.support.facts import peru_fact

every = pytest.mark.parametrize("name", STORE_CHECKS.names())


@every
def test_says_what_it_is(name: str) -> None:
    cls = STORE_CHECKS.get(name)
    assert issubclass(cls, StoreCheck) and cls.name == name and cls.version >= 1
    assert cls.on in KINDS and cls.on not in ("verdict", "run")
    assert cls.about and "\n" not in cls.about and cls.batch >= 1
    assert issubclass(cls.Params, Options) and (cls.__doc__ or "").strip()


@every
def test_made_without_loading_and_settings_are_refused(name: str) -> None:
    (check,) = make_checks([name])
    assert (check.model is None) == (check.default_model is None)
    with pytest.raises(UserError, match="no_such_setting: unknown field"):
        make_checks([name], options={name: {"no_such_setting": 1}})


@every
def test_counts_what_is_due_and_its_cost_without_a_model(name: str, tmp_path: Path) -> None:
    (check,) = make_checks([name])
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put([peru_fact()])
        assert len(due(store, check)) == (1 if check.on == "fact" else 0)
        cost = check.cost([store.get("f/peru")] if check.on == "fact" else [], CheckContext(store))
        assert all(isinstance(value, int | float | str) for value in cost.values())
        assert list(check.judge([], CheckContext(store))) == []


@every
def test_its_verdicts_are_found_again(name: str, tmp_path: Path) -> None:
    (check,) = make_checks([name])
    item = peru_fact()
    verdict = check.verdict(item, "keep")
    assert isinstance(verdict, Verdict) and verdict.by == f"{name}@{check.version}" and verdict.model == check.model
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put([item, verdict])
        assert store.judged(check.by, model=check.model) == {item.id}
