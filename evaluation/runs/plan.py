"""What a run consists of before a model is loaded: split, support, cases, probes and the identity of every method."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from curation.case_sources.opening import ORDERS, choose, open_specificity, open_split
from curation.case_sources.support import Support, open_support
from curation.splits.contradictions import contradictions
from curation.splits.split_file import Split
from evaluation.editors import EDITORS
from evaluation.editors.base import Editor, layers_of
from evaluation.editors.own_code import code_digest
from evaluation.editors.presets import check_options
from evaluation.inference.answering import Scorer, no_template
from evaluation.metrics import METRICS
from evaluation.metrics.base import Metric, Role, metric_of
from evaluation.metrics.generation import Generation, SharedQuestions, load_metrics
from evaluation.models.loading import model_depth
from evaluation.regimes.table import make_regime
from evaluation.runs.config import EditorChoice, RunConfig
from evaluation.runs.refusals import check_run, refuse_other_model
from evaluation.runs.results import BASELINE_LABEL, Run, check_folder, load_run
from evaluation.runs.validity_variants import CHAT, COMPONENT, Variant, asked_in_two_forms
from schemas.cases import AnyCase
from schemas.core.config import Options
from schemas.core.errors import UserError
from schemas.core.ids import content_id
from schemas.probes import Probe, ScoreProbe
from schemas.runs import RunManifest

if TYPE_CHECKING:
    from evaluation.models.language_model import LM

log = logging.getLogger(__name__)

BASELINE = BASELINE_LABEL  # the unedited model: always run, its answers are everyone's "before"
REGIME = "single"  # each edit alone, then undone: the baseline's regime, and that of a run which names no other
COMPONENTS = {"scorer": "1", "runner": "1"}  # raised when the same run would give other numbers


class Plan(NamedTuple):
    """A run without its model.

    Attributes:
        config: What to run.
        split: The frozen split.
        support: Cases that methods may learn from.
        cases: Those of the run, in order.
        metrics: Those of the run; they name the probes. ``for_model`` takes out what its model cannot do.
        questions: Specificity questions, where the run has some.
        earlier: A run on another version of the split, whose answers are taken over.
        layers_checked: False if options name layers and the model's depth is not known yet.
    """

    config: RunConfig
    split: Split
    support: Support
    cases: tuple[AnyCase, ...]
    metrics: tuple[Metric, ...]
    questions: SharedQuestions | None
    earlier: Run | None = None
    layers_checked: bool = True


def open_plan(config: RunConfig, lm: LM | None = None) -> Plan:
    """Read split and support and check everything that needs no model.

    Args:
        config: What to run.
        lm: The model, if it is loaded already.

    Raises:
        UserError: anything that the person can mend before a model is loaded.
    """
    depth = lm.layout.depth if lm is not None else None if config.behind_endpoint else model_depth(config.model)
    split = open_split(config.split)
    support = open_support(config.support, split)
    plan = plan_of(config, split, support)
    options = {
        label: check_options(
            choice.name,
            config.model,
            choice.params,
            where=f"editors.{label}.params",
            depth=depth,
            files_here=config.engine.name != "ray",  # workers read files of their own machines
        )
        for label, choice in config.editors.items()
    }
    known = None if plan.questions is None else plan.questions.set
    check_run(config, options, split=split, support=support, cases=len(plan.cases), questions=known)
    return plan._replace(layers_checked=depth is not None or not any(map(layers_of, options.values())))


def plan_of(config: RunConfig, split: Split, support: Support = Support()) -> Plan:  # noqa: B008
    """The plan of a run on a split that is open.

    Args:
        config: What to run.
        split: Its split.
        support: Its support.

    Raises:
        UserError: the folder holds another run, no case is left, or the specificity set has too few questions.
    """
    earlier = None if config.answers_from is None else load_run(config.answers_from)
    check_folder(config.out, config.model_dump(mode="json"), split_digest=split.digest)
    cases = choose(
        split,
        kinds=config.kinds,
        limit=config.limit,
        order=config.regime.order,
        first=() if earlier is None else earlier.cases,  # so that a limit keeps them
    )
    contradictory = {found.text: None for group in config.regime.groups(cases) for found in contradictions(group)}
    for text in contradictory:
        log.warning("%s; the later one counts, and the other case is not scored after it", text)
    questions = None
    if choice := config.specificity:
        known = open_specificity(choice.file)
        questions = SharedQuestions.chosen(known, choice, config.documents)
    elif needy := [name for name in config.metric_names if METRICS.get(name).shared]:
        raise UserError(
            f"the metric '{needy[0]}' asks what the unedited model answers, and no set of such questions is named",
            where="metrics",
            fix='add specificity = { file = "known.json" } to the run, or leave the metric out',
        )
    generation = Generation(config.generation, split.digest, config.events, config.documents, questions)
    return Plan(config, split, support, cases, load_metrics(config.metric_names, generation), questions, earlier)


def for_model(plan: Plan, *, has_chat: bool) -> Plan:
    """The plan for its model: where the run names no metrics, nothing is written by a model without a chat template.

    Args:
        plan: The run.
        has_chat: Whether its model has one.

    Raises:
        UserError: texts are to be asked for in a chat template, and the model has none.
    """
    config = plan.config
    if has_chat or config.behind_endpoint:
        return plan
    if not config.metrics:
        return plan._replace(metrics=tuple(m for m in plan.metrics if not m.asks_for_texts))
    demanded = config.generation.chat == "always" or config.generation.chat_everywhere
    if demanded and any(m.asks_for_texts for m in plan.metrics):
        raise no_template(config.model)
    return plan


def methods_of(plan: Plan, *, has_chat: bool) -> dict[str, EditorChoice]:
    """The methods of a run by label, the unedited model first; no rows in chat format that would repeat the others.

    These are all such rows of a model without a chat template, and of metrics that are asked in it in every row.

    Args:
        plan: The run.
        has_chat: Whether its model has a chat template.
    """
    labels = {BASELINE: EditorChoice(name=BASELINE)} | dict(plan.config.editors)
    plain = {label: choice for label, choice in labels.items() if choice.variant != CHAT}
    if len(plain) == len(labels) or not has_chat:
        return plain
    return labels if any(asked_in_two_forms(metric, plan.cases) for metric in plan.metrics) else plain


def check_model(plan: Plan, *, name: str, revision: str) -> None:
    """Raise an error if the run's folder or its specificity set belongs to other weights than the model's.

    Args:
        plan: The run.
        name: Of its model.
        revision: What tells its weights from others.

    Raises:
        UserError: names both.
    """
    config = plan.config
    check_folder(config.out, config.model_dump(mode="json"), split_digest=plan.split.digest, revision=revision)
    if plan.questions is not None:
        refuse_other_model(plan.questions.set, model=name, revision=revision)


def order_in_words(config: RunConfig) -> str:
    """The order of a run's cases as ``run.json`` has it."""
    words = ORDERS[config.regime.order]
    return words if config.answers_from is None else f"the cases of the earlier run first, the others {words}"


def queried_cases(config: RunConfig, cases: Sequence[AnyCase]) -> set[str]:
    """Keys of the cases that are queried: those of the part; of a sequence with a sample, those of the sample."""
    part, of = config.part_numbers
    if config.regime.sample is None:
        return {case.key for case in cases[part - 1 :: of]}
    return {unit.case.key for unit in make_regime(config.regime).units(cases)}


def ask(case: AnyCase, metrics: Iterable[Metric]) -> tuple[Probe, ...]:
    """All that the metrics ask of a case; equal questions once, in order of first asking.

    What all cases share is left out: ``ask_shared`` has it.
    """
    return tuple({p.id: p for m in metrics if not m.shared for p in m.probes(case)}.values())


def ask_shared(case: AnyCase, metrics: Iterable[Metric]) -> tuple[ScoreProbe, ...]:
    """What is asked, of questions that all cases share, where this case's edit is the first in the model."""
    probes = (p for m in metrics if m.shared for p in m.probes(case))
    return tuple({p.id: p for p in probes if isinstance(p, ScoreProbe)}.values())


def metrics_with_roles(roles: Iterable[Role], chosen: Sequence[Metric], generation: Generation) -> tuple[Metric, ...]:
    """One metric for every role: the first that was chosen, else the first registered; none for a role nobody has.

    Args:
        roles: Roles, in the order of the result.
        chosen: Metrics to take where they have the role, such as those of a run.
        generation: How texts are written.
    """
    chosen_metrics = []
    for role in roles:
        metric = metric_of(chosen, role) or metric_of(load_metrics(METRICS.names(), generation), role)
        chosen_metrics += [] if metric is None else [metric]
    return tuple(chosen_metrics)


def support_for(editor: Editor, cases: Sequence[AnyCase]) -> Sequence[AnyCase]:
    """The support's cases for a method that says its edits depend on them (``wants_support``), none for others.

    A run's identity holds the support of the former only, so nobody else may learn from it.
    """
    return cases if editor.wants_support(plain_params(editor)) else ()


def plain_params(editor: Editor) -> dict[str, Any]:
    """An editor's options as JSON values, by name."""
    return editor.params.model_dump(mode="json") if isinstance(editor.params, Options) else dict(editor.params)


def make_manifest(
    editor: Editor,
    *,
    scorer: Scorer,
    dtype: str,
    split: Split,
    support: str = "",
    regime: str = REGIME,
    variant: Variant | None = None,
) -> RunManifest:
    """What the numbers depend on; the key is its hash. Device, batch size and metrics are no part of it.

    A method of this process alone, such as a class from a notebook, has the digest of its code among the components.
    How attention is computed stands among the components where it is not as usual (``LM.other_attention``).
    ``support`` is the digest of the run's support; it counts only for methods that depend on it. ``variant`` is the
    validity variant of the row.
    """
    params = plain_params(editor)
    components = {str(k): str(v) for k, v in editor.components.items()}
    if EDITORS.is_added(editor.name):
        components["code"] = code_digest(type(editor))
    if support and editor.wants_support(params):
        components["support"] = support
    if scorer.other_attention:
        components["attention"] = scorer.other_attention
    if variant is not None:
        components[COMPONENT] = f"{variant.name}@{variant.version}"
    data: dict[str, Any] = {
        "editor": str(editor.name),
        "editor_version": int(editor.version),
        "params": params,
        "model_revision": scorer.revision,
        "dtype": dtype,
        "split_digest": split.digest,
        "regime": regime,
        "components": {**COMPONENTS, **components},
    }
    return RunManifest(key=content_id("run", data), model=scorer.name, split=f"{split.name}@{split.version}", **data)
