"""The size of a run before anything is computed: cases, probes, tokens, what is finished already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from construction.llm.cost.estimates import CHARACTERS_PER_TOKEN
from evaluation.editors import EDITORS
from evaluation.inference.answering import scored_probes, written_probes
from evaluation.models.loading import check_device_name, known_revision, may_have_chat
from evaluation.regimes.base import WorkUnit
from evaluation.regimes.config import RegimeChoice
from evaluation.regimes.table import make_regime
from evaluation.runs.config import EditorChoice, RunConfig
from evaluation.runs.plan import BASELINE, COMPONENTS, ask, ask_shared, for_model, methods_of, open_plan, queried_cases
from evaluation.runs.results import RUN_FILE, EditorFolder, check_folder, read_with_digest
from evaluation.runs.validity_variants import Variant, cases_as_requested
from schemas.cases import AnyCase
from schemas.core.ids import slug
from schemas.probes import Probe

if TYPE_CHECKING:
    from construction.llm.cost.estimates import CallEstimate
    from evaluation.metrics.base import Metric


class Size(NamedTuple):
    """How big a run is, per editor and in all; ``seconds`` is None where no timing of this run folder is known.

    ``times_asked`` says how often each row asks a case: a sequence asks some cases at several lengths, others never.
    """

    split: str
    cases: int
    of: int
    kinds: dict[str, int]
    edits: int
    times_asked: dict[str, int]
    probes: int
    targets: int
    tokens: int
    editors: tuple[str, ...]
    metrics: tuple[str, ...]
    finished: dict[str, int]
    failed: dict[str, int]
    seconds: float | None
    support: str = ""
    support_cases: int = 0
    support_left_out: int = 0
    texts: int = 0
    text_tokens: int = 0
    layers_checked: bool = True
    calls: CallEstimate | None = None


def size(config: RunConfig) -> Size:
    """Count what a run would do, without loading a model.

    ``tokens`` is a rough count for one editor (characters divided by four). The time is that of the cases which this
    run folder has finished, carried over to the others.
    """
    check_device_name(config.device)
    has_chat = not config.behind_endpoint and may_have_chat(config.model)
    plan = for_model(open_plan(config), has_chat=has_chat)
    split, support, cases, metrics = plan.split, plan.support, plan.cases, plan.metrics
    if config.layout is None and (config.out / RUN_FILE).exists():
        revision = known_revision(config.model)
        check_folder(config.out, config.model_dump(mode="json"), split_digest=split.digest, revision=revision)
    rows = _rows(config, methods_of(plan, has_chat=has_chat), cases, split.all_cases)
    regime, units = rows[-1].regime, rows[-1].units
    leaders, by_key = make_regime(regime).leaders(units, cases), {case.key: case for case in cases}
    probes: list[Probe] = []
    for unit in units:
        case = by_key[unit.case.key]
        probes += [*ask(case, metrics), *(ask_shared(case, metrics) if unit.key in leaders else ())]
    labels = tuple(row.name for row in rows)
    statuses = {row.name: _status(config, row, cases, metrics, split.digest, support.digest) for row in rows}
    seconds = [status.seconds for status in statuses.values()]
    calls = None
    if config.behind_endpoint:
        from evaluation.runs.endpoint import estimate_calls, open_endpoint

        missing = [unit.case.key for status in statuses.values() for unit in status.rest]
        texts = [probe for key in missing for probe in ask(by_key[key], metrics)]
        calls = estimate_calls(texts, open_endpoint(config, metrics, cases).access)
    return Size(
        split=f"{split.name}@{split.version}",
        cases=len(cases),
        of=len(split.all_cases),
        kinds=dict(Counter(case.group for case in cases)),
        edits=_edits(regime, units),
        times_asked={row.name: len(row.units) for row in rows},
        probes=len(probes),
        targets=sum(len(p.targets) for p in scored_probes(probes)),
        tokens=round(sum(len(p.prompt) for p in probes) / CHARACTERS_PER_TOKEN),
        editors=labels,
        metrics=tuple(metric.name for metric in metrics),
        finished={name: status.finished for name, status in statuses.items()},
        failed={name: status.failed for name, status in statuses.items()},
        seconds=None if None in seconds else sum(s for s in seconds if s is not None),
        texts=len(written_probes(probes)),
        text_tokens=sum(p.longest for p in written_probes(probes)),
        support=f"{support.name} {support.digest[:12]}".strip(),
        support_cases=len(support.cases),
        support_left_out=support.left_out,
        layers_checked=plan.layers_checked,
        calls=calls,
    )


class _Row(NamedTuple):
    """A row of the run: its method's label, its own name, what is changed of the cases, its regime, what it asks."""

    label: str
    name: str
    variant: Variant | None
    regime: RegimeChoice
    units: list[WorkUnit]


def _rows(
    config: RunConfig, methods: Mapping[str, EditorChoice], cases: Sequence[AnyCase], split_cases: Sequence[AnyCase]
) -> list[_Row]:
    """All rows, the unedited model first."""
    queried, rows = queried_cases(config, cases), []
    for label, choice in methods.items():
        variant = choice.variant_made
        edited = cases if variant is None else cases_as_requested(cases, variant, split_cases)
        regime = RegimeChoice() if label == BASELINE else config.regime
        for name, part in zip(regime.labels(label), regime.parts, strict=True):
            units = [unit for unit in make_regime(part).units(edited) if unit.case.key in queried]
            rows.append(_Row(label, name, variant, part, units))
    return rows


class _Status(NamedTuple):
    """How far a row is: finished and failed units, those left, and the seconds left at the pace so far; None: no pace.

    What is left of a row behind an endpoint may have cached replies: they are not read here.
    """

    finished: int
    failed: int
    rest: list[WorkUnit]
    seconds: float | None


def _status(
    config: RunConfig, row: _Row, cases: Sequence[AnyCase], metrics: Sequence[Metric], split: str, support: str
) -> _Status:
    """What the run folder holds of a row."""
    asks = row.variant.asks if row.variant is not None else lambda case: case
    wanted = {case.key: {probe.id for probe in ask(asks(case), metrics)} for case in cases}
    folder = _folder_of(config, row.label, row.name, row.regime.text, split, support)
    results = {} if folder is None else folder.units()
    done, rest, failed = list[WorkUnit](), list[WorkUnit](), 0
    for unit in row.units:
        result = results.get(unit.key)
        if result is not None and result.error is not None:
            failed += 1
            continue
        answered = set() if result is None else {answer.probe for answer in result.answers}
        (done if result is not None and wanted[unit.case.key] <= answered else rest).append(unit)
    found = [results[unit.key] for unit in done]
    made = [r.seconds_edit for r in found if r.position is None or r.position == r.after]
    if rest and not made:
        return _Status(len(done), failed, rest, None)
    edits = _edits(row.regime, row.units) - _edits(row.regime, done) if rest else 0
    seconds = edits * _mean(made) + len(rest) * _mean([r.seconds_score for r in found])
    return _Status(len(done), failed, rest, seconds)


def _edits(regime: RegimeChoice, units: Sequence[WorkUnit]) -> int:
    """Edits that are made for these units: those of a sequence are made whether a case is asked after them or not."""
    if regime.name == "sequential":
        return max((unit.after or 0 for unit in units), default=0)
    return len(units)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(1, len(values))


def _folder_of(config: RunConfig, label: str, name: str, regime: str, split: str, support: str) -> EditorFolder | None:
    """The folder whose results this row of a run would find: everything that its key is made of is compared.

    The revision of weights that are not on this machine is compared when the model is loaded.
    """
    wanted = config.model_dump(mode="json")
    for path in sorted(config.out.glob(f"{slug(name)}-??????????/manifest.json")):
        folder = EditorFolder(path.parent)
        manifest, stored = folder.manifest(), read_with_digest(path.with_name("config.json"))
        same = {
            "model": all(stored.get(field) == wanted[field] for field in ("model", "dtype", "attention", "layout")),
            "split": manifest.split_digest == split,
            "support": manifest.components.get("support") in (None, support),
            "regime": manifest.regime == regime,
            "method": label == BASELINE or stored["editors"].get(label) == wanted["editors"][label],
            "version": manifest.editor_version == EDITORS.get(manifest.editor).version,
            "components": COMPONENTS.items() <= manifest.components.items(),
        }
        if all(same.values()):
            return folder
    return None
