from __future__ import annotations

import pytest
from pydantic import ValidationError

from schemas.scripts import Script, ScriptPrompt, render, strip_label, words


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (["a b c d e f g h"], "at most 7 words"),
        (["go"] * 10, "at most 9"),
        ([], "at least 1"),
        (["Step 1: go"], "without its"),
        (["go\nhome"], "one line"),
    ],
    ids=["eight words", "ten steps", "none", "label", "two lines"],
)
def test_scripts_keep_the_papers_format(steps: list[str], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Script(key="s", question="q", steps=tuple(steps))


def test_nine_steps_of_seven_words_are_a_script() -> None:
    assert len(Script(key="s", question="q", steps=("one two three four five six seven",) * 9).steps) == 9


def test_prompt_offset_is_checked() -> None:
    good = {"key": "p", "fact": "f", "text": "Go to", "separator": " (", "offset": 7, "targets": ("Lima",)}
    assert ScriptPrompt.model_validate(good).step is None
    with pytest.raises(ValidationError, match="offset"):
        ScriptPrompt.model_validate({**good, "offset": 6})


@pytest.mark.parametrize(
    ("step", "bare", "count"),
    [
        ("Step 4: Buy a ticket", "Buy a ticket", 3),
        ("  step 12) Go", "Go", 1),
        ("STEP3-Walk home", "Walk home", 2),
        ("Step 1", "", 0),
        ("Step by step", "Step by step", 3),
        ("Step 1: Step 2: Go", "Step 2: Go", 3),
        ("", "", 0),
    ],
)
def test_labels_and_words_of_a_step(step: str, bare: str, count: int) -> None:
    assert strip_label(step) == bare
    assert words(step) == count


def test_a_script_of_no_steps_is_its_question() -> None:
    assert render("How to go?", ()) == "How to go?"


@pytest.mark.parametrize(
    ("change", "message"),
    [({"targets": ()}, "at least 1"), ({"text": "Go to "}, "white space"), ({"targets": ("",)}, "empty")],
)
def test_prompts_that_cannot_be_asked(change: dict[str, object], message: str) -> None:
    fields = {"key": "p", "fact": "f", "text": "Go to", "separator": " ", "offset": 6, "targets": ("Lima",)}
    with pytest.raises(ValidationError, match=message):
        ScriptPrompt.model_validate({**fields, **change})


def test_an_offset_counts_characters_and_not_bytes() -> None:
    assert ScriptPrompt(key="p", fact="f", text="Fahr nach Größe", offset=16, targets=("東京",)).offset == 16
