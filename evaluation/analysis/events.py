"""What a run on events shows beside its metrics: routing, the answer "unknown", the placebo, rated open answers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from evaluation.analysis.tables import DELTA, FigureTable, Rate, rate_table
from evaluation.analysis.text_ratings import who
from evaluation.editors.in_context.retrieval import said_before
from evaluation.engines.base import REWRITTEN, prompt_as_read
from evaluation.judge.inputs import OpenAnswerSource, open_answers
from evaluation.metrics.base import Metric
from evaluation.metrics.event_answers import EventLetterLocality, EventOpenLocality, RatedAnswer
from evaluation.metrics.event_questions import (
    choice_probes,
    fact_probe,
    fold_answer,
    letter_probe,
    open_probe,
    says_unknown,
)
from evaluation.metrics.events import EventChoiceLocality, EventFactLocality
from evaluation.metrics.generation import EventChoice, Generation
from evaluation.metrics.text_level import text_of
from evaluation.runs.frame import Scores, finished_cases
from evaluation.runs.results import Run
from schemas.answers import Answer
from schemas.cases import EventCase
from schemas.events.questions import FactQuestion, TendencyQuestion
from schemas.probes import Probe
from schemas.ratings import CONSISTENCY, RUBRICS, SCRIPT, TENDENCY, Rating
from schemas.runs import CaseResult

KINDS = ("facts", "tendencies")
Sent = Literal["own", "other", "none"]
"""Where a question is sent: the edited event, another one, none."""
PLACEBO = "placebo"
_LOCALITY = (EventFactLocality, EventChoiceLocality, EventLetterLocality, EventOpenLocality)
ROUTING = (
    Rate("In scope: right event", "own"),
    Rate("another", "other"),
    Rate("none", "lost"),
    Rate("Out of scope: none", "outside"),
    Rate("Accuracy", "right"),
)
UNKNOWN = (Rate("Precision", "precision"), Rate("Recall", "recall"), Rate("Answered so", "said"))


def routing_value(method: str, kind: str, case: str, scope: str, sent: Sent) -> dict[str, Any]:
    """One question as the table of routing counts it: where it was sent, and whether it belongs there."""
    inside = scope == "in"
    shares = {"own": sent == "own", "other": sent == "other", "lost": sent == "none"} if inside else {}
    outside = None if inside else sent == "none"
    values = {"own": None, "other": None, "lost": None, "outside": outside, **shares}
    return {"method": method, "kind": kind, "case": case, **values, "right": bool(outside or shares.get("own"))}


def routing_values(run: Run) -> list[dict[str, Any]]:
    """Every question of every method that put something before a question; other methods send nothing anywhere."""
    choice = Generation.from_description(run.about).events
    out = []
    for editor in run.editors:
        done = [(case, editor.results[case.key]) for case, _ in finished_cases(run, editor)]
        if not any(REWRITTEN in result.notes for _, result in done):
            continue
        for kind in KINDS:
            for case, result in done:
                for question in getattr(case, kind):
                    if (sent := _sent(question, case, result, choice)) is not None:
                        out.append(routing_value(editor.label, kind, case.key, question.scope, sent))
    return out


def _sent(
    question: FactQuestion | TendencyQuestion, case: EventCase, result: CaseResult, choice: EventChoice
) -> Sent | None:
    """Where a question was sent; None where it was not asked."""
    if isinstance(question, FactQuestion):
        probes: list[Probe] = [fact_probe(question, choice)]
    else:  # by choice, else in the model's own words: a question is looked up without its options
        probes = [choice_probes(question, choice)[0], letter_probe(question, choice), open_probe(question, choice)]
    asked = {a.probe for a in result.answers}
    probe = next((p for p in probes if p.id in asked), None)
    if probe is None:
        return None
    before = prompt_as_read(probe, result.notes).removesuffix(probe.prompt)
    if not before:
        return "none"
    return "own" if said_before(case.event) in before else "other"


def unknown_values(run: Run) -> list[dict[str, Any]]:
    """Every factual question that a method answered: whether it says "unknown", and whether that has become right."""
    choice = Generation.from_description(run.about).events
    out = []
    for editor in run.editors:
        for case, answers in finished_cases(run, editor):
            for question in case.facts:
                written = text_of(answers.get(fact_probe(question, choice).id))
                if not isinstance(written, str):
                    said, right = says_unknown(fold_answer(written.text), choice), question.unknown
                    shares = {"precision": right if said else None, "recall": said if right else None}
                    out.append({"method": editor.label, "case": case.key, "said": said, **shares})
    return out


def event_tables(run: Run, scores: Scores, metrics: Sequence[Metric]) -> list[FigureTable]:
    """The tables of a run on events; those without a row are left out."""
    head = ("Method", "Metric", "Locality", "Placebo", f"{DELTA} to the placebo")
    tables = [
        rate_table(
            "Routing: which event was put before each question",
            routing_values(run),
            ["method", "kind"],
            "Questions",
            ROUTING,
            "A question in scope belongs to the edited event, one out of scope to none.",
            pooled=True,
        ),
        FigureTable(
            "Locality next to the placebo's",
            head,
            tuple(_next_to_placebo(run, scores, metrics)),
            "The placebo puts another event before each question: what it moves, any words before a question move.",
        ),
        rate_table(
            "The answer “unknown”",
            unknown_values(run),
            ["method"],
            "Questions",
            UNKNOWN,
            "Precision: of the questions answered so, those whose answer has become unknown. Recall: the reverse.",
            pooled=True,
        ),
    ]
    return [table for table in tables if table.rows]


def _next_to_placebo(run: Run, scores: Scores, metrics: Sequence[Metric]) -> list[Any]:
    """Every method with edits under every metric of locality; empty where the run has no placebo."""
    placebo = next((e.label for e in run.editors[1:] if e.manifest.editor == PLACEBO), None)
    out = []
    for metric in metrics if placebo is not None else ():
        if not isinstance(metric, _LOCALITY):
            continue
        values = {
            e.label: metric.summarise(list(scores.by_editor[e.label][metric.name].values())).interval
            for e in run.editors[1:]
        }
        assert placebo is not None
        for label, value in values.items():
            if label != placebo and value.mean is not None and values[placebo].mean is not None:
                gap = scores.difference(label, placebo, metric, run.cases)
                out.append((label, metric.title, value, values[placebo], gap))
    return out


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
        out[item][source][aspect] = _lower_median(candidates)
    return {item: dict(sources) for item, sources in out.items()}


def _lower_median(ratings: Sequence[Rating]) -> int | None:
    """Over raters, of each the rating under the newest version of the form."""
    newest = {r.rater: r.value for r in sorted(ratings, key=lambda r: int(r.form.rpartition("@")[2]))}
    values = sorted(value for value in newest.values() if value is not None)
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
        rate_table(
            f"Open answers rated by {source}" + ("" if source == main else " (in no metric)"),
            [v for v in values if v["source"] == source],
            ["method", "aspect"],
            "Answers",
            RATED,
            caption,
            pooled=True,
        )
        for source in order
    ]


def _rating_values(run: Run) -> Iterator[dict[str, Any]]:
    """Every open answer under every source and aspect; answers in the same words as before count as the same."""
    scopes = {q.key: q.scope for c in run.split.all_cases if isinstance(c, EventCase) for q in c.tendencies}
    answers = {(e.label, k, a.probe): a for e in run.editors for k, r in e.results.items() for a in r.answers}
    places = {(one.label, one.answer.case, one.probe): scopes[one.answer.question] for one in open_answers(run)}
    placed = {place: (answers[place], scope) for place, scope in places.items()}
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


def _same_words(answer: Answer, before: tuple[Answer, str] | None) -> bool:
    if before is None or answer.written is None or before[0].written is None:
        return False
    return answer.written.text.strip() == before[0].written.text.strip()
