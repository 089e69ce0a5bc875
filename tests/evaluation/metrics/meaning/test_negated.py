"""The denial stands around the prompt, and the affirmed prompt is that of ES."""

from __future__ import annotations

from evaluation.metrics import METRICS
from tests.support.arithmetic import make_case


def test_the_affirmed_prompt_is_asked_as_es_asks_it_and_the_denial_the_other_way_round() -> None:
    case = make_case("Peru")
    affirmed, denied = METRICS.get("es_negated")().probes(case)
    (plain,) = METRICS.get("es")().probes(case)
    assert affirmed.id == plain.id and denied.targets == ("Lima", "Oslo")
    assert denied.prompt == f"It is not true that {plain.prompt}"


def test_scripts_are_said_to_be_mistaken() -> None:
    probes = METRICS.get("s_es_negated")().probes(make_case("Peru"))
    assert [p.prompt.startswith("The last step of this script names the wrong thing.\nHow") for p in probes] == [
        False, True, False, True,
    ]  # fmt: skip
