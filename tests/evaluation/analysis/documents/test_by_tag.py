"""EM by tag and the constant answer, by hand; few probes, one document, no tag."""

from __future__ import annotations

import pytest

from evaluation.analysis.comparison import Scores
from evaluation.analysis.documents.by_tag import asked_probes, by_tag, constant_answer, constant_by_group
from schemas.documents.tags import Tag
from tests.support.documents.records import make_probe
from tests.support.documents.runs import document_run, numbered_case, scores_of

TIME: tuple[Tag, ...] = ("time",)
CASES = [numbered_case(n, {f"answer {n}": ("time", "cause"), "Turkey": ("place",), "x": ()}) for n in range(15)]
RUN = document_run(CASES, {"none": {}, "ice": {}})


def test_em_of_each_tag_with_enough_probes() -> None:
    known = {f"answer {n}" for n in range(6)}
    rows = {row.tag: row for row in by_tag(RUN, scores_of(CASES, {"none": set(), "ice": known}))}
    assert set(rows) == {"time", "cause", "place"}
    time = rows["time"]
    assert (time.probes, time.cases) == (15, 15)
    assert time.values["ice"].mean == pytest.approx(6 / 15) and time.values["none"].mean == 0
    assert time.values["ice"].n == 15 and time.values["ice"].ends is not None
    assert rows["place"].values["ice"].mean == 0 and rows["place"].constant.mean == 1.0
    assert time.constant.mean == 0, "no answer recurs, and a document's own has no say"


def test_fewer_than_fifteen_probes_are_left_out_and_no_em_gives_nothing() -> None:
    few = CASES[:14]
    assert by_tag(document_run(few, {"none": {}}), scores_of(few, {"none": set()})) == ()
    assert by_tag(RUN, Scores({"none": {}, "ice": {}})) == ()
    assert [r.tag for r in by_tag(document_run(few, {"none": {}}), scores_of(few, {"none": set()}), fewest=14)] == [
        "cause",
        "place",
        "time",
    ]


def test_unscored_probes_are_in_no_share() -> None:
    scores = scores_of(CASES, {"none": set(), "ice": {"Turkey"}})
    one = scores.by_editor["ice"]["em"]["case/0"]
    scores.by_editor["ice"]["em"]["case/0"] = one.model_copy(
        update={"items": tuple(i.model_copy(update={"value": None}) for i in one.items)}
    )
    place = next(row for row in by_tag(RUN, scores) if row.tag == "place")
    assert place.values["ice"].n == 14 and place.probes == 15


def test_the_constant_is_the_most_frequent_answer_of_the_other_documents() -> None:
    def asked(*answers: str) -> list[tuple[str, object]]:
        return [(f"case/{n}", make_probe(f"q{n}?", answer, level=3)) for n, answer in enumerate(answers)]

    assert constant_answer(asked("Turkey", "turkey.", "TURKEY", "Peru")).mean == 0.75  # type: ignore[arg-type]
    assert constant_answer(asked("Turkey", "turkey", "Peru")).mean == 0, "Peru, as often, is first"  # type: ignore[arg-type]
    assert constant_answer(asked("Turkey", "Peru")).mean == 0  # type: ignore[arg-type]
    assert constant_answer(asked("Turkey")).mean == 0  # type: ignore[arg-type]
    accepted = [("case/a", make_probe("q?", "1931", level=3, accepted=("the year 1931", "MCMXXXI")))]
    accepted += [(f"case/{n}", make_probe(f"q{n}?", "mcmxxxi", level=3)) for n in range(3)]
    assert constant_answer(accepted).mean == 1.0
    same = [("case/a", make_probe(f"q{n}?", "Turkey", level=3)) for n in range(5)]
    assert constant_answer(same).mean == 0, "one document answers nothing for itself"


def test_over_all_probes_each_group_has_its_own_constant() -> None:
    asked = asked_probes(RUN)
    assert len(asked) == 45
    assert constant_by_group(asked).mean == pytest.approx(2 / 3)  # Turkey and x, but no answer about time


def test_queries_with_several_blanks_are_not_asked() -> None:
    case = CASES[0].model_copy(update={"probes": (make_probe("___ and ___.", "x", document="d/0"),)})
    assert asked_probes(document_run([case], {"none": {}})) == []
