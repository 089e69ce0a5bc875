from __future__ import annotations

import pytest

from evaluation.metrics.document_answers import (
    WrittenMatch,
    WrittenMatchLiteral,
    WrittenMatchNew,
    WrittenOverlap,
    WrittenOverlapLiteral,
    WrittenOverlapNew,
    answer_words,
    overlap,
)
from schemas.answers import Answer
from tests.support.documents.answers import wrote
from tests.support.documents.records import document_case

CASE = document_case()
OPENED, YEAR, WHO, WHAT = (p.query for p in CASE.probes)
SAID = {OPENED: " 1931.", YEAR: " in 1931\nQuestion:", WHO: " brun", WHAT: " An ORLA bridge, of steel"}


@pytest.mark.parametrize(
    ("message", "words"),
    [("The U.S.", ["u", "s"]), (" a bridge\u2014an arch", ["bridge", "arch"]), ("the", []), ("Ólafur", ["olafur"])],
)
def test_case_articles_and_punctuation_are_folded(message: str, words: list[str]) -> None:
    assert answer_words(message) == words


def test_the_first_line_counts_and_the_best_accepted_answer() -> None:
    answers = wrote(CASE, SAID)
    exact = [i.value for i in WrittenMatch().score(CASE, answers, {}, "mean").items]
    assert exact == [1.0, 0.0, 1.0, 0.0]
    shared = [i.value for i in WrittenOverlap().score(CASE, answers, {}, "mean").items]
    assert shared == pytest.approx([1.0, 2 / 3, 1.0, 2 * 2 / (4 + 2)])


def test_overlap_counts_words_as_often_as_they_stand_there() -> None:
    assert overlap("no no no", "no") == pytest.approx(2 * 1 / 4) and overlap("", "no") == 0.0


@pytest.mark.parametrize(
    ("said", "right", "value"),
    [
        ("", "A", 0.0),  # of blood groups, the answer
        (" ...", "the", 0.0),
        (" an", "A", 0.0),
        (" A.", "a", 1.0),
        ("", "+", 0.0),
        (" \u2605", "\u2605", 1.0),
        (" -", "+", 0.0),
        ("", "Who", 0.0),
        (" the Who", "A Who", 1.0),
    ],
)
def test_an_answer_of_an_article_or_a_sign_alone_is_not_given_by_writing_nothing(
    said: str, right: str, value: float
) -> None:
    assert WrittenMatch().likeness(said, right) == overlap(said, right) == value


def test_literal_probes_and_those_that_the_model_did_not_write_alone() -> None:
    answers, before = wrote(CASE, SAID), wrote(CASE, {**SAID, YEAR: " 1931", WHO: " Bo"})
    exact = [(i.item, i.value) for i in WrittenMatchNew().score(CASE, answers, before, "mean").items]
    assert exact == [(CASE.probes[2].key, 1.0), (CASE.probes[3].key, 0.0)]
    shared = [i.value for i in WrittenOverlapNew().score(CASE, answers, before, "mean").items]
    assert shared == pytest.approx([1.0, 2 / 3])
    (first, *_) = WrittenOverlapNew().score(CASE, answers, {}, "mean").items
    assert first.value is None and first.reason == "before the edit: no answer"
    literal = [p.key for p in CASE.probes if p.level == 1]
    for metric in (WrittenMatchLiteral(), WrittenOverlapLiteral()):
        assert [i.item for i in metric.score(CASE, answers, {}, "mean").items] == literal


def test_no_text_is_unscored() -> None:
    assert WrittenMatch().score(CASE, {}, {}, "mean").items[0].reason == "no answer"
    probes = WrittenMatch().probe_of(CASE.probes[0]).id
    item = WrittenMatch().score(CASE, {probes: Answer(probe=probes, error="too long")}, {}, "mean").items[0]
    assert item.value is None and item.reason == "too long"
