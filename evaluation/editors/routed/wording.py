"""A control method that routes by the question's wording alone and never asks whether question and event fit.

Published benchmarks word questions out of scope otherwise than those in scope: this row says how much of a router's
accuracy that alone gives.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from typing_extensions import override

from curation.similarity.texts import words
from evaluation.editors.in_context.retrieval import Tfidf
from evaluation.editors.routed.base import Route, Router, RoutingEditor
from evaluation.metrics.event_questions import has_options, question_of
from schemas.cases import EventCase
from schemas.core.errors import UserError

if TYPE_CHECKING:
    from schemas.events.questions import FactQuestion, TendencyQuestion


class Wording(RoutingEditor):
    """In or out of scope by the words of the question (TF-IDF, logistic regression); in scope, the nearest event.

    Factual questions and tendencies have a classifier of their own each: a prompt with options asks for a tendency.
    The nearest event is that with the greatest cosine of TF-IDF vectors of words and word pairs, stop
    words left out.
    """

    name: ClassVar[str] = "wording"
    about: ClassVar[str] = "in or out of scope by the question's wording alone, then the nearest event (control method)"
    needs: ClassVar[str] = "support with events"

    params: RoutingEditor.Params
    _scopes: ScopeByWording | None = None

    @classmethod
    @override
    def wants_support(cls, options: Mapping[str, Any]) -> bool:
        return True

    def learn(self) -> None:
        """Learn scope from the support's questions.

        Raises:
            UserError: the support has no events, or all its questions are of one scope.
        """
        self._scopes = ScopeByWording(c for c in self._support if isinstance(c, EventCase))

    @override
    def router(self, texts: Sequence[str]) -> Router:
        assert self._scopes is not None
        return WordingRouter(texts, self._scopes, self.params.threshold)


class ScopeByWording:
    """The probability that a question is in scope, from its words; learnt on questions about events.

    Args:
        cases: Events with questions in and out of scope.

    Raises:
        UserError: none, or of one scope only.
    """

    def __init__(self, cases: Iterable[EventCase]) -> None:
        cases = list(cases)
        facts = [q for c in cases for q in c.facts]
        tendencies = [q for c in cases for q in c.tendencies]
        both = self._learnt([*facts, *tendencies])
        if both is None:
            raise UserError(
                "scope by wording is learnt from worded questions in and out of scope, and there are none of one scope",
                where="wording",
                fix='add support = "events_from_facts" to the run, or a split of events of your own',
            )
        self._facts, self._tendencies = self._learnt(facts) or both, self._learnt(tendencies) or both

    @staticmethod
    def _learnt(questions: Sequence[FactQuestion | TendencyQuestion]) -> Any:
        scopes = [int(q.scope == "in") for q in questions]
        if len(set(scopes)) < 2 or not any(words(q.text) for q in questions):
            return None
        return wording_classifier().fit([q.text for q in questions], scopes)

    def probability(self, question: str, *, tendency: bool) -> float:
        """That the question is in scope."""
        learnt = self._tendencies if tendency else self._facts
        return float(learnt.predict_proba([question])[0, 1])


class WordingRouter(Router):
    """Scope by wording, then the nearest event.

    Args:
        texts: The memory.
        scopes: Tells scope.
        threshold: The least probability of being in scope with which the nearest event passes.
    """

    def __init__(self, texts: Sequence[str], scopes: ScopeByWording, threshold: float) -> None:
        self._index, self._scopes, self._threshold = Tfidf(texts, stop_words="english"), scopes, threshold

    def route(self, prompt: str) -> Route:
        """The nearest event where the wording says in scope; the score is the probability of that."""
        question = question_of(prompt)
        score = self._scopes.probability(question, tendency=has_options(prompt))
        cosines = self._index.scores(question)
        nearest = int(cosines.argmax())
        return Route(nearest if score >= self._threshold and cosines[nearest] > 0 else None, score)


def wording_classifier() -> Any:
    """TF-IDF of words and word pairs, then a logistic regression with equally weighed classes; not trained yet."""
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
