"""Finished runs for other programs: all answers, scores and figures as Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from curation.export.parquet import Column, text_column, write_tables
from evaluation.analysis.comparison import compare
from evaluation.metrics.base import Metric, Normalisation
from evaluation.metrics.generation import metrics_of
from evaluation.runs.frame import Scores, chosen_metrics, score_rows, score_run
from evaluation.runs.results import EditorRun, Run, all_cases_by_key
from evaluation.runs.validity_variants import asked_case
from schemas.answers import Answer
from schemas.cases import AnyCase, Case
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


class ExportedRun(NamedTuple):
    """A run with the metrics that are exported, their scores, and all metrics that asked something."""

    run: Run
    metrics: Sequence[Metric]
    scores: Scores
    normalisation: Normalisation
    asked: Sequence[Metric]


def exported_run(run: Run, names: Sequence[str], normalisation: Normalisation | None) -> ExportedRun:
    """A run to export.

    Args:
        run: A run folder read back.
        names: Only these of its metrics; all where none is given.
        normalisation: If not that of the run.

    Raises:
        UserError: the run has no such metric.
    """
    metrics, averaging = chosen_metrics(run, names), normalisation or run.about["normalisation"]
    return ExportedRun(run, metrics, score_run(run, metrics, averaging), averaging, metrics_of(run.about))


def asked_probes(exported: ExportedRun, editor: EditorRun, case: AnyCase) -> dict[str, Probe]:
    """What the run's metrics ask of a case by id; the first metric's wording where several ask the same."""
    shown = asked_case(case, editor.manifest.components)
    probes: list[Probe] = [p for m in exported.asked for p in m.probes(shown)]
    return {p.id: p for p in reversed(probes)}


def write_run_tables(
    runs: Sequence[Run], folder: Path, *, metrics: Sequence[str] = (), normalisation: Normalisation | None = None
) -> dict[str, int]:
    """Write ``answers.parquet``, ``scores.parquet`` and ``figures.parquet``; returns the rows of each.

    Args:
        runs: Run folders read back.
        folder: Where to.
        metrics: Only these metrics in scores and figures; all of each run where none is given.
        normalisation: If not that of the run.
    """
    exported = (exported_run(run, metrics, normalisation) for run in runs)
    return write_tables(exported, folder, tables=TABLES, rows=_ROWS)


def _where(run: Run, editor: EditorRun) -> tuple[str, str, str, str]:
    return run.folder.resolve().name, editor.label, editor.manifest.editor, editor.manifest.regime


def _answers(exported: ExportedRun) -> Iterator[tuple[Any, ...]]:
    cases = all_cases_by_key(exported.run)
    for editor in exported.run.editors:
        for key, result in editor.results.items():
            case, edit = cases[key], (None,) * 4
            probes = asked_probes(exported, editor, case)
            if isinstance(case, Case):
                fact = case.fact
                new = fact.new.text if fact.new else None
                edit = (fact.subject.text, fact.relation.id, fact.old.text, new)  # type: ignore[assignment]
            head = (*_where(exported.run, editor), key, case.group, *edit, result.after)
            for answer in result.answers or [Answer(probe="", error=result.error or "no answer")]:
                yield (*head, *_answer_cells(answer, probes.get(answer.probe)))


def _answer_cells(answer: Answer, probe: Probe | None) -> tuple[Any, ...]:
    """One answer's cells, from its probe on."""
    probe_columns: tuple[str | None, ...] = (None,) * 5
    if probe is not None:
        probe_columns = (probe.purpose, probe.item, probe.cluster, probe.prompt, probe.separator)
    targets, following = answer.targets, answer.next_tokens
    greedy = [t.greedy for t in targets] if any(t.greedy is not None for t in targets) else None
    matched = [t.matched for t in targets] if any(t.matched is not None for t in targets) else None
    return (
        answer.probe or None,
        *probe_columns,
        *([t.text for t in targets], [t.logprob for t in targets], [t.tokens for t in targets], greedy, matched),
        *((None, None) if following is None else (list(following.ids), list(following.logprobs))),
        *_written_cells(answer),
        *(answer.truncated, answer.error),
    )


def _written_cells(answer: Answer) -> tuple[Any, ...]:
    """Text, how it ended, tokens, thought, whether that has no end."""
    written = answer.written
    if written is None:
        return (None,) * 5
    return written.text, written.ended, written.tokens, written.thought, written.unfinished


def _scores(exported: ExportedRun) -> Iterator[tuple[Any, ...]]:
    name = exported.run.folder.resolve().name
    for row, item in score_rows(exported.run, exported.scores, exported.metrics):
        yield (name, *row, item.weight, item.tie)


def _figures(exported: ExportedRun) -> Iterator[tuple[Any, ...]]:
    by_label = {e.label: e for e in exported.run.editors}
    for table in compare(exported.run, exported.scores, exported.metrics):
        for row in table.rows:
            for m in exported.metrics:
                summary, gain = row.summaries[m.name], row.gain[m.name]
                value = summary.interval
                head = (*_where(exported.run, by_label[row.label]), table.group, m.name, m.better, m.unit)
                counts = (summary.cases, summary.items, summary.unscored)
                ends = (value.mean, value.low, value.high, value.told)
                yield (*head, *ends, *counts, gain.mean, gain.low, gain.high)


_ROWS = {"answers": _answers, "scores": _scores, "figures": _figures}
