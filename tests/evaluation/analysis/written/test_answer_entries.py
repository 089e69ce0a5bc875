"""Every written text once, in order, with whom it names and how far judge and person are apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.analysis.text_ratings import RatedTexts
from evaluation.analysis.written.answer_entries import PLACES, answer_entries, disagreement
from evaluation.runs.generated_scripts import scripts_of_run
from schemas.ratings import Rating
from tests.support.arithmetic import ArithmeticLM
from tests.support.ratings import rate
from tests.support.report.texts_run import finished

ALL = ["es_gen", "ps_gen", "ns_gen", "s_es_gen", "s_es_gen_question", "repetition_rate", "es"]


def test_every_text_stands_once(tmp_path: Path) -> None:
    run = finished(tmp_path, ALL)
    entries = answer_entries(run)
    written = sum(a.written is not None for e in run.editors for r in e.results.values() for a in r.answers)
    assert len(entries) == written and {e.place for e in entries} == set(PLACES.values())
    assert [e.case for e in entries] == sorted((e.case for e in entries), key=list(run.cases).index)
    firsts = {(e.label, e.edited): {x.first for x in entries if x.label == e.label} for e in entries}
    assert firsts == {("none", False): {"old"}, ("push", True): {"new"}}, "Lima before, Oslo after"


def test_a_run_without_texts_has_none(tmp_path: Path) -> None:
    assert answer_entries(finished(tmp_path, ["es"])) == []


def test_samples_are_told_apart(tmp_path: Path) -> None:
    drawn = {"temperature": 1.0, "samples": 2}
    run = finished(tmp_path, ["s_es_gen_question"], lm=ArithmeticLM(), generation=drawn)
    assert {e.label for e in answer_entries(run)} == {"none", "none, sample 2", "push", "push, sample 2"}


def rating(rater: str, aspect: str, value: int | None) -> Rating:
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
    assert disagreement([rating(*one) for one in said]) == gap


def test_ratings_stand_beside_their_script_only(tmp_path: Path) -> None:
    run = finished(tmp_path, ALL)
    scripts = [s.script for s in scripts_of_run(run)]
    ratings = rate(scripts[:1], ("person:ann", "judge:m"), lambda s, rater, aspect: 6 if rater[0] == "p" else 2)
    rated = [e for e in answer_entries(run, RatedTexts(tuple(scripts), tuple(ratings))) if e.ratings]
    (entry,) = rated
    assert (entry.case, entry.label, entry.disagreement) == (scripts[0].case, scripts[0].editor, 4.0)
    assert len(entry.ratings) == 8 and entry.place == "script for a question"
