"""Ratings of a run's open answers: attached to its answers for the metrics, and as figures by source and aspect."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from curation.stats.intervals import Interval
from evaluation.analysis.text_ratings import who
from evaluation.judge.answers.from_run import OpenAnswerSource, open_answers
from evaluation.metrics.events.open_answers import RatedAnswer
from evaluation.metrics.pooled import pooled_interval
from evaluation.runs.results import Run
from schemas.answers import Answer
from schemas.cases import EventCase
from schemas.ratings import CONSISTENCY, RUBRICS, SCRIPT, TENDENCY, Aspect, Rating

GOOD = 4
"""A rating from which on an answer counts as good (ELKEN Table 5's "more than 4" can only mean 4 or more)."""


def read_answer_ratings(stores: Iterable[Path]) -> list[Rating]:
    """Ratings of open answers and of pairs of them out of stores, each once.

    Raises:
        StoreError: a store cannot be read.
    """
    from curation.store.store import Store

    ratings: dict[str, Rating] = {}
    for path in stores:
        with Store.open(path) as store:
            ratings |= {r.id: r for r in store.all(Rating) if r.rubric != SCRIPT.name}
    return list(ratings.values())


def with_ratings(run: Run, ratings: Sequence[Rating]) -> Run:
    """The run with ratings attached to its open answers; as it is where none of them is rated.

    Those that count are of the judge that rated most of the run's answers, else of the people; every source's stand
    beside them. Of several people an answer has the lower median. What a lead decided is not among them.
    """
    if not ratings:
        return run
    answers = open_answers(run)
    by_item = _by_item(ratings, answers)
    if not by_item:
        return run
    main = _main_source(by_item.values())
    rated = {
        (one.label, one.answer.case, one.probe): by_item[one.answer.id] for one in answers if one.answer.id in by_item
    }
    editors = []
    for editor in run.editors:
        results = {}
        for key, result in editor.results.items():
            rated_answers = tuple(_rated(a, rated.get((editor.label, key, a.probe)), main) for a in result.answers)
            results[key] = result.model_copy(update={"answers": rated_answers})
        editors.append(editor._replace(results=results))
    return run._replace(editors=tuple(editors))


def _rated(answer: Answer, ratings: Mapping[str, Mapping[str, int | None]] | None, main: str) -> Answer:
    if ratings is None:
        return answer
    fields = {name: getattr(answer, name) for name in Answer.model_fields}
    return RatedAnswer(**fields, rated_by=ratings, source=main)


def _by_item(
    ratings: Sequence[Rating], answers: Sequence[OpenAnswerSource]
) -> dict[str, dict[str, dict[str, int | None]]]:
    """Item -> source -> aspect -> rating. A rating of a pair counts where both texts are of this run."""
    known = {one.answer.id for one in answers}
    ratings_by_place: dict[tuple[str, str, str], list[Rating]] = defaultdict(list)
    for r in ratings:
        mine = r.item_id in known and (r.before_id is None or r.before_id in known)
        if mine and r.rated_by.kind != "adjudicated":
            ratings_by_place[r.item_id, who(r.rated_by), r.aspect].append(r)
    out: dict[str, dict[str, dict[str, int | None]]] = defaultdict(lambda: defaultdict(dict))
    for (item, source, aspect), candidates in ratings_by_place.items():
        out[item][source][aspect] = _lower_median(_newest(candidates))
    return {item: dict(sources) for item, sources in out.items()}


def _newest(ratings: Sequence[Rating]) -> list[Rating]:
    """Of each rater the rating under the newest version of the form."""
    newest: dict[str, Rating] = {}
    for r in sorted(ratings, key=lambda r: int(r.form.rpartition("@")[2])):
        newest[r.rater] = r
    return list(newest.values())


def _lower_median(ratings: Sequence[Rating]) -> int | None:
    values = sorted(r.value for r in ratings if r.value is not None)
    return values[(len(values) - 1) // 2] if values else None


def _main_source(items: Iterable[Mapping[str, Mapping[str, int | None]]]) -> str:
    counts = Counter(source for sources in items for source in sources)
    people = {"people", "simulated raters"}
    return min(counts, key=lambda source: (source in people, -counts[source], source))


class OpenAnswerFigures(NamedTuple):
    """One method's open answers on one aspect by one source.

    Attributes:
        source: Who rated.
        counts: Whether the metrics rest on this source.
        label: The method.
        aspect: What was rated; ``consistency`` of the answers out of scope with those before the edit.
        full: Share with full marks, pooled over questions, with its interval by event.
        good: Share with 4 or more, likewise.
        mean: Mean rating.
        rated: Answers with a rating.
        unscored: Those that the source left unscored, which are in no figure.
        missing: Those that it was not asked about.
        same_words: Answers in the same words as before the edit, which count as the same tendency without a rater.
        bounds: The share with full marks if no unscored answer had got them, or each; None where none is unscored.
    """

    source: str
    counts: bool
    label: str
    aspect: Aspect
    full: Interval
    good: Interval
    mean: Interval
    rated: int
    unscored: int
    missing: int
    same_words: int
    bounds: tuple[float, float] | None


def open_answer_figures(run: Run) -> list[OpenAnswerFigures]:
    """Figures of every source that rated open answers of a run with ratings attached, by aspect and method."""
    placed = {(label, case, probe): (answer, scope) for label, case, probe, answer, scope in _placed(run)}
    rated = [a for a, _ in placed.values() if isinstance(a, RatedAnswer)]
    if not rated:
        return []
    sources = sorted({s for a in rated for s in a.rated_by}, key=lambda s: (s != rated[0].source, s))
    return [
        _figures(run, placed, source, source == rated[0].source, label, aspect)
        for source in sources
        for aspect in (*reversed(TENDENCY.aspects), *CONSISTENCY.aspects)
        for label in (e.label for e in run.editors)
        if aspect not in CONSISTENCY.aspects or label != run.baseline.label
    ]


def _placed(run: Run) -> Iterator[tuple[str, str, str, Answer, str]]:
    """Label, case, probe, answer and scope of every open answer."""
    scopes = {q.key: q.scope for c in run.split.all_cases if isinstance(c, EventCase) for q in c.tendencies}
    by_probe = {
        (e.label, key, a.probe): a for e in run.editors for key, result in e.results.items() for a in result.answers
    }
    for one in open_answers(run):
        place = (one.label, one.answer.case, one.probe)
        yield (*place, by_probe[place], scopes[one.answer.question])


def _figures(
    run: Run,
    placed: Mapping[tuple[str, str, str], tuple[Answer, str]],
    source: str,
    counts: bool,
    label: str,
    aspect: Aspect,
) -> OpenAnswerFigures:
    pairs = aspect in CONSISTENCY.aspects
    rubric = RUBRICS[CONSISTENCY.name if pairs else TENDENCY.name]
    top, values, counts_of = rubric.points[1], defaultdict[str, list[int]](list), Counter[str]()
    for (method, case, probe), (answer, scope) in placed.items():
        if method != label or scope != ("out" if pairs else "in"):
            continue
        if pairs and _same_words(answer, placed.get((run.baseline.label, case, probe))):
            counts_of["same"] += 1
            values[case].append(top)
            continue
        ratings_of_source = answer.rated_by.get(source, {}) if isinstance(answer, RatedAnswer) else {}
        value = ratings_of_source.get(aspect)
        if value is not None:
            values[case].append(value)
        counts_of["rated" if value is not None else "unscored" if aspect in ratings_of_source else "missing"] += 1
    low, high = rubric.ends
    scored = [v for some in values.values() for v in some]
    whole, full = len(scored) + counts_of["unscored"], sum(v == top for v in scored)
    return OpenAnswerFigures(
        *(source, counts, label, aspect),
        pooled_interval([(float(sum(v == top for v in some)), float(len(some))) for some in values.values()]),
        pooled_interval([(float(sum(v >= GOOD for v in some)), float(len(some))) for some in values.values()]),
        pooled_interval([(float(sum(some)), float(len(some))) for some in values.values()], (low, high)),
        *(counts_of["rated"], counts_of["unscored"], counts_of["missing"], counts_of["same"]),
        (full / whole, (full + counts_of["unscored"]) / whole) if counts_of["unscored"] else None,
    )


def _same_words(answer: Answer, before: tuple[Answer, str] | None) -> bool:
    if before is None or answer.written is None or before[0].written is None:
        return False
    return answer.written.text.strip() == before[0].written.text.strip()
