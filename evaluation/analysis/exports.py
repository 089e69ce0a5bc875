"""Finished runs for other programs: all answers, scores and figures as Parquet files, and logs of Inspect.

An Inspect log is one JSON file a method (``inspect_ai.log.EvalLog``, version 2). A sample is one probe of one case; its
scores are those of the metrics that read it. What belongs to a case and to no probe (whole events, results that failed)
is a sample named by the case. An unscored value is in the sample's metadata with its reason. Figures are those of our
tables, not recomputed from samples. https://inspect.aisi.org.uk/reference/inspect_ai.log.html
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from curation.export.parquet import Column, text_column, write_tables
from curation.files.atomic import atomic_path
from evaluation.analysis.comparison import MethodRow, compare
from evaluation.engines.base import prompt_as_read
from evaluation.metrics.base import Metric, Normalisation
from evaluation.metrics.generation import metrics_of
from evaluation.runs.frame import Scores, chosen_metrics, score_rows, score_run
from evaluation.runs.results import EditorRun, Run, all_cases_by_key
from evaluation.runs.validity_variants import asked_case
from schemas.answers import Answer, GeneratedText, ItemScore
from schemas.cases import AnyCase, Case
from schemas.core.errors import UserError
from schemas.core.ids import content_id, slug
from schemas.probes import Probe, instructed
from schemas.runs import CaseResult

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


FORMAT = 2
STOP_REASONS = {"eos": "stop", "stop": "stop", "length": "max_tokens"}
"""How a text ended, in Inspect's words."""


class _Unit(NamedTuple):
    """One result of one method of a run."""

    whole: ExportedRun
    editor: EditorRun
    case: AnyCase
    result: CaseResult


class WrittenLog(NamedTuple):
    """A log that was written: its file, the method's label, its samples."""

    path: Path
    label: str
    samples: int


def write_inspect_logs(
    runs: Sequence[Run], folder: Path, *, metrics: Sequence[str] = (), normalisation: Normalisation | None = None
) -> list[WrittenLog]:
    """Write one log for each method of each run.

    Args:
        runs: Run folders read back.
        folder: Where to.
        metrics: Only the scores of these metrics; all of each run where none is given.
        normalisation: If not that of the run.

    Raises:
        UserError: a run has no such metric, or two of the runs hold the same method's results.
    """
    written: list[WrittenLog] = []
    for run in runs:
        whole = exported_run(run, metrics, normalisation)
        rows = {row.label: row for row in compare(run, whole.scores, whole.metrics)[0].rows}
        for editor in run.editors:
            log = _log(whole, editor, rows.get(editor.label))
            path = folder / _file_name(log["eval"])
            if path.exists():
                raise UserError(f"two runs hold the same results of '{editor.label}'", fix="name each run once")
            with atomic_path(path, "the log", fsync=False) as partial, open(partial, "w", encoding="utf-8") as file:
                json.dump(log, file, allow_nan=False)
            written.append(WrittenLog(path, editor.label, len(log["samples"])))
    return written


def _file_name(spec: Mapping[str, Any]) -> str:
    """The name by which Inspect finds logs in a folder: time, task, id."""
    time = spec["created"].replace(":", "-")
    return f"{time}_{slug(spec['task_display_name'])[:80]}_{spec['eval_id']}.json"


def _log(whole: ExportedRun, editor: EditorRun, row: MethodRow | None) -> dict[str, Any]:
    """The log of one method: its specification, its figures, its samples."""
    cases = all_cases_by_key(whole.run)
    units = (_Unit(whole, editor, cases[key], result) for key, result in editor.results.items())
    samples = [sample for unit in units for sample in _samples(unit)]
    finished = len(editor.results) == len(whole.run.cases)
    spec = _spec(whole, editor, len(samples))
    return {
        "version": FORMAT,
        "status": "success" if finished else "started",
        "eval": spec,
        "plan": {"name": "plan", "steps": [{"solver": spec["solver"], "params": spec["solver_args"]}]},
        "results": {
            "total_samples": len(samples),
            "completed_samples": sum(s.get("error") is None for s in samples),
            "scores": [] if row is None else _log_figures(whole, row),
        },
        "stats": {"started_at": spec["created"], "completed_at": ""},
        "samples": samples,
    }


def _spec(whole: ExportedRun, editor: EditorRun, samples: int) -> dict[str, Any]:
    manifest, description = editor.manifest, whole.run.about
    split = f"{whole.run.split.name}@{whole.run.split.version}"
    environment = editor.environment
    settings = {
        "method": editor.label,
        "method_version": manifest.editor_version,
        "regime": manifest.regime,
        "model_revision": manifest.model_revision,
        "dtype": manifest.dtype,
        "split_digest": manifest.split_digest,
        "normalisation": whole.normalisation,
        "components": manifest.components,
        "generation": description.get("config", {}).get("generation"),
        "device": environment.get("device"),
    }
    return {
        "run_id": content_id("inspect run", [description["split_digest"], list(whole.run.cases), manifest.model]),
        "eval_id": content_id("inspect eval", [manifest.key, list(whole.run.cases), whole.run.folder.resolve().name]),
        "created": str(environment["at"]).replace("Z", "+00:00"),
        "task": f"scedit/{whole.run.split.name}",
        "task_id": content_id("inspect task", [description["split_digest"], manifest.key]),
        "task_version": str(whole.run.split.version),
        "task_display_name": f"{whole.run.split.name}: {editor.label}",
        "solver": manifest.editor,
        "solver_args": manifest.params,
        "tags": list(dict.fromkeys([editor.label, manifest.regime])),
        "dataset": {"name": split, "samples": samples, "shuffled": False},
        "model": manifest.model,
        "config": {},
        "packages": {name: number for name, number in environment.get("packages", {}).items() if number},
        "scorers": [
            {
                "name": m.name,
                "options": {"version": m.version},
                "metadata": {"title": m.title, "better": m.better, "unit": m.unit},
            }
            for m in whole.metrics
        ],
        "metadata": settings,
    }


def _log_figures(whole: ExportedRun, row: MethodRow) -> list[dict[str, Any]]:
    """Every metric with its mean, interval and gain over no edit; what is undefined is left out."""
    out = []
    for metric in whole.metrics:
        summary, gain = row.summaries[metric.name], row.gain[metric.name]
        interval = summary.interval
        values = {"mean": interval.mean, "low_95": interval.low, "high_95": interval.high}
        values |= {"gain": gain.mean, "gain_low_95": gain.low, "gain_high_95": gain.high}
        out.append(
            {
                "name": metric.name,
                "scorer": metric.name,
                "scored_samples": summary.items - summary.unscored,
                "unscored_samples": summary.unscored,
                "metrics": {
                    name: {"name": name, "value": value}
                    for name, value in values.items()
                    if value is not None and math.isfinite(value)
                },
                "metadata": {"cases": summary.cases, "interval": interval.told, "better": metric.better},
            }
        )
    return out


def _samples(unit: _Unit) -> Iterator[dict[str, Any]]:
    """The samples of one case: one for each answer, then one for what no answer holds."""
    key, result = unit.case.key, unit.result
    probes = asked_probes(unit.whole, unit.editor, unit.case)
    items: dict[str, dict[str, list[ItemScore]]] = defaultdict(dict)
    for metric in unit.whole.metrics:
        case_scores = unit.whole.scores.by_editor[unit.editor.label][metric.name].get(key)
        for item in () if case_scores is None else case_scores.items:
            items[item.probe].setdefault(metric.name, []).append(item)
    for answer in result.answers:
        yield _sample(unit, answer, probes.get(answer.probe), items.pop(answer.probe, {}))
    if items or not result.answers:
        of_case: dict[str, list[ItemScore]] = defaultdict(list)
        for by_metric in items.values():
            for name, scored in by_metric.items():
                of_case[name] += scored
        empty = Answer(probe="", error=result.error if result.answers else result.error or "no answer")
        yield _sample(unit, empty, None, of_case)


def _sample(
    unit: _Unit, answer: Answer, probe: Probe | None, items: Mapping[str, Sequence[ItemScore]]
) -> dict[str, Any]:
    result = unit.result
    text = unit.case.key if probe is None else instructed(probe, lambda _: prompt_as_read(probe, result.notes))
    likeliest = _likeliest(answer, unit.whole.normalisation)
    sample: dict[str, Any] = {
        "id": f"{unit.case.key}/{answer.probe}" if answer.probe else unit.case.key,
        "epoch": 1,
        "input": text,
        "target": [target.text for target in answer.targets],
        "output": {"model": unit.editor.manifest.model, "choices": []},
        "scores": {name: score for name, some in items.items() if (score := _score(some, likeliest)) is not None},
        "metadata": _metadata(unit.case, result, answer, probe, items),
        "total_time": result.seconds_edit + result.seconds_score if not answer.probe else None,
    }
    if (written := answer.written) is not None:
        message = {"role": "assistant", "content": _content(written), "source": "generate"}
        sample["messages"] = [{"role": "user", "content": text, "source": "input"}, message]
        usage = {"input_tokens": 0, "output_tokens": written.tokens, "total_tokens": written.tokens}
        sample["output"] |= {
            "choices": [{"message": message, "stop_reason": STOP_REASONS[written.ended]}],
            "completion": written.text,
            "usage": usage,
        }
    if answer.error is not None:
        sample["error"] = {"message": answer.error, "traceback": "", "traceback_ansi": ""}
    return sample


def _content(written: GeneratedText) -> str | list[dict[str, str]]:
    """A text as a message's content; a thought before it is a part of its own."""
    if written.thought is None:
        return written.text
    return [{"type": "reasoning", "reasoning": written.thought}, {"type": "text", "text": written.text}]


def _likeliest(answer: Answer, normalisation: Normalisation) -> str | None:
    """The target that the model finds likeliest, where there are several to choose from."""
    if len(answer.targets) < 2:
        return None
    return max(answer.targets, key=lambda target: target.value(normalisation)).text


def _score(items: Sequence[ItemScore], likeliest: str | None) -> dict[str, Any] | None:
    """The score of one metric: the weighted mean where it scores a probe several times; None where it is unscored."""
    scored = [(item.value, item.weight) for item in items if item.value is not None and math.isfinite(item.value)]
    total = sum(weight for _, weight in scored)
    if not total:
        return None
    score: dict[str, Any] = {"value": sum(value * weight for value, weight in scored) / total}
    score |= {} if likeliest is None else {"answer": likeliest}
    notes = [item.reason for item in items if item.reason] + ["tie" for item in items if item.tie]
    return score | ({"explanation": "; ".join(dict.fromkeys(notes))} if notes else {})


def _metadata(
    case: AnyCase, result: CaseResult, answer: Answer, probe: Probe | None, items: Mapping[str, Sequence[ItemScore]]
) -> dict[str, Any]:
    """What Inspect has no field for; absent values are left out."""
    data: dict[str, Any] = {"case": case.key, "kind": case.group, "edits": result.after}
    if isinstance(case, Case):
        fact = case.fact
        data |= {"subject": fact.subject.text, "relation": fact.relation.id, "old": fact.old.text}
        data |= {"new": fact.new.text if fact.new else None}
    if probe is not None:
        data |= {"purpose": probe.purpose, "item": probe.item, "neighbour": probe.cluster}
    if answer.targets:
        data["logprobs"] = [t.logprob if math.isfinite(t.logprob) else None for t in answer.targets]
        data["target_tokens"] = [t.tokens for t in answer.targets]
    if answer.next_tokens is not None:
        data["next_ids"] = list(answer.next_tokens.ids)
        data["next_logprobs"] = [v if math.isfinite(v) else None for v in answer.next_tokens.logprobs]
    unscored = {name: some[0].reason for name, some in items.items() if all(i.value is None for i in some)}
    data |= {"unscored": unscored or None, "truncated": answer.truncated or None}
    data |= {"chat": answer.written.chat if answer.written else None}
    return {name: value for name, value in data.items() if value is not None}
