"""Every text is reachable as it was written, with its ratings and how it ended."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from evaluation.analysis.text_ratings import RatedTexts
from evaluation.analysis.written.all_answers import all_answers, text_ends
from evaluation.runs.generated_scripts import scripts_of_run
from schemas.answers import Answer
from tests.support.arithmetic import ArithmeticEditor, ArithmeticLM
from tests.support.judge import rating
from tests.support.report.texts_run import TEXTS, finished


class _Odd(ArithmeticLM):
    """Writes a remark, an empty step and a character that clears screens, until the limit cuts it off."""

    def _text(self, probe, prompt: str) -> Answer:
        own_text = super()._text(probe, prompt)
        text = f"Note: here\x1b[2J\nStep 1:\n{own_text.written.text}"
        return own_text.model_copy(
            update={"written": own_text.written.model_copy(update={"text": text, "ended": "length"})}
        )


def test_raw_text_before_and_after_with_ratings_and_reasons(tmp_path: Path) -> None:
    run = finished(tmp_path, ["s_es", *TEXTS], lm=_Odd())
    script = scripts_of_run(run)[-1].script
    texts = RatedTexts(
        (script,),
        (rating(script.id, "coherence", 5, reason="it fits"), rating(script.id, "coherence", 2, "person:ann")),
    )
    answers = all_answers(run, texts)
    assert all([a.edited for a in q.answers] == [False, True] for q in answers), "the unedited model first"
    assert all(a.text.startswith("Note: here\\u001b[2J\nStep 1:\n") for q in answers for a in q.answers)
    answer = next(a for q in answers for a in q.answers if a.ratings)
    assert [(r.rater, r.value, r.reason) for r in answer.ratings] == [
        ("ann (rate_script@1)", "2 of 7", ""),
        ("x (judge_paper@1)", "5 of 7", "it fits"),
    ]
    count = sum(len(q.answers) for q in answers)
    assert text_ends(answers)[:2] == (count, count) and answers[0].question in answers[0].prompt


@pytest.mark.parametrize(
    "regime", ["single", {"name": "batch", "size": 3}, {"name": "sequential", "size": [2, 6], "score": "both"}]
)
def test_what_an_edit_puts_before_the_prompt_is_shown_with_its_answer(tmp_path, monkeypatch, regime) -> None:
    """The page showed the plain prompt under methods that put the fact, or demonstrations, before it."""
    plain = ArithmeticEditor.edit

    def told(self, requests):
        method = plain(self, requests)
        return method if self.name == "none" else replace(method, prefix=f"{requests[0].subject.text} moved. ")

    monkeypatch.setattr(ArithmeticEditor, "edit", told)
    answers = all_answers(finished(tmp_path, TEXTS, regime=regime), None)
    assert answers
    for q in answers:
        for a in q.answers:
            assert bool(a.prompt) == a.edited
            if a.edited:
                before, _, after = a.prompt.rpartition(" moved. ")
                assert after == q.question and before.startswith(q.prompt.removesuffix(q.question))


def test_a_run_without_scripts_has_none(tmp_path: Path) -> None:
    assert all_answers(finished(tmp_path, ["s_es"]), None) == [] and text_ends([])[:2] == (0, 0)
