"""Every text that a run's models wrote, by case and question: raw, how it ended, and what raters said of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from evaluation.analysis.text_ratings import ASPECTS, RatedTexts, profile
from evaluation.metrics.text_level.script_parser import INSTRUCTION
from evaluation.runs.generated_scripts import generated
from evaluation.runs.results import Run, cases_by_key
from schemas.cases import Case
from schemas.core.errors import UserError
from schemas.ratings import Rating
from schemas.text.raw_text import raw_text


class GivenRating(NamedTuple):
    """A rating as readers see it: who, on what, the value in words, the reason."""

    rater: str
    aspect: str
    value: str
    reason: str


class RawAnswer(NamedTuple):
    """One text: the method, whether an edit was in force, the raw text, how it ended, its tokens, its ratings."""

    label: str
    edited: bool
    text: str
    ended: str
    tokens: int
    ratings: tuple[GivenRating, ...]


class AnsweredQuestion(NamedTuple):
    """A script question of a case with what every method answered, the unedited model first."""

    case: Case
    question: str
    prompt: str
    answers: tuple[RawAnswer, ...]


_ENDED = {"eos": "ended by the model", "stop": "ended at a stop text", "length": "cut off at the token limit"}


def all_answers(run: Run, texts: RatedTexts | None) -> list[AnsweredQuestion]:
    """Every answer of a run, in its order; empty where no script was written."""
    try:
        sources = generated(run)
    except UserError:
        return []
    ratings = _by_script(texts)
    cases = cases_by_key(run)
    found: dict[tuple[str, str], list[RawAnswer]] = defaultdict(list)
    for source in sources:
        script, written = source.script, source.written
        label = script.editor if not script.sample else f"{script.editor}, sample {script.sample + 1}"
        found[script.case, script.question].append(
            RawAnswer(
                label,
                script.edited,
                raw_text(script.text),
                "" if written is None else _ENDED[written.ended],
                0 if written is None else written.tokens,
                ratings.get(script.id, ()),
            )
        )
    order = {key: n for n, key in enumerate(cases)}
    chosen = sorted(found.items(), key=lambda x: (order[x[0][0]], x[0][1]))
    return [_question(cases[case], key, answers) for (case, key), answers in chosen]


def cut_off(answers: Sequence[AnsweredQuestion]) -> tuple[int, int]:
    """How many texts reached the token limit, of how many."""
    ends = [a.ended for q in answers for a in q.answers]
    return sum(e == _ENDED["length"] for e in ends), len(ends)


def _question(case: Case, key: str, answers: Sequence[RawAnswer]) -> AnsweredQuestion:
    text = next((q.text for q in case.questions if q.key == key), key)
    return AnsweredQuestion(case, text, f"{INSTRUCTION}\n\n{text}", tuple(sorted(answers, key=lambda a: a.edited)))


def _by_script(texts: RatedTexts | None) -> Mapping[str, tuple[GivenRating, ...]]:
    found: dict[str, list[Rating]] = defaultdict(list)
    for rating in () if texts is None else texts.ratings:
        if rating.rated_by.kind != "adjudicated":
            found[rating.item_id].append(rating)
    return {item: tuple(map(_given_rating, sorted(rated, key=_order))) for item, rated in found.items()}


def _order(rating: Rating) -> tuple[int, bool, str]:
    return ASPECTS.index(rating.aspect), rating.rated_by.is_judge, rating.rater


def _given_rating(rating: Rating) -> GivenRating:
    who = f"{rating.rated_by.name} ({profile(rating)})"
    value = "unscored" if rating.value is None else f"{rating.value} of 7"
    return GivenRating(who, rating.aspect.capitalize(), value, rating.reason)
