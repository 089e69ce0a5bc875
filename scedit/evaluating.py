"""Methods scored on a split: the run, its table, plots and report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scedit.facts import frame_of, python_errors
from scedit.models import language_model, named, several
from scedit.progress import RunBars
from schemas.core.errors import UserError

if TYPE_CHECKING:
    from altair import TopLevelMixin
    from pandas import DataFrame

    from curation.splits.split_file import Split
    from evaluation.analysis.comparison import Comparison
    from evaluation.metrics.base import Metric
    from evaluation.runs import results
    from evaluation.runs.config import RunConfig

SUMMARY = ("method", "metric", "mean", "low", "high", "n", "unscored")


class Evaluation:
    """A run that is kept in a folder; figures are scored anew from its answers, and no model is asked.

    Attributes:
        folder: Where everything stands: configuration, split, answers, failures.
    """

    def __init__(self, run: results.Run) -> None:
        self._run, self.folder = run, run.folder

    def __repr__(self) -> str:
        """Folder, model, methods, number of cases."""
        methods = ", ".join(editor.label for editor in self._run.editors)
        return f"Evaluation({str(self.folder)!r}: {self._run.about['model']}, {len(self._run.cases)} cases, {methods})"

    def frame(self, metrics: Sequence[str] | str = (), *, store: Path | str | None = None) -> DataFrame:
        """All scores as one long table, a row for every method, case, item and metric, without and with the edit.

        Args:
            metrics: Only these.
            store: A store with ratings of the run's texts, which then stand in the table too.
        """
        from evaluation.runs.frame import answers_frame

        return answers_frame(self._run, metrics=several(metrics, "metrics"), store=store)

    def summary(self) -> DataFrame:
        """Mean, 95 % interval and number of cases of every method and metric, as the report's first table has them.

        Shares are fractions from 0 to 1. ``low`` and ``high`` are missing where there are too few cases for an
        interval, the mean where nothing was asked or a metric has its value by definition.
        """
        table, metrics = self._table()
        rows = []
        for row in table.rows:
            for metric in metrics:
                found = row.summaries[metric.name]
                ends = (found.interval.low, found.interval.high)
                rows.append((row.label, metric.name, found.mean, *ends, found.cases, found.unscored))
        return frame_of(rows, SUMMARY).astype(dict.fromkeys(("mean", "low", "high"), float))

    def plot(self, metric: str) -> TopLevelMixin:
        """All methods under a metric, means with 95 % intervals: a chart of altair (``.save("fig.pdf")``).

        Args:
            metric: Name (``s_es``) or title (``S-ES``).

        Raises:
            UserError: the run has no such metric, or no value of it.
        """
        from evaluation.report.charts import draw, metric_plot
        from schemas.core.registry import check_choice

        table, metrics = self._table()
        by_name = {m.name: m for m in metrics}
        name = next((m.name for m in metrics if m.title.casefold() == str(metric).casefold()), metric)
        check_choice(str(name), by_name, "metric")
        plot = metric_plot(table, by_name[name])
        if plot is None:
            raise UserError(f"no method has a value of '{name}'", where=str(self.folder))
        return draw(plot, [row.label for row in table.rows]).chart

    @python_errors
    def report(self, out: Path | str | None = None, **options: Any) -> Path:
        """Write the report, as ``scedit report`` does, with its tables beside it; the page's file.

        Args:
            out: A folder or the page's name; the run's folder where left out.
            options: Those of ``evaluation.write_report``: ``store``, ``against``, ``figures`` ...
        """
        from evaluation.report.write import write_report
        from schemas.core.registry import check_choice

        known = list(signature(write_report).parameters)[1:]
        for option in options:
            check_choice(option, known, "option")
        return write_report(self.folder, out=out, **options).files[0]

    def _table(self) -> tuple[Comparison, tuple[Metric, ...]]:
        from evaluation.analysis.comparison import compare
        from evaluation.metrics.generation import metrics_of
        from evaluation.runs.frame import score_run

        metrics = metrics_of(self._run.about)
        scores = score_run(self._run, metrics, self._run.about["normalisation"])
        return compare(self._run, scores, metrics)[0], metrics


@python_errors
def load_run(folder: Path | str, *, metrics: Sequence[type] = ()) -> Evaluation:
    """A run's folder, finished or not.

    Args:
        folder: The folder.
        metrics: Classes of your own among the run's metrics, in another session than that of the run.

    Raises:
        UserError: no run's folder, a damaged one, nothing in it is finished, or a metric of the run is not known.
    """
    from evaluation.metrics import METRICS
    from evaluation.metrics.base import Metric
    from evaluation.runs import results

    for metric in metrics:
        named(metric, METRICS, Metric)
    run = results.load_run(str(folder))
    if unknown := [name for name in run.about["metrics"] if name not in METRICS.names()]:
        fix = "give its class: load_run(folder, metrics=[...])"
        raise UserError(f"the run has a metric '{unknown[0]}', which is not known here", where=str(folder), fix=fix)
    return Evaluation(run)


@python_errors
def evaluate(
    model: Any,
    split: Any,
    editors: Sequence[Any] | Mapping[str, Any] | type,
    *,
    tokenizer: Any = None,
    metrics: Sequence[Any] | str | None = None,
    out: Path | str | None = None,
    retry_failed: bool = False,
    progress: bool = True,
    **options: Any,
) -> Evaluation:
    """Edit a model and score it, as ``scedit run`` does; the same call again computes only what is missing.

    Args:
        model: A name (``embedded``, a folder, a hub name, ``endpoint:NAME``), or a model of transformers, which is put
            into eval mode, gradients of its weights off.
        split: A split, the name of a shipped one (``mini``, ``open:test``), or a split file; of chosen cases:
            ``curation.make_split("mine", cases)``.
        editors: Methods: names, tables such as ``{"name": "ft", "label": "long", "params": {"steps": 50}}``, classes
            of your own (``evaluation.Editor``); or a dictionary of labels and tables. The code of a class is part of
            a run's identity: after a change everything is computed anew.
        tokenizer: The fast tokenizer of a model in memory.
        metrics: Names, classes of your own (``evaluation.Metric``), or a set: ``teacher-forced`` (the paper's six) or
            ``free-text`` (also scripts that the model writes: the default for a model with a chat template).
        out: The run's folder; ``runs/SPLIT-MODEL`` where left out.
        retry_failed: Do cases again that ended in an error.
        progress: Show a bar a method.
        options: All else of a run's configuration: ``limit``, ``device``, ``dtype``, ``regime``, ``engine``,
            ``generation``, ``endpoint`` ... (docs: Evaluate; ``evaluation.RunConfig``).

    Raises:
        UserError: anything that can be mended before or while it runs; finished cases are kept.
    """
    from evaluation.runs.config import config_of
    from evaluation.runs.runner import execute, refuse_stopped

    lm = language_model(model, tokenizer) if tokenizer is not None or not isinstance(model, str | Path) else None
    data: dict[str, Any] = {"model": str(model) if lm is None else lm.name, "out": None if out is None else str(out)}
    if lm is not None:
        _refuse_loading(options)
        data["dtype"] = str(lm.dtype).removeprefix("torch.")
    data |= _named_components(editors, metrics)
    data |= _named_split(split) if isinstance(split, str | Path) else _written(split, data["model"], out)
    config = config_of({**data, **options})
    _refuse_workers(config, in_memory=lm is not None)
    outcomes = execute(config, on_event=RunBars(shown=progress), retry_failed=retry_failed, lm=lm)
    refuse_stopped(outcomes, fix="mend the cause, then evaluate(retry_failed=True)")
    return load_run(config.out)


def _refuse_loading(options: Mapping[str, Any]) -> None:
    """Refuse settings of how a model is loaded, beside one that is."""
    if given := [name for name in ("device", "dtype", "attention", "layout") if options.get(name) is not None]:
        fix = "convert or move the model itself, or give its name"
        raise UserError(f"'{given[0]}' says how a model is loaded, and this one is in memory", fix=fix)


def _refuse_workers(config: RunConfig, *, in_memory: bool) -> None:
    """Refuse to spread over workers what they cannot load by its name."""
    from evaluation.editors import EDITORS

    if config.engine.name != "ray":
        return
    if in_memory:
        fix = "leave engine out, or save the model and name its folder"
        raise UserError("workers load a model by its name, and this one is in memory", where="engine", fix=fix)
    if own := [one.name for one in config.editors.values() if EDITORS.is_added(one.name)]:
        fix = "make a package of it (docs: Add a method), or leave engine out"
        raise UserError(f"workers do not know '{own[0]}', a class of this process", where="engine", fix=fix)


def _named_components(editors: Any, metrics: Any) -> dict[str, Any]:
    """Methods and metrics as a run's configuration names them."""
    from evaluation.editors import EDITORS
    from evaluation.editors.base import Editor
    from evaluation.metrics import METRICS
    from evaluation.metrics.base import Metric

    if isinstance(editors, Mapping):
        tables = {label: {"name": label} | _table(one) for label, one in editors.items()}
        methods: Any = {label: named(one, EDITORS, Editor) for label, one in tables.items()}
    else:
        methods = [named(one, EDITORS, Editor) for one in several(editors, "editors")]
    if metrics is None or isinstance(metrics, str):
        return {"editors": methods, "metrics": metrics}
    return {"editors": methods, "metrics": [named(one, METRICS, Metric) for one in several(metrics, "metrics")]}


def _table(one: Any) -> dict[str, Any]:
    """What a label's method is: a table, or its name or class alone."""
    return dict(one) if isinstance(one, Mapping) else {"name": one}


def _named_split(split: str | Path) -> dict[str, Any]:
    """A shipped split or a file, as the run's configuration names it."""
    name = str(split)
    return {"split": {"file": name} if Path(name).suffix else name}


def _written(split: Split, model: str, out: Path | str | None) -> dict[str, Any]:
    """A split in memory as the run's configuration names it: by a shipped name, or as the file in the run's folder."""
    from curation.shipped import SPLITS, shipped_split
    from curation.splits.split_file import Split, cases_digest, write_split
    from evaluation.runs.config import default_out
    from evaluation.runs.results import split_file

    if not isinstance(split, Split):
        allowed = "a split, the name of a shipped one, a split file"
        fix = "cases become one by curation.make_split(name, cases), facts by scedit.construct(facts).freeze(name)"
        raise UserError(f"a {type(split).__name__} is no split", allowed=allowed, fix=fix)
    if cases_digest(split.all_cases) != split.digest:
        fix = "make one of these cases: curation.make_split(name, cases)"
        raise UserError("the split's cases were changed: its digest is of others", where=split.name, fix=fix)
    shipped = [name for name in SPLITS if name.replace(":", "-") == split.name]  # the parts of ``open``, too
    if any(shipped_split(name).digest == split.digest for name in shipped):
        return {"split": shipped[0]}
    folder = Path(out) if out is not None else default_out(split.name, model)
    path = folder / split_file(split.digest)
    if not path.exists():
        write_split(split, path)
    return {"split": {"file": str(path)}, "out": str(folder)}
