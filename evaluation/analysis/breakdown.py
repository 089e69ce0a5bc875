"""Metrics cut up: by relation, step, size of an event, tag, seed; and the tables of a run on documents."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

from curation.stats.intervals import Interval
from evaluation.analysis.comparison import Comparison, MethodRow
from evaluation.analysis.tables import Cell, FigureTable, pooled_share
from evaluation.metrics.base import Metric, metric_of
from evaluation.metrics.documents import ExactMatch, SpecificityMatch
from evaluation.metrics.events import WholeEventMetric
from evaluation.runs.frame import Scores
from evaluation.runs.results import Run, cases_by_key
from schemas.answers import CaseScores, ItemScore
from schemas.cases import DocumentCase, EventCase
from schemas.documents.document import DocumentProbe, plain_words
from schemas.documents.statement import KEPT
from schemas.documents.tags import TAGS

MOST = 12  # relations shown; the others are one line
LATE = 6  # steps from here on are one line: late cuts are few
FEWEST = 15
"""Tags with fewer probes are left out, as in MULFE's Figure 7."""
ALL = "all probes"
Groups = Mapping[str, Mapping[str, Sequence[CaseScores]]]  # group -> method -> scores
Asked = Sequence[tuple[str, DocumentProbe]]
"""Probes with the key of their case."""


def cut(scores: Scores, metric: Metric, groups_of: Callable[[str, ItemScore], Iterable[str]]) -> Groups:
    """The scored items of a metric in groups: an item is in each group that is named for it and its case."""
    out: dict[str, dict[str, list[CaseScores]]] = defaultdict(lambda: {label: [] for label in scores.by_editor})
    for label, metrics in scores.by_editor.items():
        for key, one in metrics[metric.name].items():
            items: dict[str, list[ItemScore]] = defaultdict(list)
            for item in one.items:
                for group in groups_of(key, item) if item.value is not None else ():
                    items[group].append(item)
            for group, some in items.items():
                out[group][label].append(one.model_copy(update={"items": tuple(some)}))
    return out


def cut_row(name: Cell, by_label: Mapping[str, Sequence[CaseScores]], metric: Metric) -> tuple[Cell, ...]:
    """One row: the group, its cases and prompts under the method with most, and every method's value."""
    cases = max(len(some) for some in by_label.values())
    prompts = max(sum(len(one.items) for one in some) for some in by_label.values())
    return (name, cases, prompts, *(metric.summarise(some).interval for some in by_label.values()))


def breakdowns(run: Run, scores: Scores, metrics: Sequence[Metric]) -> list[FigureTable]:
    """Script efficacy (else the first metric where more is better) by relation; script metrics by step of the cut."""
    chosen = metric_of(metrics, "script_efficacy") or next((m for m in metrics if m.better == "higher"), None)
    out = [] if chosen is None else [_by_relation(run, scores, chosen)]
    steps = _steps(run)
    for metric in metrics:
        if metric.role in ("script_efficacy", "script_locality", "bleed_over"):
            groups = cut(scores, metric, lambda _, item: [steps.get(item.item, "not stated")])
            names = sorted(groups, key=lambda s: (s == "not stated", s))
            rows = [cut_row(name, groups[name], metric) for name in names]
            out.append(_table(f"{metric.title} by step that was cut", "Step", rows, scores))
    return [table for table in out if table.rows]


def _by_relation(run: Run, scores: Scores, metric: Metric) -> FigureTable:
    relations = {key: case.fact.relation.label or case.fact.relation.id for key, case in cases_by_key(run).items()}
    counts = Counter(relations.values())
    ranked = sorted(counts, key=lambda relation: (-counts[relation], relation))
    shown = {relation: relation for relation in ranked[:MOST]}
    others = f"all others ({len(ranked) - MOST} relations)"
    groups = cut(scores, metric, lambda key, _: [shown.get(relations[key], others)])
    rows = [cut_row(name, groups[name], metric) for name in [*ranked[:MOST], others] if name in groups]
    return _table(f"{metric.title} by relation", "Relation", rows, scores)


def _table(title: str, by: str, rows: Sequence[tuple[Cell, ...]], scores: Scores, **more: str) -> FigureTable:
    return FigureTable(title, (by, "Cases", "Prompts", *scores.by_editor), tuple(rows), folded=True, **more)


def _steps(run: Run) -> dict[str, str]:
    """Name of the step by key of the script prompt."""
    out = {}
    for case in cases_by_key(run).values():
        for prompt in [*case.prompts, *(p for n in case.neighbours for p in n.prompts)]:
            step = prompt.step
            name = "not stated" if step is None else f"step {step}" if step < LATE else f"step {LATE} or later"
            out[prompt.key] = name
    return out


def events_by_questions(run: Run, scores: Scores, metrics: Sequence[Metric]) -> list[FigureTable]:
    """Whole events by the number of their questions: one with eight is lost more easily than one with one."""
    rows = []
    for metric in (m for m in metrics if isinstance(m, WholeEventMetric)):
        sizes = {c.key: len(metric.questions(c)) for c in run.split.all_cases if isinstance(c, EventCase)}
        groups = cut(scores, metric, lambda key, _, sizes=sizes: [sizes[key]])  # type: ignore[misc]
        for size in sorted(groups):
            _, events, _, *values = cut_row(None, groups[size], metric)
            rows.append((metric.title, size, events, *values))
    head = ("Metric", "Questions", "Events", *scores.by_editor)
    return (
        [FigureTable("Whole events by the number of their questions", head, tuple(rows), folded=True)] if rows else []
    )


def by_tag(run: Run, scores: Scores, metrics: Sequence[Metric]) -> list[FigureTable]:
    """EM of every tag with enough probes, beside what a constant answer would score (MULFE Figure 7)."""
    metric = next((m for m in metrics if m.name == ExactMatch.name), None)
    asked = asked_probes(run)
    tagged = {tag: [(key, probe) for key, probe in asked if tag in probe.tags] for tag in TAGS}
    tags = [t for t in sorted(TAGS, key=lambda t: (-len(tagged[t]), t)) if len(tagged[t]) >= FEWEST]
    if metric is None or not asked:
        return []
    of_probe = {probe.key: (*probe.tags, ALL) for _, probe in asked}
    groups = cut(scores, metric, lambda _, item: of_probe.get(item.item, ()))
    empty: dict[str, list[CaseScores]] = {label: [] for label in scores.by_editor}
    rows = []
    for tag, some in [*((t, tagged[t]) for t in tags), (ALL, asked)]:
        _, _, _, *values = cut_row(tag, groups.get(tag, empty), metric)
        constant = constant_by_group(some) if tag == ALL else pooled_share(constant_hits(some))
        rows.append((tag, len({key for key, _ in some}), len(some), *values, constant))
    caption = "Constant: the most frequent answer to a tag's (or level's) probes in the other documents."
    head = ("Tag", "Documents", "Probes", *scores.by_editor, "Constant")
    return [FigureTable("EM by tag", head, tuple(rows), caption)]


def constant_by_group(asked: Asked) -> Interval:
    """A constant for each tag (the first of a probe), or for each level where a probe has none, over all probes."""
    groups: dict[str, list[tuple[str, DocumentProbe]]] = defaultdict(list)
    for key, probe in asked:
        groups[probe.tags[0] if probe.tags else f"level {probe.level}"].append((key, probe))
    return pooled_share(hit for group in groups.values() for hit in constant_hits(group))


def asked_probes(run: Run) -> list[tuple[str, DocumentProbe]]:
    """The probes of a run's cases that EM scores, with the keys of these: of one blank at the most, and not kept."""
    wanted = set(run.cases)
    cases = [case for case in run.split.all_cases if isinstance(case, DocumentCase) and case.key in wanted]
    return [(c.key, probe) for c in cases for probe in c.probes if probe.blanks < 2 and probe.group not in KEPT]


def asks_what_follows(run: Run) -> bool:
    """Whether probes ask for what follows from an edited fact (hops, aliases, what must stay), not for a document."""
    return any(probe.group for _, probe in asked_probes(run))


def constant_hits(asked: Asked) -> list[tuple[str, float]]:
    """Whether a constant answers each probe, with the key of its case: the most frequent answer of other documents.

    Case and punctuation are folded; accepted answers count. A document's own answers have no say in its constant, else
    a tag with one probe would score 100 %. Of equally frequent answers the first in the alphabet is taken.
    """
    everywhere = Counter(plain_words(probe.answer) for _, probe in asked)
    answers_of_case: dict[str, Counter[str]] = defaultdict(Counter)
    for key, probe in asked:
        answers_of_case[key][plain_words(probe.answer)] += 1
    hits = []
    for key, probe in asked:
        elsewhere = everywhere - answers_of_case[key]
        constant = min(elsewhere, key=lambda answer: (-elsewhere[answer], answer), default=None)
        hits.append((key, float(constant is not None and constant in {plain_words(a) for a in probe.answers})))
    return hits


COLUMNS = {
    "ppl_edit": "Edit, PPL",
    **{f"{kind}_{n}": f"Level {n}, {kind.upper()}" for n in (1, 2, 3) for kind in ("em", "ppl")},
    **{"em": "Overall, EM", "ppl": "Overall, PPL", "em_spec": "Specificity, EM", "ppl_spec": "Specificity, PPL"},
}
"""Our metrics in the order of MULFE's Tables 2, 3 and 7, with the heads of these."""
SIMPLIFIER = "simplify"


def document_tables(run: Run, table: Comparison) -> list[FigureTable]:
    """The paper's columns and the frontier; what the run has no value for is left out."""
    return [one for one in (_published(run, table), _frontier(table)) if one.rows]


def _published(run: Run, table: Comparison) -> FigureTable:
    """Every method in the columns of the paper, with how documents became statements, and its own settings."""
    shown = [name for name in COLUMNS if any(_mean(row, name) is not None for row in table.rows)]
    strategies = {e.label: str(e.manifest.components.get(SIMPLIFIER, "")).partition("@")[0] for e in run.editors}
    rows: list[tuple[Cell, ...]] = []
    for row in table.rows:
        values = [row.summaries[name].interval.alone if name in row.summaries else None for name in shown]
        rows.append((row.label, strategies[row.label], _settings(row, table), *values))
    caption = "Statements: what makes facts of documents. Settings: what tells a row from others of its method."
    head = ("Method", "Statements", "Settings", *(COLUMNS[name] for name in shown))
    return FigureTable("In the columns of MULFE", head, tuple(rows) if shown else (), caption, folded=True)


def _mean(row: MethodRow, name: str) -> float | None:
    return row.summaries[name].mean if name in row.summaries else None


def _settings(row: MethodRow, table: Comparison) -> str:
    others = [other.params for other in table.rows if other.editor == row.editor and other.label != row.label]
    apart = {k: v for k, v in row.params.items() if any(other.get(k) != v for other in others)}
    return ", ".join(f"{name} {_value(value)}" for name, value in apart.items())


def _value(value: Any) -> str:
    return " + ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _frontier(table: Comparison) -> FigureTable:
    """The methods that no other beats at both efficacy and specificity (MULFE Figure 3), the most specific first."""
    names = (SpecificityMatch.name, ExactMatch.name)
    known = {row.label: [_mean(row, name) for name in names] for row in table.rows}
    pairs = {label: [v for v in means if v is not None] for label, means in known.items() if None not in means}
    rows: list[tuple[Cell, ...]] = []
    for row in sorted((r for r in table.rows if r.label in pairs), key=lambda r: (-pairs[r.label][0], r.label)):
        mine = pairs[row.label]
        better = [k for k, o in pairs.items() if o != mine and all(a >= b for a, b in zip(o, mine, strict=True))]
        values = [row.summaries[name].interval for name in names]
        rows.append((row.label, *values, f"no: {', '.join(better)}" if better else "yes"))
    caption = "On the frontier: no other row is at least as good at both and better at one."
    head = ("Method", "EM, specificity", "EM", "On the frontier")
    return FigureTable("Efficacy against specificity", head, tuple(rows), caption)


SEED = "seed"


def seed_tables(table: Comparison, metrics: Sequence[Metric]) -> list[FigureTable]:
    """A table of each method with two seeds or more, all else equal; only rows that went through all cases.

    Cases are the same under every seed, so the variation is that of the method's own draws. Two or three seeds show
    that there is one; they do not measure it.
    """
    groups: dict[str, list[MethodRow]] = defaultdict(list)
    for row in table.rows:
        if SEED in row.params and not row.pending and not row.failed:
            rest: dict[str, Any] = {k: v for k, v in row.params.items() if k != SEED}
            same = [row.editor, row.variant, row.edits, rest]
            groups[json.dumps(same, sort_keys=True, default=str)].append(row)
    out = []
    for rows in groups.values():
        rows.sort(key=lambda r: str(r.params[SEED]))
        seeds = [str(r.params[SEED]) for r in rows]
        if len(set(seeds)) > 1:
            lines = tuple(line for m in metrics if (line := _over_seeds(m, rows)))
            head = ("Metric", *(f"seed {seed}" for seed in seeds), "Mean", "SD", "Range")
            caption = "The same method on the same cases. This variation is not in the intervals, which are over cases."
            out.append(FigureTable(", ".join(r.label for r in rows), head, lines, caption))
    return out


def _over_seeds(metric: Metric, rows: Sequence[MethodRow]) -> tuple[Cell, ...]:
    """Title, the value under every seed, their mean, standard deviation and range; empty where cases differ."""
    values = [row.summaries[metric.name].interval for row in rows]
    means = [value.mean for value in values if value.mean is not None]
    if len({value.n for value in values}) != 1 or len(means) < len(rows):
        return ()
    figures = (*means, fmean(means), stdev(means), max(means) - min(means))
    return (metric.title, *(values[0].alone._replace(mean=v) for v in figures))
