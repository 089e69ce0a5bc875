"""All answers, scores and figures of runs as flat tables: Parquet files, or pandas data frames; keys join them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curation.export.columns import Column, text_column
from curation.export.parquet import write_tables
from evaluation.analysis.comparison import compare, score_run
from evaluation.analysis.exports.run_units import RunUnit, asked_probes, run_units
from evaluation.metrics.base import Normalisation
from evaluation.runs.results import EditorRun, Run
from schemas.answers import Answer
from schemas.cases import Case
from schemas.core.errors import UserError
from schemas.probes import Probe

if TYPE_CHECKING:
    from pandas import DataFrame

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
        *_WHERE,
        text_column("metric", "name of the metric"),
        text_column("probe", "id of the probe; joins with answers"),
        text_column("item", "the record that the prompt comes from"),
        text_column("neighbour", "the neighbour fact, or null"),
        Column("value", "DOUBLE", "the score; null where it is unscored"),
        Column("weight", "DOUBLE", "what it counts in a pooled mean"),
        Column("tie", "BOOLEAN", "two targets are equal"),
        text_column("reason", "why it is unscored, or that the prompt was truncated; null where neither"),
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
    units = (unit for run in runs for unit in run_units(run, metrics, normalisation))
    return write_tables(units, folder, tables=TABLES, rows=_ROWS)


def run_frames(
    runs: Sequence[Run], *, metrics: Sequence[str] = (), normalisation: Normalisation | None = None
) -> dict[str, DataFrame]:
    """The same tables as pandas data frames, by name.

    Raises:
        UserError: pandas is not installed.
    """
    try:
        from pandas import DataFrame
    except ImportError:
        raise UserError(
            "data frames need pandas, which is not installed", fix="pip install pandas, or write Parquet files instead"
        ) from None
    rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in TABLES}
    for run in runs:
        for unit in run_units(run, metrics, normalisation):
            for name, make in _ROWS.items():
                rows[name] += make(unit)
    return {name: DataFrame(rows[name], columns=[c.name for c in columns]) for name, columns in TABLES.items()}


def _where(run: Run, editor: EditorRun) -> tuple[str, str, str, str]:
    return run.folder.resolve().name, editor.label, editor.manifest.editor, editor.manifest.regime


def _answers(unit: RunUnit) -> Iterator[tuple[Any, ...]]:
    if unit.editor is None or unit.case is None:
        return
    result, case = unit.editor.results[unit.case.key], unit.case
    probes = asked_probes(unit)
    edit: tuple[str | None, ...] = (None,) * 4
    if isinstance(case, Case):
        fact = case.fact
        edit = (fact.subject.text, fact.relation.id, fact.old.text, fact.new.text if fact.new else None)
    for answer in result.answers or [Answer(probe="", error=result.error or "no answer")]:
        head = (*_where(unit.run, unit.editor), case.key, case.group, *edit, result.after)
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


def _scores(unit: RunUnit) -> Iterator[tuple[Any, ...]]:
    if unit.case is not None:
        return
    scores = score_run(unit.run, unit.metrics, unit.normalisation)
    for editor in unit.run.editors:
        for metric in unit.metrics:
            for key, score in scores.by_editor[editor.label][metric.name].items():
                for i in score.items:
                    head = (*_where(unit.run, editor), key, metric.name, i.probe, i.item, i.cluster)
                    yield (*head, i.value, i.weight, i.tie, i.reason or None)


def _figures(unit: RunUnit) -> Iterator[tuple[Any, ...]]:
    if unit.case is not None:
        return
    by_label = {e.label: e for e in unit.run.editors}
    for table in compare(unit.run, score_run(unit.run, unit.metrics, unit.normalisation), unit.metrics):
        for row in table.rows:
            for m in unit.metrics:
                summary, gain = row.summaries[m.name], row.gain[m.name]
                value = summary.interval
                head = (*_where(unit.run, by_label[row.label]), table.group, m.name, m.better, m.unit)
                counts = (summary.cases, summary.items, summary.unscored)
                spread = (value.mean, value.low, value.high, value.kind)
                yield (*head, *spread, *counts, gain.mean, gain.low, gain.high)


_ROWS = {"answers": _answers, "scores": _scores, "figures": _figures}
