"""Prompts at which nothing should move: those of NS and S-NS, and eight that name nothing that could be edited."""

from __future__ import annotations

import pytest

from evaluation.metrics import METRICS
from evaluation.metrics.distribution import TOP, UNRELATED, Region, distribution_probes
from tests.support.arithmetic import make_case


@pytest.mark.parametrize(("region", "metric"), [("neighbour", "ns"), ("script_neighbour", "s_ns")])
def test_neighbours_are_those_of_the_two_target_metric(region: Region, metric: str) -> None:
    case = make_case("Peru")
    two = METRICS.get(metric)().probes(case)
    one = distribution_probes(case, region)
    assert [(p.prompt, p.separator, p.cluster) for p in one] == [(p.prompt, p.separator, p.cluster) for p in two]
    assert {(p.targets, p.top) for p in one} == {(("Lima",), TOP)} and {p.id for p in one}.isdisjoint(p.id for p in two)


def test_unrelated_prompts_are_the_same_for_every_case() -> None:
    one, two = (distribution_probes(make_case(name), "unrelated") for name in ("Peru", "Norway"))
    assert one == two and len({p.id for p in one}) == len(UNRELATED)
