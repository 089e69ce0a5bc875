from __future__ import annotations

from construction.events.pipeline import duplicate_verdicts
from curation.similarity.texts import rouge1_f
from tests.support.events import make_event


def labels(*texts: str, threshold: float = 0.4) -> list[str | None]:
    events = [make_event(f"e/{n}", text) for n, text in enumerate(texts)]
    return [v.label for v in duplicate_verdicts(events, threshold=threshold)]


def test_of_two_alike_the_later_goes_and_makes_no_other_go() -> None:
    """b is like a and goes; c is like b only, and stays."""
    a, b, c = "one two three four", "three four five six", "five six seven eight"
    assert rouge1_f(a, b) == rouge1_f(b, c) == 0.5 and rouge1_f(a, c) == 0
    assert labels(a, b, c) == ["keep", "drop", "keep"]
    assert labels(b, a, c) == ["keep", "drop", "drop"]


def test_at_the_threshold_both_stay() -> None:
    pair = ("a b c d e", "a b f g h")
    assert rouge1_f(*pair) == 0.4
    assert labels(*pair) == ["keep", "keep"]
    assert labels(*pair, threshold=0.39) == ["keep", "drop"]


def test_it_is_the_plain_definition_over_many() -> None:
    words = ["river", "coal", "port", "rail", "law", "gas", "wind", "tax", "bank", "farm"]
    texts = [f"{words[i]} {words[j]} {words[k]}" for i in range(10) for j in range(i) for k in range(j)]
    stays: list[str] = []
    for text in texts:
        if all(rouge1_f(text, other) <= 0.4 for other in stays):
            stays.append(text)
    assert [t for t, label in zip(texts, labels(*texts), strict=True) if label == "keep"] == stays
    assert 0 < len(stays) < len(texts)


def test_nothing_comes_of_nothing_and_verdicts_name_the_nearest() -> None:
    assert duplicate_verdicts([]) == []
    events = [make_event("e/1", "a b c"), make_event("e/2", "a b c d")]
    second = duplicate_verdicts(events)[1]
    assert second.related == (events[0].id,) and "e/1" in second.reason and second.unit == "rouge1_f"
