"""Both orders, letters as targets; prompts with signs of formats stay as they are."""

from __future__ import annotations

from evaluation.metrics import METRICS
from tests.support.arithmetic import make_case, make_prompt


def test_the_new_object_stands_first_then_second() -> None:
    first, second = METRICS.get("es_choice")().probes(make_case("Peru"))
    assert "\nA. Oslo\nB. Lima\n" in first.prompt and first.targets == ("A", "B")
    assert "\nA. Lima\nB. Oslo\n" in second.prompt and second.targets == ("B", "A")


def test_signs_of_formats_in_prompts_and_objects_are_text() -> None:
    prompt = make_prompt("p", "fact/peru", "How {a} 50 %s?\nStep 1: Say {}", "100 %", "{b} %d")
    (first, _) = METRICS.get("s_es_choice")().probes(make_case("Peru").model_copy(update={"prompts": (prompt,)}))
    assert first.prompt.startswith(prompt.text) and "\nA. {b} %d\nB. 100 %\n" in first.prompt
