"""Everything registered can be loaded, is described, and follows the contract of its kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

import pytest

from construction.checks import CHECKS, RuleCheck, Stage
from curation.checks.store_checks import STORE_CHECKS
from curation.export.formats import EXPORTERS
from curation.loaders import LOADERS
from evaluation.editors import EDITORS
from evaluation.metrics import METRICS
from evaluation.runs.validity_variants import VARIANTS
from schemas.core.errors import UserError
from schemas.core.registry import Registry

REGISTRIES = {r.kind: r for r in (CHECKS, STORE_CHECKS, EDITORS, EXPORTERS, LOADERS, METRICS, VARIANTS)}


def components() -> Iterator[tuple[str, str]]:
    for kind, registry in REGISTRIES.items():
        for name in registry.names():
            yield kind, name


@pytest.mark.parametrize(("kind", "name"), list(components()))
def test_every_name_loads_and_is_described(kind: str, name: str) -> None:
    component = REGISTRIES[kind].get(name)
    assert callable(component)
    assert (component.__doc__ or "").strip(), f"{kind} {name} says nothing of itself"


@pytest.mark.parametrize("name", CHECKS.names())
def test_a_check_is_named_versioned_and_on_a_stage(name: str) -> None:
    check = CHECKS.get(name)
    assert issubclass(check, RuleCheck)
    assert check.name == name and check.version >= 1
    assert check.on in get_args(Stage)


@pytest.mark.parametrize("registry", list(REGISTRIES.values()), ids=list(REGISTRIES))
def test_a_mistyped_name_is_answered_with_the_near_one(registry: Registry) -> None:
    name = registry.names()[0]
    with pytest.raises(UserError, match=f"did you mean '{name}'"):
        registry.get(name + "x")


@pytest.mark.parametrize("registry", list(REGISTRIES.values()), ids=list(REGISTRIES))
def test_names_are_unique_and_plain(registry: Registry) -> None:
    names = registry.names()
    assert len(set(names)) == len(names)
    assert all(n == n.lower() and " " not in n for n in names)
