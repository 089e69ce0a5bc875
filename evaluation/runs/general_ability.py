"""General ability before and after editing, through the language model evaluation harness (the extra ``harness``).

Editing can ruin a model for everything else. The harness (EleutherAI's lm-evaluation-harness, package ``lm-eval``) asks
the tasks of its own collection, or of a folder of yours, of the model as it stands in memory: first unedited, then with
the edits, undone afterwards.
"""

from __future__ import annotations

import contextlib
import logging
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from curation.stats.bounded import difference_interval
from curation.stats.intervals import Interval
from schemas.core.errors import UserError

if TYPE_CHECKING:
    from evaluation.edits.edit import Edit
    from evaluation.models.language_model import LM

log = logging.getLogger(__name__)


class Ability(NamedTuple):
    """One task's metric.

    Attributes:
        task: As the harness names it.
        metric: Likewise, with its filter where that is not ``none``.
        value: As the harness gives it.
        documents: Number of documents asked.
        better: Whether higher values are better; None where the harness does not say.
        by_document: Id of a document -> its value; empty where the metric is no mean over documents, and ``why`` says
            what it is.
    """

    task: str
    metric: str
    value: float
    documents: int
    better: bool | None
    by_document: Mapping[str, float] = MappingProxyType({})
    why: str = ""


class AbilityChange(NamedTuple):
    """A task's metric before and after, and its difference.

    ``difference`` has the library's 95 % interval of a paired difference, by document; no ends where there is a single
    document or the metric is no mean over documents.
    """

    before: Ability
    after: Ability
    difference: Interval


def ability(
    lm: LM,
    tasks: Sequence[str],
    *,
    edit: Edit | None = None,
    limit: int | None = None,
    include: Path | None = None,
    batch_size: int = 8,
) -> list[Ability]:
    """Ask tasks of the model, under an edit or as it is.

    What the harness prints goes to standard error: standard output belongs to the command's own answer.

    Args:
        lm: The model; its weights are as before afterwards.
        tasks: Names of tasks of the harness or of ``include``.
        edit: An edit that changes weights; the unedited model where it is not given.
        limit: Only so many documents of each task.
        include: Folder with task files (YAML) of your own.
        batch_size: Documents at a time.

    Raises:
        UserError: the extra is not installed, a task is not known, or the edit lives in the prompt.
    """
    if edit is not None and not edit.deltas and edit.deltas is not None:
        raise UserError(
            "this edit changes no weights: it lives in the prompt, and the harness writes prompts of its own",
            fix="take a method that edits weights, such as ft or rome",
        )
    edited = contextlib.nullcontext() if edit is None else edit.on(lm)
    with edited, contextlib.redirect_stdout(sys.stderr):
        return _measure_abilities(lm, tasks, limit=limit, include=include, batch_size=batch_size)


def _measure_abilities(
    lm: LM, tasks: Sequence[str], *, limit: int | None, include: Path | None, batch_size: int
) -> list[Ability]:
    try:
        from lm_eval import simple_evaluate
        from lm_eval.models.huggingface import HFLM
        from lm_eval.tasks import TaskManager
    except ModuleNotFoundError as error:
        raise UserError(
            f"the language model evaluation harness is not installed ({error.name})",
            fix="run: pip install 'scedit[harness]'",
        ) from None
    manager = TaskManager(include_path=str(include), include_defaults=False) if include is not None else TaskManager()
    if include is not None and not all(manager.match_tasks([t]) for t in tasks):
        manager = TaskManager(include_path=str(include))  # reading the harness's own collection takes a while
    unknown = [t for t in tasks if not manager.match_tasks([t])]
    if unknown or not tasks:
        raise UserError(
            f"no such task: {', '.join(unknown) or 'none is named'}",
            fix="see: lm-eval ls tasks; a folder of your own tasks is named with --include",
        )
    model = HFLM(pretrained=lm.model, tokenizer=lm.tokenizer, batch_size=batch_size)
    results = simple_evaluate(
        model=model,
        tasks=list(tasks),
        limit=limit,
        task_manager=manager,
        bootstrap_iters=0,
        log_samples=True,
        random_seed=0,
        numpy_random_seed=0,
        torch_random_seed=0,
        fewshot_random_seed=0,
    )
    return _read(results)


_SAME = 1e-6  # the harness's mean and ours of the same values, relative
_GROUP = "a group of tasks: see each of them"
_NO_MEAN = "no mean over documents"


def _read(results: Mapping[str, Any]) -> list[Ability]:
    """The harness's results: metrics are named ``metric,filter``; values by document stand in its samples."""
    out = []
    for task, values in results["results"].items():
        documents = results.get("n-samples", {}).get(task, {}).get("effective", 0)
        better = results.get("higher_is_better", {}).get(task) or {}
        group = bool(results.get("group_subtasks", {}).get(task)) or task in results.get("groups", {})
        for name, value in values.items():
            metric, comma, filtered = name.partition(",")
            if (
                not comma
                or metric.endswith("_stderr")
                or isinstance(value, bool)
                or not isinstance(value, (int, float))
            ):
                continue
            known = {} if group else _by_document(results, task, metric, filtered)
            mean = sum(known.values()) / len(known) if known else math.nan
            plain = math.isclose(mean, value, rel_tol=_SAME, abs_tol=_SAME)
            why = "" if plain else _GROUP if group else _NO_MEAN
            title = metric if filtered == "none" else f"{metric} ({filtered})"
            row = Ability(task, title, float(value), documents, better.get(metric), known if plain else {}, why)
            out.append(row)
    return out


def _by_document(results: Mapping[str, Any], task: str, metric: str, filtered: str) -> dict[str, float]:
    """Values of a task's documents under one filter; empty where a document has none, or another kind of value.

    Raises:
        UserError: the harness gave no samples of the task, so before and after cannot be paired.
    """
    samples = (results.get("samples") or {}).get(task)
    if not samples:
        raise UserError(
            f"the harness gave no answers by document for '{task}', so before and after cannot be paired",
            fix="update it: pip install -U 'scedit[harness]'",
        )
    out: dict[str, float] = {}
    for one in samples:
        if one.get("filter", filtered) != filtered:
            continue
        value, document = one.get(metric), str(one.get("doc_id"))
        number = isinstance(value, (bool, int, float)) and math.isfinite(value)
        if not number or document in out:
            return {}
        out[document] = float(value)
    return out


def changes(before: Sequence[Ability], after: Sequence[Ability]) -> list[AbilityChange]:
    """Every metric that both have, with its difference (after minus before), paired by document.

    Raises:
        UserError: other documents were asked before than after.

    Example:
        >>> one = Ability("arc", "acc", 0.8, 5, True, {"0": 1.0, "1": 1.0, "2": 1.0, "3": 1.0, "4": 0.0})
        >>> (gap,) = changes([one], [one._replace(value=0.6, by_document={**one.by_document, "0": 0.0})])
        >>> gap.difference.mean, gap.difference.kind, gap.difference.low < -0.2 < gap.difference.high
        (-0.2, 'beta, by case', True)
    """
    known = {(a.task, a.metric): a for a in after}
    out = []
    for b in before:
        if (a := known.get((b.task, b.metric))) is None:
            continue
        if b.by_document.keys() != a.by_document.keys():
            raise UserError(
                f"other documents of '{b.task}' were asked before the edit than after it",
                where=b.metric,
                fix="ask both with the same --limit and the same task files",
            )
        gap = Interval(a.value - b.value, None, b.documents)
        if b.by_document:
            gap = difference_interval(a.by_document, b.by_document)
        out.append(AbilityChange(b, a, gap))
    return out
