"""Ratings of a run's open answers: attached to its answers for the metrics, and as figures by source and aspect."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evaluation.analysis.tables import FigureTable, Rate, head_of, rates
from evaluation.analysis.text_ratings import who
from evaluation.judge.from_run import OpenAnswerSource, open_answers
from evaluation.metrics.events.open_answers import RatedAnswer
from evaluation.runs.results import Run
from schemas.answers import Answer
from schemas.cases import EventCase
from schemas.ratings import CONSISTENCY, RUBRICS, SCRIPT, TENDENCY, Rating

GOOD = 4
"""A rating from which on an answer counts as good (ELKEN Table 5's "more than 4" can only mean 4 or more)."""
RATED = (
    Rate("Share of 5", "full"),
    Rate("4 or more", "good"),
    Rate("Mean", "value", scale=TENDENCY.ends),
    Rate("Unscored", "unscored"),
    Rate("Same words", "same"),
)


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


def open_answer_tables(run: Run) -> list[FigureTable]:
    """A table of every source that rated open answers of a run with ratings attached, that of the metrics first."""
    values = list(_rating_values(run))
    main = next((v["main"] for v in values), "")
    order = sorted({v["source"] for v in values}, key=lambda source: (source != main, source))
    caption = "Answers in scope on four aspects, those out of scope by whether they say what they said before the edit."
    return [
        FigureTable(
            f"Open answers rated by {source}" + ("" if source == main else " (in no metric)"),
            head_of(("Method", "Aspect"), "Answers", RATED),
            rates([v for v in values if v["source"] == source], ["method", "aspect"], RATED, pooled=True),
            caption,
        )
        for source in order
    ]


def _rating_values(run: Run) -> Iterator[dict[str, Any]]:
    """Every open answer under every source and aspect; answers in the same words as before count as the same."""
    placed = {(label, case, probe): (answer, scope) for label, case, probe, answer, scope in _placed(run)}
    rated = [a for a, _ in placed.values() if isinstance(a, RatedAnswer)]
    base = run.baseline.label
    for source in sorted({s for a in rated for s in a.rated_by}):
        for aspect in (*reversed(TENDENCY.aspects), *CONSISTENCY.aspects):
            pairs = aspect in CONSISTENCY.aspects
            top = RUBRICS[CONSISTENCY.name if pairs else TENDENCY.name].points[1]
            for (label, case, probe), (answer, scope) in placed.items():
                if scope != ("out" if pairs else "in") or (pairs and label == base):
                    continue
                ratings = answer.rated_by.get(source, {}) if isinstance(answer, RatedAnswer) else {}
                same = pairs and _same_words(answer, placed.get((base, case, probe)))
                value = top if same else ratings.get(aspect)
                unscored = None if same or aspect not in ratings else value is None
                shares = (
                    {"full": None, "good": None} if value is None else {"full": value == top, "good": value >= GOOD}
                )
                row = {"source": source, "main": rated[0].source, "method": label, "aspect": aspect, "case": case}
                yield {**row, **shares, "value": value, "unscored": unscored, "same": same if pairs else None}


def _placed(run: Run) -> Iterator[tuple[str, str, str, Answer, str]]:
    """Label, case, probe, answer and scope of every open answer."""
    scopes = {q.key: q.scope for c in run.split.all_cases if isinstance(c, EventCase) for q in c.tendencies}
    by_probe = {
        (e.label, key, a.probe): a for e in run.editors for key, result in e.results.items() for a in result.answers
    }
    for one in open_answers(run):
        place = (one.label, one.answer.case, one.probe)
        yield (*place, by_probe[place], scopes[one.answer.question])


def _same_words(answer: Answer, before: tuple[Answer, str] | None) -> bool:
    if before is None or answer.written is None or before[0].written is None:
        return False
    return answer.written.text.strip() == before[0].written.text.strip()
