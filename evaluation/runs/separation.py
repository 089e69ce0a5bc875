"""Refusals before a run: methods that lack support, and what was learnt from cases that are evaluated."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from curation.case_sources.support import Support, TrainingData
from curation.splits.split_file import Split
from evaluation.editors import EDITORS
from evaluation.editors.presets import check_options, preset
from evaluation.metrics import METRICS
from evaluation.models.loading import model_depth
from evaluation.regimes.config import RegimeChoice
from evaluation.runs.config import EditorChoice
from schemas.cases import DOCUMENT, FACT
from schemas.core.errors import UserError
from schemas.text.counting import counted

SHIPPED_SUPPORT = {FACT: "shipped", "event": "events_from_facts", DOCUMENT: "documents_from_facts"}
"""What comes with the program to learn from, by the type of its cases."""


def check_parameters(
    editors: Mapping[str, EditorChoice],
    *,
    model: str,
    depth: Callable[[], int | None] | None = None,
    files_here: bool = True,
) -> bool:
    """Refuse bad parameters of methods before anything is opened or loaded.

    Args:
        editors: Choices (``name`` and ``params``) by label.
        model: Name of the model, for presets and the number of its layers.
        depth: Gives the model's number of layers or None; without it the model's configuration is read, once.
        files_here: Whether files that options name must be on this machine: a cluster has its own.

    Returns:
        Whether everything was judged; False where options name layers and the model's depth is not known yet.

    Raises:
        UserError: an unknown method or parameter, a value that it does not take, a layer that the model does not
            have, or a file that is not there; names the editor.
    """
    ask = functools.cache(depth or (lambda: model_depth(model)))
    layers = [
        check_options(
            choice.name, model, choice.params, where=f"editors.{label}.params", depth=ask, files_here=files_here
        )
        for label, choice in editors.items()
    ]
    return not any(layers) or ask() is not None


def check_editors(
    editors: Mapping[str, EditorChoice], *, split: Split, support: Support, model: str, engine: str = "fast"
) -> None:
    """Refuse, before a model is loaded, methods that lack support or learnt from evaluated cases.

    Args:
        editors: Choices (``name`` and ``params``) by label.
        split: The evaluated split.
        support: What methods may learn from.
        model: Name of the model, for the presets.
        engine: Name of the engine: processes of ``ray`` are not told the split's other edits.

    Raises:
        UserError: an unknown method, or one that does not take the split's edits, or needs all of them where the engine
            does not hand them out; no support where one is needed; a
            checkpoint that shares cases with the split.
    """
    for label, choice in editors.items():
        kind = EDITORS.get(choice.name)
        options: dict[str, Any] = {}
        with contextlib.suppress(UserError):  # a method that is scaled to the model's depth
            options = preset(choice.name, model)
        options |= choice.params
        if (simplify := choice.simplify) is None:
            _check_takes(f"'{choice.name}'", kind.takes, _editors_for, split, where=f"editors.{label}")
            _check_statements(choice.name, wanted=kind.wants_statements(options), where=f"editors.{label}")
        else:
            takes_them = FACT in kind.takes or kind.wants_statements(options)
            _check_simplification(choice.name, takes_them, simplify.name, split, where=f"editors.{label}.simplify")
        if choice.variant is not None:
            _check_takes(f"the validity variant '{choice.variant}'", (FACT,), None, split, where=f"editors.{label}")
        if engine == "ray" and kind.wants_split(options):
            raise UserError(
                f"'{choice.name}' with these options reads all edits of the split, which workers are not told",
                where=f"editors.{label}",
                fix="use engine = 'fast'",
            )
        if simplify is None and split.type not in kind.learns_from and kind.wants_support(options):
            raise UserError(
                f"'{choice.name}' is filled from cases of facts, this split's edits are {split.type}s",
                where=f"editors.{label}",
                fix=f'set editors.{label}.params.memory = "split": all edits of the split',
            )
        if kind.wants_support(options):
            check_support(choice.name, kind.learns_from, support, where=f"editors.{label}")
        if trained := kind.training_data(options):
            refuse_overlap(trained, split, where=f"editors.{label}")


def check_support(
    method: str, taken: Sequence[str], support: Support, *, where: str, option: str | None = None
) -> None:
    """Refuse a support that is not of the type that a method learns from, or none.

    Args:
        method: Its name.
        taken: Types of cases that it learns from.
        support: What is declared.
        where: What the error names.
        option: The command line's word for a support; None: that of a run's configuration.

    Raises:
        UserError: one sentence.
    """
    shipped = next(SHIPPED_SUPPORT[kind] for kind in SHIPPED_SUPPORT if kind in taken)
    fix = f'add support = "{shipped}" to the run, or a split of your own'
    if option is not None:
        fix = f"name {option}{shipped}, or a split of your own"
    if not support.cases:
        raise UserError(f"'{method}' learns from declared cases, and none are declared", where=where, fix=fix)
    if support.type not in taken:
        raise UserError(
            f"'{method}' learns from cases of {' or '.join(taken)}s, those of the support are {support.type}s",
            where=where,
            fix=fix,
        )


def check_sequence(regime: RegimeChoice, cases: int) -> None:
    """Refuse, before a model is loaded, a sequence that is to be longer than there are cases.

    Args:
        regime: Its lengths as they were named; the usual ones are taken as far as there are cases.
        cases: Those of the run.

    Raises:
        UserError: one sentence.
    """
    longest = max(regime.sizes, default=0)
    if regime.name == "sequential" and regime.size is not None and longest > cases:
        raise UserError(
            f"the sequence is to be {counted(longest, 'edit')} long, and the run has {counted(cases, 'case')}",
            where="regime.size",
            fix="name shorter lengths, a larger limit or a larger split",
        )


def check_metrics(metrics: Sequence[str], split: Split) -> None:
    """Refuse, before a model is loaded, metrics that ask nothing of the split's cases.

    Raises:
        UserError: names the first such metric, and those that fit.
    """
    for name in metrics:
        _check_takes(f"the metric '{name}'", METRICS.get(name).takes, _metrics_for, split, where="metrics")


def _check_takes(
    who: str, taken: Sequence[str], others: Callable[[str], list[str]] | None, split: Split, *, where: str
) -> None:
    if split.type in taken:
        return
    names = [] if others is None else others(split.type)
    raise UserError(
        f"{who} takes {' and '.join(f'{kind}s' for kind in taken)}, this split's edits are {split.type}s",
        where=where,
        allowed=", ".join(names) or None,
        fix=f"leave it out, or name another split than '{split.name}'",
    )


def _check_statements(method: str, *, wanted: bool, where: str) -> None:
    """Refuse a method that learns from statements of its documents where nothing makes them."""
    if wanted:
        raise UserError(
            f"'{method}' with these options learns from statements of its documents, and nothing makes them",
            where=where,
            fix=f'set simplify = "ner_qg" for it, or the weights of the other terms to 0 ([editors.{method}.params])',
        )


def _check_simplification(method: str, takes_them: bool, strategy: str, split: Split, *, where: str) -> None:
    """Refuse a simplification of what is no document, or for a method that does not edit facts."""
    if split.type != DOCUMENT:
        raise UserError(f"'{strategy}' makes facts of documents, this split's edits are {split.type}s", where=where)
    if not takes_them:
        raise UserError(f"'{method}' does not edit facts, so documents are not simplified for it", where=where)


def _editors_for(kind: str) -> list[str]:
    return [name for name in EDITORS.names() if kind in EDITORS.get(name).takes]


def _metrics_for(kind: str) -> list[str]:
    return [name for name in METRICS.names() if kind in METRICS.get(name).takes]


def refuse_overlap(trained: TrainingData, split: Split, *, where: str) -> None:
    """Refuse what was learnt from cases that a split evaluates.

    Raises:
        UserError: one sentence that names what is shared, and where.
    """
    overlaps = [what for case in split.all_cases if (what := trained.shares(case))]
    if overlaps:
        raise UserError(
            f"it learnt from {trained.name}, which shares {overlaps[0]} with the evaluated split '{split.name}' "
            f"({len(overlaps)} of {len(split.all_cases)} cases share something)",
            where=where,
            fix="learn from cases that share nothing with it (scedit split partition makes such parts)",
        )
