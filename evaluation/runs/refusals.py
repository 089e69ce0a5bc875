"""What is refused before a model is loaded: methods, metrics and lengths that do not fit the split or its support."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from curation.case_sources.support import Support, TrainingData
from curation.splits.split_file import Split
from evaluation.editors import EDITORS
from evaluation.metrics import METRICS
from evaluation.regimes.config import RegimeChoice
from evaluation.runs.config import EditorChoice, RunConfig
from schemas.cases import DOCUMENT, FACT
from schemas.core.config import Options
from schemas.core.errors import UserError
from schemas.documents.specificity import SpecificitySet
from schemas.text.counting import counted

SHIPPED_SUPPORT = {FACT: "shipped", "event": "events_from_facts", DOCUMENT: "documents_from_facts"}
"""What comes with the program to learn from, by the type of its cases."""


def check_run(
    config: RunConfig,
    options: Mapping[str, Options],
    *,
    split: Split,
    support: Support,
    cases: int,
    questions: SpecificitySet | None = None,
) -> None:
    """Raise an error for metrics, methods and lengths that do not fit the split, its support or the engine.

    Args:
        config: The run.
        options: All options of every method, by label.
        split: The evaluated split.
        support: What methods may learn from.
        cases: How many the run takes of the split.
        questions: Its specificity set.

    Raises:
        UserError: one sentence that names the setting.
    """
    for name in config.metric_names:
        _check_takes(f"the metric '{name}'", METRICS.get(name).takes, split, where="metrics", others=_metrics_for)
    check_sequence(config.regime, cases)
    check_editors(config.editors, options, split=split, support=support, engine=config.engine.name)
    if questions is not None:
        refuse_other_model(questions, model=config.model)


def check_editors(
    editors: Mapping[str, EditorChoice],
    options: Mapping[str, Options],
    *,
    split: Split,
    support: Support,
    engine: str = "fast",
) -> None:
    """Raise an error for methods that do not take the split's edits, lack their support, or learnt from its cases.

    Args:
        editors: Choices by label.
        options: All options of each (``evaluation.editors.presets.check_options``).
        split: The evaluated split.
        support: What methods may learn from.
        engine: Name of the engine: processes of ``ray`` are not told the split's other edits.

    Raises:
        UserError: one sentence that names the method.
    """
    for label, choice in editors.items():
        kind, where, wanted = EDITORS.get(choice.name), f"editors.{label}", options[label].model_dump()
        if choice.simplify is None:
            _check_takes(f"'{choice.name}'", kind.takes, split, where=where, others=_editors_for)
            _check_statements(choice.name, wanted=kind.wants_statements(wanted), where=where)
        else:
            takes_them = FACT in kind.takes or kind.wants_statements(wanted)
            _check_simplification(choice.name, takes_them, choice.simplify.name, split, where=f"{where}.simplify")
        if wanted.get("edit_format") == "chat" and split.type != FACT:
            raise UserError(
                f"edit_format is for fact prompts, this split's edits are {split.type}s",
                where=f"{where}.params",
                fix="leave edit_format out",
            )
        if choice.variant is not None:
            _check_takes(f"the validity variant '{choice.variant}'", (FACT,), split, where=where)
        if engine == "ray" and kind.wants_split(wanted):
            raise UserError(
                f"'{choice.name}' with these options reads all edits of the split, which workers are not told",
                where=where,
                fix="use engine = 'fast'",
            )
        if kind.wants_support(wanted):
            if choice.simplify is None and split.type not in kind.learns_from:
                raise UserError(
                    f"'{choice.name}' is filled from cases of facts, this split's edits are {split.type}s",
                    where=where,
                    fix=f'set {where}.params.memory = "split": all edits of the split',
                )
            check_support(choice.name, kind.learns_from, support, where=where)
        if trained := kind.training_data(wanted):
            refuse_overlap(trained, split, where=where)


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


def _check_takes(
    who: str, taken: Sequence[str], split: Split, *, where: str, others: Callable[[str], list[str]] = lambda kind: []
) -> None:
    """Refuse what takes edits of other types; the error lists the names that ``others`` returns for the split's."""
    if split.type in taken:
        return
    raise UserError(
        f"{who} takes {' and '.join(f'{kind}s' for kind in taken)}, this split's edits are {split.type}s",
        where=where,
        allowed=", ".join(others(split.type)) or None,
        fix=f"leave it out, or name another split than '{split.name}'",
    )


def _editors_for(kind: str) -> list[str]:
    return [name for name in EDITORS.names() if kind in EDITORS.get(name).takes]


def _metrics_for(kind: str) -> list[str]:
    return [name for name in METRICS.names() if kind in METRICS.get(name).takes]


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


def refuse_other_model(questions: SpecificitySet, *, model: str, revision: str | None = None) -> None:
    """Refuse a set that was chosen for another model: what one model answers says nothing about another.

    Published sets tell the model's name only; where the set knows the weights they decide, and the name does not.

    Args:
        questions: The set.
        model: Name of the run's model.
        revision: What tells its weights from others; None before it is loaded.

    Raises:
        UserError: names both models.
    """
    if questions.revision is not None:
        if revision is None or revision == questions.revision:
            return
        ours, theirs = f"'{model}' ({revision[:12]})", f"'{questions.model}' ({questions.revision[:12]})"
    elif _last_name(model) == _last_name(questions.model):
        return
    else:
        ours, theirs = f"'{model}'", f"'{questions.model}'"
    raise UserError(
        f"the specificity set '{questions.key}' holds what {theirs} answers, and this run edits {ours}",
        where="specificity.file",
        fix="name a set that was built for this model",
    )


def _last_name(model: str) -> str:
    return model.rstrip("/").rpartition("/")[2].casefold()
