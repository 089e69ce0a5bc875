"""The size of a run before anything is computed: cases, probes, tokens, what is finished already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from construction.llm.cost.estimates import CHARACTERS_PER_TOKEN
from evaluation.editors import EDITORS
from evaluation.inference.answering import scored_probes, written_probes
from evaluation.models.loading import check_device_name, known_revision, may_have_chat
from evaluation.regimes.config import RegimeChoice
from evaluation.runs.config import EditorChoice, RunConfig
from evaluation.runs.plan import BASELINE, COMPONENTS, ask, ask_shared, for_model, open_plan
from evaluation.runs.results import RUN_FILE, EditorFolder, check_folder, read_with_digest
from schemas.cases import AnyCase
from schemas.core.ids import slug

if TYPE_CHECKING:
    from construction.llm.cost.estimates import CallEstimate
    from evaluation.metrics.base import Metric


class Size(NamedTuple):
    """How big a run is, per editor and in all; ``seconds`` is None where no timing of this run folder is known."""

    split: str
    cases: int
    of: int
    kinds: dict[str, int]
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
    plan = for_model(open_plan(config), has_chat=config.behind_endpoint or may_have_chat(config.model))
    split, support, cases, metrics = plan.split, plan.support, plan.cases, plan.metrics
    if config.layout is None and (config.out / RUN_FILE).exists():
        revision = known_revision(config.model)
        check_folder(config.out, config.model_dump(mode="json"), split_digest=split.digest, revision=revision)
    probes = [p for c in cases for p in (*ask(c, metrics), *ask_shared(c, metrics))]
    labels = (BASELINE, *(n for k in config.editors if k != BASELINE for n in config.regime.labels(k)))
    calls = None
    if config.behind_endpoint:
        from evaluation.runs.endpoint import estimate_calls, open_endpoint

        calls = estimate_calls(probes, open_endpoint(config, metrics, cases).access, methods=len(labels))
    finished, failed, seconds = _finished_before(config, cases, metrics, split.digest, support.digest)
    return Size(
        split=f"{split.name}@{split.version}",
        cases=len(cases),
        of=len(split.all_cases),
        kinds=dict(Counter(case.group for case in cases)),
        probes=len(probes),
        targets=sum(len(p.targets) for p in scored_probes(probes)),
        tokens=round(sum(len(p.prompt) for p in probes) / CHARACTERS_PER_TOKEN),
        editors=labels,
        metrics=tuple(metric.name for metric in metrics),
        finished=finished,
        failed=failed,
        seconds=seconds,
        texts=len(written_probes(probes)),
        text_tokens=sum(p.longest for p in written_probes(probes)),
        support=f"{support.name} {support.digest[:12]}".strip(),
        support_cases=len(support.cases),
        support_left_out=support.left_out,
        layers_checked=plan.layers_checked,
        calls=calls,
    )


def _finished_before(
    config: RunConfig, cases: Sequence[AnyCase], metrics: Sequence[Metric], split: str, support: str
) -> tuple[dict[str, int], dict[str, int], float | None]:
    """Finished and failed cases by row, from the run folder, and the seconds left at the pace so far."""
    finished: dict[str, int] = {}
    failed: dict[str, int] = {}
    left: float | None = 0.0
    for label in dict.fromkeys([BASELINE, *config.editors]):
        choice = config.editors.get(label) or EditorChoice(name=BASELINE)
        regime = RegimeChoice() if label == BASELINE else config.regime
        variant = choice.variant_made
        asked = {c.key: {p.id for p in ask(c if variant is None else variant.asks(c), metrics)} for c in cases}
        for name, part in zip(regime.labels(label), regime.parts, strict=True):
            folder = _folder_of(config, label, name, part.text, split, support)
            results = {} if folder is None else folder.results()
            there = {k: r for k, r in results.items() if k in asked}
            done = [r for k, r in there.items() if r.error is None and asked[k] <= {a.probe for a in r.answers}]
            finished[name] = len(done)
            failed[name] = sum(result.error is not None for result in there.values())
            rest = len(cases) - len(done) - failed[name]
            if done and left is not None:
                left += rest * sum(r.seconds_edit + r.seconds_score for r in done) / len(done)
            elif rest:
                left = None
    return finished, failed, left


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
