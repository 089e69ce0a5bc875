"""The task compare_scripts."""

from __future__ import annotations

from annotation_ui.campaigns.campaign import make_task


def test_what_it_asks_is_answered_by_one_of_four() -> None:
    task = make_task("compare_scripts")
    aspects = ["coherence", "consistency", "completeness"]
    assert [f.name for f in task.form.asked_fields()] == aspects
    assert task.form.label == "compare_scripts@2"
    for field in task.form.asked_fields():
        assert field.allowed == ("first", "second", "tie", "cannot_judge") == field.categories
    assert task.blind and task.level == "nominal" and task.about


def test_executability_is_asked_first_where_both_are_of_one_group() -> None:
    assert "compare_executability" in make_task("compare_scripts").after
