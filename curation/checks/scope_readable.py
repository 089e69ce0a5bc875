"""Can scope and answer be told from a question alone, without its event?

A benchmark whose out-of-scope questions are worded otherwise than its in-scope ones measures wording: a method that
routes by the question alone beats one that compares question and event. A classifier that never sees the event (TF-IDF
of words and word pairs, logistic regression) is learnt on some events and asked about others. Of ELKEN's questions the
wording tells the scope with an AUC of .94 (facts) and .97 (tendencies).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from curation.similarity.rouge import words
from schemas.cases import EventCase
from schemas.core.errors import UserError
from schemas.core.ids import seed
from schemas.events.questions import LETTERS, FactQuestion, TendencyQuestion
from schemas.text.counting import counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FOLDS = 5
Kind = Literal["facts", "tendencies"]
Question = FactQuestion | TendencyQuestion


class Readable(NamedTuple):
    """How well something is told from one part of the questions.

    Attributes:
        kind: ``facts`` or ``tendencies``.
        told: ``scope``, ``unknown`` (of facts in scope) or ``answer`` (the right option among the three).
        part: ``wording``, ``options``, ``key`` (the right letter), ``relation`` (with the event's type), ``wording
            and options``.
        measure: ``AUC`` (.5: nothing is told) or ``accuracy``.
        value: From predictions on events that were not learnt from; None where there is only one class.
        chance: What guessing gives: .5 for AUC, the share of the commonest class for accuracy.
        questions, events: How many were predicted, and of how many events.
    """

    kind: Kind
    told: str
    part: str
    measure: str
    value: float | None
    chance: float
    questions: int
    events: int


class _Item(NamedTuple):
    """One question: its event, what is shown of it, and what is to be told."""

    event: str
    shown: str
    label: int


def scope_readable(
    cases: Sequence[EventCase], *, train: Sequence[EventCase] | None = None, folds: int = FOLDS
) -> list[Readable]:
    """How well scope, unknown answers and right options are told without the event.

    Args:
        cases: The benchmark.
        train: Learn on these events instead of by cross-validation over those of the benchmark.
        folds: Parts of the benchmark's events; each is predicted by what was learnt on the others.

    Raises:
        UserError: fewer events than folds, or an event that is learnt on and asked about.
    """
    if shared := sorted({c.key for c in cases} & {c.key for c in train or ()}):
        raise UserError(
            f"{counted(len(shared), 'event of the split is', 'events of the split are')} learnt on, too (the first is "
            f"'{shared[0]}'), so the figures would be those of questions that were seen",
            fix="name another split (--train), or none: then it is cross-validated",
        )
    if train is None and len(cases) < folds:
        raise UserError(
            f"{counted(len(cases), 'event is', 'events are')} too few for {folds} folds over events",
            fix="name fewer folds (--folds), or a split to learn on (--train)",
        )
    measurements: list[Readable] = []
    for kind in ("facts", "tendencies"):
        for target, part, measure, shown in _PARTS[kind]:
            test_items = _items(cases, kind, target, shown)
            other = _items(train, kind, target, shown) if train is not None else None
            if test_items:
                measurements.append(
                    _measured(test_items, other, kind=kind, target=target, part=part, measure=measure, folds=folds)
                )
    measurements += [row for row in (_of_options(cases, train, folds),) if row is not None]
    return measurements


def _wording(question: Question, case: EventCase) -> str:
    return question.text


def _options(question: Question, case: EventCase) -> str:
    """The options in an order of their own: where the right one stands is not what is asked."""
    assert isinstance(question, TendencyQuestion)
    return " ; ".join(sorted(question.options))


def _right_letter(question: Question, case: EventCase) -> str:
    return f"letter{question.answer}" if isinstance(question, TendencyQuestion) else ""


def _relation(question: Question, case: EventCase) -> str:
    assert isinstance(question, FactQuestion)
    return f"type_{case.event.type} relation_{question.relation.id} both_{case.event.type}_{question.relation.id}"


_Shown = Callable[[Question, EventCase], str]
_PARTS: dict[Kind, tuple[tuple[str, str, str, _Shown], ...]] = {
    "facts": (
        ("scope", "wording", "AUC", _wording),
        ("scope", "relation", "accuracy", _relation),
        ("unknown", "wording", "AUC", _wording),
        ("unknown", "relation", "accuracy", _relation),
    ),
    "tendencies": (
        ("scope", "wording", "AUC", _wording),
        ("scope", "options", "AUC", _options),
        ("scope", "key", "AUC", _right_letter),
    ),
}


def _questions_of(case: EventCase, kind: Kind) -> Sequence[Question]:
    return case.facts if kind == "facts" else case.tendencies


def _items(cases: Sequence[EventCase], kind: Kind, target: str, shown: _Shown) -> list[_Item]:
    """Questions with what is shown of them and what is to be told."""
    items = []
    for case in cases:
        for question in _questions_of(case, kind):
            if target == "scope":
                items.append(_Item(case.key, shown(question, case), int(question.scope == "in")))
            elif question.scope == "in":
                assert isinstance(question, FactQuestion)
                items.append(_Item(case.key, shown(question, case), int(question.unknown)))
    return items


def _measured(
    test_items: Sequence[_Item],
    other: Sequence[_Item] | None,
    *,
    kind: Kind,
    target: str,
    part: str,
    measure: str,
    folds: int,
) -> Readable:
    import numpy as np

    labels = np.array([item.label for item in test_items])
    value = None
    share = float(max(labels.mean(), 1 - labels.mean()))
    if 0 < labels.mean() < 1:
        scores = _predicted(test_items, other, folds)
        value = _auc(labels, scores) if measure == "AUC" else float(((scores > 0.5) == labels).mean())
    chance = 0.5 if measure == "AUC" else share
    return Readable(
        kind, target, part, measure, value, chance, len(test_items), len({item.event for item in test_items})
    )


def _predicted(test_items: Sequence[_Item], other: Sequence[_Item] | None, folds: int) -> Floats:
    """The probability of label 1 for each item, learnt on other events."""
    import numpy as np

    if other is not None:
        return _learn(other, test_items)
    fold = np.array([_fold(item.event, folds) for item in _renumbered(test_items)])
    scores = np.full(len(test_items), 0.5)
    for number in range(folds):
        test = np.flatnonzero(fold == number)
        if len(test):
            learnt = [item for item, part in zip(test_items, fold, strict=True) if part != number]
            scores[test] = _learn(learnt, [item for item, part in zip(test_items, fold, strict=True) if part == number])
    return scores


def _renumbered(items: Sequence[_Item]) -> list[_Item]:
    """The items with their events numbered in a drawn order, so that folds are equally large."""
    order = sorted({item.event for item in items}, key=lambda event: seed("scope_readable", event))
    number = {event: str(n) for n, event in enumerate(order)}
    return [item._replace(event=number[item.event]) for item in items]


def _fold(number: str, folds: int) -> int:
    return int(number) % folds


def _learn(train: Sequence[_Item], test: Sequence[_Item]) -> Floats:
    """Probabilities by a logistic regression over TF-IDF of words and word pairs.

    Equal shares where there is one class, or no word, to learn from.
    """
    import numpy as np

    labels = np.array([item.label for item in train])
    if not len(labels) or labels.min() == labels.max() or not any(words(item.shown) for item in train):
        return np.full(len(test), 0.5)
    model = wording_classifier()
    model.fit([item.shown for item in train], labels)
    probabilities: Floats = model.predict_proba([item.shown for item in test])[:, 1]
    return probabilities


def wording_classifier() -> Any:
    """TF-IDF of words and word pairs, then a logistic regression with equally weighed classes; not learnt yet."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    return make_pipeline(
        TfidfVectorizer(analyzer=_words_and_pairs, sublinear_tf=True),
        LogisticRegression(C=10.0, max_iter=1000, class_weight="balanced"),
    )


def _words_and_pairs(text: str) -> list[str]:
    single = words(text)
    return [*single, *(f"{a} {b}" for a, b in pairwise(single))]


def _auc(labels: Any, scores: Any) -> float:
    """Area under the ROC curve: the chance that an item of label 1 scores higher, ties by half."""
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(labels, scores))


def _option_beside(question: TendencyQuestion, option: str) -> str:
    """A question and one of its options, whose words are told from the question's."""
    return f"{question.text} {' '.join(f'option_{word}' for word in words(option))}"


def _of_options(cases: Sequence[EventCase], train: Sequence[EventCase] | None, folds: int) -> Readable | None:
    """How often the right option in scope is told from question and options: the one most likely to be right."""
    import numpy as np

    def items(of: Sequence[EventCase]) -> list[_Item]:
        return [
            _Item(case.key, _option_beside(question, option), int(letter == question.answer))
            for case in of
            for question in case.tendencies
            if question.scope == "in"
            for letter, option in zip(LETTERS, question.options, strict=True)
        ]

    test_items = items(cases)
    if not test_items:
        return None
    scores = _predicted(test_items, items(train) if train is not None else None, folds).reshape(-1, len(LETTERS))
    right = np.array([item.label for item in test_items]).reshape(-1, len(LETTERS)).argmax(axis=1)
    value = float((scores.argmax(axis=1) == right).mean())
    chance = float(np.bincount(right, minlength=len(LETTERS)).max() / len(right))
    events = len({item.event for item in test_items})
    return Readable("tendencies", "answer", "wording and options", "accuracy", value, chance, len(right), events)
