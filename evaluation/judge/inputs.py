"""What is judged: generated scripts out of a store, with their facts and questions, and what raters said of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeVar

from evaluation.editors.baselines import NULL_METHODS
from evaluation.judge.judging import STAGE, RatedText
from evaluation.judge.steps import JudgeInput
from schemas.cases import Case
from schemas.core.errors import UserError
from schemas.core.ids import seed
from schemas.facts import Fact
from schemas.generated_scripts import GeneratedScript
from schemas.lineage import Lineage
from schemas.raters import Rater
from schemas.ratings import Rating
from schemas.scripts import ScriptQuestion
from schemas.text.raw_text import raw_text

if TYPE_CHECKING:
    from curation.store.store import Store

Estimator = Literal["integer", "weighted"]
DEFAULT_ESTIMATOR: Estimator = "integer"
ESTIMATORS: dict[Estimator, str] = {
    "integer": "the ratings as given, from 1 to 7 (of several samples their lower median)",
    "weighted": "the mean of 1 to 7 under the judge's log-probabilities, else the mean of its samples",
}
"""What a judge's score of a script is; people's ratings are the same under both."""

T = TypeVar("T", bound=RatedText)
GENERATED_STAGE = "generate"  # of the lineage that generated texts come with
PEOPLE_STAGE = "annotation"  # of the lineage that people's ratings come with


class LabelledText(Protocol):
    """A text with the label of the method that was in force."""

    @property
    def item(self) -> str:
        """Content id of the text."""
        ...

    @property
    def editor(self) -> str:
        """The label."""
        ...


def judge_inputs(store: Store) -> list[JudgeInput]:
    """Every generated script of a store, refusals too, in the order of their keys.

    Fact and question come from the case that was edited, where the store holds it (facts get corrected).

    Raises:
        UserError: a script whose case, fact or question is not there, or whose fact is not edited.
    """
    scripts = list(store.all(GeneratedScript))
    cases = {c.key: c for c in store.by_keys(Case, (s.case for s in scripts))}
    facts = {f.key: f for f in store.by_keys(Fact, (s.fact for s in scripts))}
    questions = {q.key: q for q in store.by_keys(ScriptQuestion, (s.question for s in scripts))}
    return [_ask(s, cases.get(s.case), facts, questions, where=str(store.path)) for s in scripts]


def _ask(
    script: GeneratedScript,
    case: Case | None,
    facts: dict[str, Fact],
    questions: dict[str, ScriptQuestion],
    *,
    where: str,
) -> JudgeInput:
    fact = case.fact if case is not None and case.fact.key == script.fact else facts.get(script.fact)
    questions_of_case = {q.key: q for q in case.questions} if case is not None else {}
    question = questions_of_case.get(script.question) or questions.get(script.question)
    if fact is None or question is None:
        what = f"fact '{script.fact}'" if fact is None else f"question '{script.question}'"
        fix = "add its split first: scedit split add NAME"
        raise UserError(f"the {what} of the script '{script.key}' is not in the store", where=where, fix=fix)
    if fact.new is None:
        raise UserError(f"the script '{script.key}' is of a fact that is not edited", where=script.fact)
    return JudgeInput(
        item=script.id,
        case=script.case,
        text=raw_text(script.text),
        question=question.text,
        fact=fact,
        edited=script.edited,
        writer=script.model,
        editor=script.editor,
        refused=script.refused,
    )


def sample_inputs(asks: Sequence[T], limit: int | None, *, number: int = 0) -> list[T]:
    """At most ``limit`` texts, drawn by their ids: the same ones for every judge, whatever else the store holds.

    Args:
        asks: All texts.
        limit: How many; None for all.
        number: Seed of the draw.
    """
    if limit is None or limit >= len(asks):
        return list(asks)
    chosen = {a.item for a in sorted(asks, key=lambda a: (seed("judge", str(number), a.item), a.item))[:limit]}
    return [a for a in asks if a.item in chosen]


class NullLabels(NamedTuple):
    """Labels of null methods among some texts; ``unknown``: labels whose method the store does not know."""

    labels: frozenset[str]
    unknown: tuple[str, ...]


def null_labels(store: Store, texts: Iterable[LabelledText]) -> NullLabels:
    """Which labels stand for a null method: by the method on record, else by the label itself.

    Texts that earlier versions (up to 0.1.0) put into a store have no method on record.

    Args:
        store: Where the texts are.
        texts: Scripts or open answers, as they are judged.
    """
    editors = {text.item: text.editor for text in texts}
    methods: dict[str, set[str]] = {label: set() for label in editors.values()}
    for line in store.lineages(stage=GENERATED_STAGE):
        if line.item_id in editors and (method := line.detail.get("method")):
            methods[editors[line.item_id]].add(method)
    nulls = frozenset(label for label, known in methods.items() if (known or {label}) & NULL_METHODS)
    return NullLabels(nulls, tuple(sorted(label for label, known in methods.items() if not known)))


class RatedScript(NamedTuple):
    """A rating with what its lineage says.

    Attributes:
        rating: The rating.
        score: What means are made of, by the estimator: the rating itself, or its finer value.
        detail: Of the lineage: ``samples``, ``retest``, ``weighted``; ``probability``, ``synthetic`` for people.
        line: The lineage; None where the store has none.
    """

    rating: Rating
    score: float | None
    detail: dict[str, Any]
    line: Lineage | None

    @property
    def source(self) -> str:
        """Who rated, as tables name it."""
        return self.rating.rater

    @property
    def rater(self) -> Rater:
        """Who rated."""
        return self.rating.rated_by

    @property
    def adjudicated(self) -> bool:
        """Whether it is a lead's decision between others."""
        return self.rater.kind == "adjudicated"


def rated_scripts(
    store: Store, items: Iterable[str] | None = None, *, estimator: Estimator = DEFAULT_ESTIMATOR
) -> list[RatedScript]:
    """Ratings of people and judges with their lineage, all or those of some scripts, in the order of their keys.

    Args:
        store: Where they are.
        items: Content ids of scripts; None for all.
        estimator: What a judge's score is.
    """
    ratings = list(store.all(Rating)) if items is None else store.of_parents(Rating, items)
    lines: dict[str, Lineage] = {}
    for stage in (STAGE, PEOPLE_STAGE):
        for line in store.lineages(stage=stage):
            if line.item_id not in lines or "retest" in line.detail or "retest" not in lines[line.item_id].detail:
                lines[line.item_id] = line
    out = []
    for rating in ratings:
        rating_line = lines.get(rating.id)
        detail = dict(rating_line.detail) if rating_line else {}
        score = None if rating.value is None else float(rating.value)
        if estimator == "weighted" and score is not None:
            score = float(detail.get("score", score))
        out.append(RatedScript(rating, score, detail, rating_line))
    return out


def question_authors(store: Store) -> set[str]:
    """Models that wrote the questions, by the lineage."""
    return {line.model for line in store.lineages(stage="questions") if line.model}
