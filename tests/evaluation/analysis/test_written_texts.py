"""Every text is reachable as it was written, with its ratings and how it ended."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from evaluation.analysis.text_ratings import RatedTexts
from evaluation.analysis.written_texts import (
    PLACES,
    all_answers,
    answer_entries,
    disagreement,
    thought_tables,
)
from evaluation.runs.generated_scripts import scripts_of_run
from schemas.answers import Answer
from schemas.ratings import Rating
from tests.support.arithmetic import ArithmeticEditor, ArithmeticLM, make_cases
from tests.support.judge import rating
from tests.support.ratings import rate
from tests.support.report.texts_run import TEXTS, ThinkingLM, finished


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
    assert all([a["edited"] for a in q["answers"]] == [False, True] for q in answers), "the unedited model first"
    assert all(a["text"].startswith("Note: here\\u001b[2J\nStep 1:\n") for q in answers for a in q["answers"])
    answer = next(a for q in answers for a in q["answers"] if a["ratings"])
    assert [(r["rater"], r["value"], r["reason"]) for r in answer["rated"]] == [
        ("ann (rate_script@1)", "2 of 7", ""),
        ("x (judge_paper@1)", "5 of 7", "it fits"),
    ]
    assert answers[0]["question"] in answers[0]["prompt"]


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
        for a in q["answers"]:
            assert bool(a["prompt"]) == a["edited"]
            if a["edited"]:
                before, _, after = a["prompt"].rpartition(" moved. ")
                assert after == q["question"] and before.startswith(q["prompt"].removesuffix(q["question"]))


ALL = ["es_gen", "ps_gen", "ns_gen", "s_es_gen", "s_es_gen_question", "repetition_rate", "es"]


def test_every_text_stands_once(tmp_path: Path) -> None:
    run = finished(tmp_path, ALL)
    entries = answer_entries(run)
    written = sum(a.written is not None for e in run.editors for r in e.results.values() for a in r.answers)
    assert len(entries) == written and {e["place"] for e in entries} == set(PLACES.values())
    assert [e["case"] for e in entries] == sorted((e["case"] for e in entries), key=list(run.cases).index)
    firsts = {(e["label"], e["edited"]): {x["first"] for x in entries if x["label"] == e["label"]} for e in entries}
    assert firsts == {("none", False): {"old"}, ("push", True): {"new"}}, "Lima before, Oslo after"


def rated(rater: str, aspect: str, value: int | None) -> Rating:
    form = f"judge_{aspect}@1" if rater.startswith("judge:") else "rate_script@1"
    reason = "" if value is not None else "lost"
    named = {"key": f"{rater}/{aspect}", "item_id": "s", "aspect": aspect, "rater": rater, "form": form}
    return Rating.model_validate({**named, "value": value, "reason": reason})


HAND = [
    pytest.param([], None, id="nobody"),
    pytest.param([("person:ann", "coherence", 7), ("person:bob", "coherence", 4)], None, id="people only"),
    pytest.param([("person:ann", "coherence", 7), ("judge:m", "coherence", None)], None, id="the judge gave none"),
    pytest.param([("person:ann", "coherence", 7), ("judge:m", "consistency", 1)], None, id="of other aspects"),
    pytest.param(
        [("person:ann", "coherence", 7), ("person:bob", "coherence", 4), ("judge:m", "coherence", 2)], 3.5, id="means"
    ),
    pytest.param(
        [("person:ann", a, v) for a, v in (("coherence", 3), ("consistency", 7))]
        + [("judge:m", a, v) for a, v in (("coherence", 3), ("consistency", 1))],
        6.0,
        id="the greatest aspect",
    ),
]


@pytest.mark.parametrize(("said", "gap"), HAND)
def test_disagreement_by_hand(said: list[tuple[str, str, int | None]], gap: float | None) -> None:
    assert disagreement([rated(*one) for one in said]) == gap


def test_ratings_stand_beside_their_script_only(tmp_path: Path) -> None:
    run = finished(tmp_path, ALL)
    scripts = [s.script for s in scripts_of_run(run)]
    ratings = rate(scripts[:1], ("person:ann", "judge:m"), lambda s, rater, aspect: 6 if rater[0] == "p" else 2)
    shown = [e for e in answer_entries(run, RatedTexts(tuple(scripts), tuple(ratings))) if e["ratings"]]
    (entry,) = shown
    assert (entry["case"], entry["label"], disagreement(entry["ratings"])) == (scripts[0].case, scripts[0].editor, 4.0)
    assert len(entry["ratings"]) == 8 and entry["place"] == "script for a question"


THOUGHT_METRICS = ["es_gen", "s_es_gen_question", "thought_old_rate"]


def test_every_share_by_hand(tmp_path: Path) -> None:
    """Six cases: one without a thought, one whose thought has no end; the others come to Lima, edited or not."""
    run = finished(tmp_path, THOUGHT_METRICS, lm=ThinkingLM(), split=make_cases(6, 0), generation={"thought": {}})
    (table,) = thought_tables(run)
    rows = {row[:2]: dict(zip(table.head, row, strict=True)) for row in table.rows}
    assert {place for place, _ in rows} == {"script for a question", "fact prompt"}
    for label, agrees, hidden in (("none", 1.0, 0.0), ("push", 0.0, 1.0)):
        one = rows["fact prompt", label]
        shares = ("With a thought", "Unfinished", "New in thought", "Old in thought", "Old last")
        assert one["Texts"] == 6
        assert [one[h].mean for h in shares] == pytest.approx([5 / 6, 1 / 6, 1.0, 4 / 5, 4 / 5])
        assert (one["Agrees"].mean, one["Hidden"].mean, one["Agrees"].n) == (agrees, hidden, 4)
        assert one["Words"].mean == pytest.approx((4 * 5 + 2) / 5)


def test_samples_are_told_apart_and_are_one_method(tmp_path: Path) -> None:
    drawn = {"temperature": 1.0, "samples": 2, "thought": {}}
    run = finished(tmp_path, THOUGHT_METRICS, lm=ThinkingLM(), split=make_cases(3, 0), generation=drawn)
    assert {e["label"] for e in answer_entries(run)} == {"none", "none, sample 2", "push", "push, sample 2"}
    (table,) = thought_tables(run)
    assert {row[1] for row in table.rows} == {"none", "push"}
