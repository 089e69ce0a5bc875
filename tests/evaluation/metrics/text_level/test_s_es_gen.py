"""S-ES by generation: which object the rest of the step names first."""

from __future__ import annotations

import pytest

from evaluation.metrics import METRICS
from evaluation.metrics.text_level import objects
from tests.support.arithmetic import make_case, make_prompt
from tests.support.metrics.text_scores import scored


def test_names_of_the_script_prompt_count() -> None:
    case = make_case("Peru")
    prompt = make_prompt("p", case.fact.key, "How?\nStep 1: Fly to", "the City of Kings", "Christiania")
    object_pair = objects(case, prompt)
    assert "the City of Kings" in object_pair.old.names and "Christiania" in object_pair.new.names
    case = case.model_copy(update={"prompts": (prompt,)})
    assert scored("s_es_gen", [" Christiania"], case=case).mean == 1.0
    assert "Christiania" not in objects(case).new.names


def test_the_rest_of_the_step_is_asked_as_the_prompt_was_cut() -> None:
    case = make_case("Peru")
    cut = make_prompt("p", case.fact.key, "How?\nStep 1: Say", "Lima", separator=' "')
    (probe,) = METRICS.get("s_es_gen")().probes(case.model_copy(update={"prompts": (cut,)}))
    assert (probe.prompt, probe.separator, probe.stop, probe.chat) == (cut.text, ' "', ("\n",), "never")
    (spaced, _) = METRICS.get("s_es_gen")().probes(case)
    assert spaced.separator == "", "the space is the model's to write"


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        pytest.param([" Oslo.", " Lima, then Oslo"], [1.0, 0.0], id="s_es_gen: first mention decides"),
        pytest.param([" the airport", None], [0.0, None], id="s_es_gen: neither is no success, none unscored"),
    ],
)
def test_by_hand(texts: list[str | None], values: list[float | None]) -> None:
    assert [i.value for i in scored("s_es_gen", texts).items] == values
