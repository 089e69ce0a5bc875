from __future__ import annotations

import pytest

from evaluation.judge.control_items import control_items
from evaluation.judge.prompt_files import ASPECTS, load_prompt_file, profiles
from evaluation.judge.reliability.rubric import expected_ratings, named_objects


def test_the_control_items_obey_the_rules_and_share_nothing_with_the_examples():
    text = "".join(e.user for a in ASPECTS for p in profiles() for e in load_prompt_file(a, p).examples)
    for control in control_items():
        for aspect, rule in expected_ratings(named_objects(control.ask.text, control.ask.fact)).items():
            if aspect in control.accepted:
                low, high = control.accepted[aspect]
                assert low == high == rule, (control.name, aspect)
        assert control.subject not in text and control.question not in text
        assert set(control.accepted) <= set(ASPECTS)
    with pytest.raises(ValueError, match="the lower one first"):
        control.__class__.model_validate({**control.model_dump(), "accepted": {"coherence": (3, 1)}})
