"""General ability before and after editing, through the language model evaluation harness (the extra ``harness``).

Editing can ruin a model for everything else. The harness (EleutherAI's lm-evaluation-harness, package ``lm-eval``) asks
the tasks of its own collection, or of a folder of yours, of the model as it stands in memory: first unedited, then with
the edits, undone afterwards.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from schemas.core.errors import UserError

if TYPE_CHECKING:
    from evaluation.edits.edit import Edit
    from evaluation.models.language_model import LM

log = logging.getLogger(__name__)


class Ability(NamedTuple):
    """One task's metric: value, standard error as the harness gives it (None where it gives none), documents asked.

    ``better``: whether higher values are better; None where the harness does not say.
    """

    task: str
    metric: str
    value: float
    error: float | None
    documents: int
    better: bool | None


class AbilityChange(NamedTuple):
    """A task's metric before and after; ``half`` is that of the difference as if the two were independent, 95 %.

    They are not (the same documents are asked), so it is rather too wide.
    """

    before: Ability
    after: Ability
    difference: float
    half: float | None


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
    if edit is None:
        return _measure_abilities(lm, tasks, limit=limit, include=include, batch_size=batch_size)
    with edit.on(lm):
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
    found = simple_evaluate(
        model=model,
        tasks=list(tasks),
        limit=limit,
        task_manager=manager,
        bootstrap_iters=0,
        log_samples=False,
        random_seed=0,
        numpy_random_seed=0,
        torch_random_seed=0,
        fewshot_random_seed=0,
    )
    return _read(found)


def _read(results: Mapping[str, Any]) -> list[Ability]:
    """The harness's results: metrics are named ``metric,filter``, their standard errors ``metric_stderr,filter``."""
    out = []
    for task, values in results["results"].items():
        asked = results.get("n-samples", {}).get(task, {}).get("effective", 0)
        better = results.get("higher_is_better", {}).get(task, {})
        for name, value in values.items():
            metric, comma, filtered = name.partition(",")
            if not comma or metric.endswith("_stderr") or not isinstance(value, (int, float)):
                continue
            error = values.get(f"{metric}_stderr,{filtered}")
            known = isinstance(error, (int, float)) and not math.isnan(error)
            out.append(Ability(task, metric, float(value), float(error) if known else None, asked, better.get(metric)))
    return out


def changes(before: Sequence[Ability], after: Sequence[Ability]) -> list[AbilityChange]:
    """Every metric that both have, with its difference.

    Example:
        >>> one = Ability("arc", "acc", 0.5, 0.1, 20, True)
        >>> round(changes([one], [one._replace(value=0.3)])[0].half, 3)
        0.277
    """
    known = {(a.task, a.metric): a for a in after}
    out = []
    for b in before:
        if (a := known.get((b.task, b.metric))) is not None:
            half = None if b.error is None or a.error is None else 1.96 * math.hypot(b.error, a.error)
            out.append(AbilityChange(b, a, a.value - b.value, half))
    return out
