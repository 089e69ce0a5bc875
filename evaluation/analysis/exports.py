"""Finished runs for other programs: all answers, scores and figures as Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from curation.export.parquet import Column, text_column, write_tables
from evaluation.analysis.comparison import compare
from evaluation.metrics.base import Metric, Normalisation
from evaluation.metrics.generation import metrics_of
from evaluation.runs.frame import Scores, chosen_metrics, score_rows, score_run
from evaluation.runs.results import EditorRun, Run, all_cases_by_key
from evaluation.runs.validity_variants import asked_case
from schemas.answers import Answer
from schemas.cases import Case
from schemas.probes import Probe

_WHERE = (
    text_column("run", "name of the run's folder"),
    text_column("method", "label of the method; none: the unedited model"),
    text_column("editor", "the method behind the label"),
    text_column("regime", "how edits were made"),
    text_column("case", "key of the case"),
)
TABLES: Mapping[str, tuple[Column, ...]] = {
    "answers": (
        *_WHERE,
        text_column("kind", "what the case edits"),
        text_column("subject", "subject of the edited fact; null for events and documents"),
        text_column("relation", "its relation"),
        text_column("old", "old object"),
        text_column("new", "new object"),
        Column("after", "INTEGER", "edits in the model, in a batch or sequence; else null"),
        text_column("probe", "id of the probe; joins with scores"),
        text_column("purpose", "what it was asked for; null where no metric of the run asks it any more"),
        text_column("item", "the record that the prompt comes from"),
        text_column("neighbour", "the neighbour fact, or null"),
        text_column("prompt", "the prompt, before the edit changed it"),
        text_column("separator", "what stands between prompt and target"),
        Column("targets", "VARCHAR[]", "scored targets"),
        Column("logprobs", "DOUBLE[]", "their log-probabilities, sums in nats"),
        Column("tokens", "INTEGER[]", "their numbers of tokens"),
        Column("greedy", "BOOLEAN[]", "whether greedy writing begins with each; null where it was not asked"),
        Column("matched", "INTEGER[]", "tokens that are the most probable ones; null where it was not asked"),
        Column("next_ids", "INTEGER[]", "most probable next tokens, best first; null where they were not asked"),
        Column("next_logprobs", "DOUBLE[]", "their log-probabilities"),
        text_column("text", "the written text, or null"),
        text_column("ended", "how it ended: eos, stop or length"),
        Column("written_tokens", "INTEGER", "its tokens, those of a thought among them"),
        text_column("thought", "what was thought before the text, or null"),
        Column("unfinished", "BOOLEAN", "the thought has no end: no answer; null where no text was written"),
        Column("truncated", "BOOLEAN", "the prompt lost its beginning"),
        text_column("error", "why there is no answer, or null"),
    ),
    "scores": (
        *(_WHERE[0], _WHERE[1], _WHERE[3], _WHERE[4]),
        text_column("item", "the record that the prompt comes from"),
        text_column("metric", "name of the metric"),
        Column("before", "DOUBLE", "the score without an edit; null where there is none"),
        Column("after", "DOUBLE", "the score; null where it is unscored"),
        text_column("text", "the written text, or null"),
        Column("rating", "INTEGER", "null; ratings are in the frame of a run that is given a store"),
        text_column("source", "who rated, or null"),
        text_column("neighbour", "the neighbour fact, or null"),
        text_column("probe", "id of the probe; joins with answers"),
        text_column("reason", "why it is unscored, or that the prompt was truncated; null where neither"),
        Column("weight", "DOUBLE", "what it counts in a pooled mean"),
        Column("tie", "BOOLEAN", "two targets are equal"),
    ),
    "figures": (
        *_WHERE[:4],
        text_column("cases_of", "all, or the kind of edit"),
        text_column("metric", "name of the metric"),
        text_column("better", "higher or lower"),
        text_column("unit", "fraction, perplexity, nats ..."),
        Column("mean", "DOUBLE", "mean of case means, or over questions"),
        Column("low", "DOUBLE", "low end of its 95 % interval"),
        Column("high", "DOUBLE", "high end"),
        text_column("interval", "kind of the interval"),
        Column("n", "INTEGER", "cases that count"),
        Column("items", "INTEGER", "prompts scored"),
        Column("unscored", "INTEGER", "prompts without a value"),
        Column("gain", "DOUBLE", "paired difference to no edit; a ratio of perplexities"),
        Column("gain_low", "DOUBLE", "low end of its 95 % interval"),
        Column("gain_high", "DOUBLE", "high end"),
    ),
}
"""Columns of every table, in order."""


ScoredRun = tuple[Run, Sequence[Metric], Scores]
"""A run with the metrics that are exported, and their scores."""


def write_run_tables(
    runs: Sequence[Run], folder: Path, *, metrics: Sequence[str] = (), normalisation: Normalisation | None = None
) -> dict[str, int]:
    """Write ``answers.parquet``, ``scores.parquet`` and ``figures.parquet``; returns the rows of each.

    Args:
        runs: Run folders read back.
        folder: Where to.
        metrics: Only these metrics in scores and figures; all of each run where none is given.
        normalisation: If not that of the run.

    Raises:
        UserError: a run has no such metric.
    """
    return write_tables(_scored(runs, metrics, normalisation), folder, tables=TABLES, rows=_ROWS)


def _scored(runs: Sequence[Run], names: Sequence[str], normalisation: Normalisation | None) -> Iterator[ScoredRun]:
    for run in runs:
        metrics = chosen_metrics(run, names)
        yield run, metrics, score_run(run, metrics, normalisation or run.about["normalisation"])


def _where(run: Run, editor: EditorRun) -> tuple[str, str, str, str]:
    return run.folder.resolve().name, editor.label, editor.manifest.editor, editor.manifest.regime


def _answers(scored: ScoredRun) -> Iterator[tuple[Any, ...]]:
    run = scored[0]
    cases, metrics = all_cases_by_key(run), metrics_of(run.about)
    for editor in run.editors:
        for key, result in editor.results.items():
            case, edit = cases[key], (None,) * 4
            shown = asked_case(case, editor.manifest.components)
            asked: list[Probe] = [probe for metric in metrics for probe in metric.probes(shown)]
            probes = {probe.id: probe for probe in reversed(asked)}  # the first metric's wording, where several ask it
            if isinstance(case, Case):
                fact = case.fact
                new = fact.new.text if fact.new else None
                edit = (fact.subject.text, fact.relation.id, fact.old.text, new)  # type: ignore[assignment]
            head = (*_where(run, editor), key, case.group, *edit, result.after)
            for answer in result.answers or [Answer(probe="", error=result.error or "no answer")]:
                yield (*head, *_answer_cells(answer, probes.get(answer.probe)))


def _answer_cells(answer: Answer, probe: Probe | None) -> tuple[Any, ...]:
    """One answer's cells, from its probe on."""
    probe_columns: tuple[str | None, ...] = (None,) * 5
    if probe is not None:
        probe_columns = (probe.purpose, probe.item, probe.cluster, probe.prompt, probe.separator)
    targets, following, written = answer.targets, answer.next_tokens, answer.written
    greedy = [t.greedy for t in targets] if any(t.greedy is not None for t in targets) else None
    matched = [t.matched for t in targets] if any(t.matched is not None for t in targets) else None
    text: tuple[Any, ...] = (None,) * 5
    if written is not None:
        text = (written.text, written.ended, written.tokens, written.thought, written.unfinished)
    return (
        answer.probe or None,
        *probe_columns,
        *([t.text for t in targets], [t.logprob for t in targets], [t.tokens for t in targets], greedy, matched),
        *((None, None) if following is None else (list(following.ids), list(following.logprobs))),
        *text,
        *(answer.truncated, answer.error),
    )


def _scores(scored: ScoredRun) -> Iterator[tuple[Any, ...]]:
    run, metrics, scores = scored
    for row, item in score_rows(run, scores, metrics):
        yield (run.folder.resolve().name, *row, item.weight, item.tie)


def _figures(scored: ScoredRun) -> Iterator[tuple[Any, ...]]:
    run, metrics, scores = scored
    by_label = {e.label: e for e in run.editors}
    for table in compare(run, scores, metrics):
        for row, m in product(table.rows, metrics):
            summary, gain = row.summaries[m.name], row.gain[m.name]
            value = summary.interval
            head = (*_where(run, by_label[row.label]), table.group, m.name, m.better, m.unit)
            counts = (summary.cases, summary.items, summary.unscored)
            yield (*head, value.mean, value.low, value.high, value.told, *counts, gain.mean, gain.low, gain.high)


_ROWS = {"answers": _answers, "scores": _scores, "figures": _figures}
