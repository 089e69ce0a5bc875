"""A whole run as one call: open the split, load the model, run every editor, give the results back to the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from construction.llm.cost.estimates import CHARACTERS_PER_TOKEN
from curation.files.json_files import read_json
from curation.shipped import SHIPPED_NAMES, SPLITS, shipped_split
from curation.splits.split_file import Split, load_split
from evaluation.editors import EDITORS
from evaluation.inference.answering import ModelScorer, scored_probes, written_probes
from evaluation.metrics.generation import Generation
from evaluation.models.determinism import fixed_order
from evaluation.models.loading import check_device_name
from evaluation.regimes.config import RegimeChoice
from evaluation.runs.config import EditorChoice, RunConfig, SplitChoice
from evaluation.runs.endpoint import EndpointChoice, is_endpoint
from evaluation.runs.known_answers.baseline_answers import BaselineAnswers
from evaluation.runs.known_answers.earlier_answers import chosen_cases, refuse_missing
from evaluation.runs.plan import BASELINE, COMPONENTS, ask, ask_shared, load_metrics
from evaluation.runs.results import EditorFolder, check_folder
from evaluation.runs.runner import EditorOutcome, EditorProgress, Runner
from evaluation.runs.separation import check_editors, check_metrics, check_parameters, check_sequence
from evaluation.runs.shared_probes.opening import open_questions
from evaluation.runs.support import Support, open_support
from evaluation.simplify.estimate import estimate_calls_of
from schemas.cases import AnyCase
from schemas.core.errors import UserError
from schemas.core.ids import slug

if TYPE_CHECKING:
    from construction.llm.cost.estimates import CallEstimate
    from evaluation.engines.base import Engine
    from evaluation.engines.protocols import Scorer
    from evaluation.metrics.base import Metric
    from evaluation.models.language_model import LM
    from evaluation.runs.endpoint import ApiEndpoint


def open_split(choice: SplitChoice) -> Split:
    """Read a split once; a store is closed again before the run begins.

    Raises:
        UserError: no such file, store or split, or the store is in use.
    """
    if choice.file is not None:
        return load_split(choice.file)
    if choice.store is not None:
        from curation.store.store import Store

        with Store.open(choice.store) as store:
            return store.split(choice.name or "mini")
    return shipped_split(choice.name or "mini")


def open_named_split(
    name: str, store: Path | None = None, *, allowed: str = f"{SHIPPED_NAMES}, or a split file"
) -> Split:
    """Read the split that a command line names.

    Args:
        name: A shipped split (``mini``, ``open:test``) or a frozen split file; with a store, a split in it.
        store: Where the split is kept.
        allowed: What the error says, where a command takes more.

    Raises:
        UserError: no such file, store or split, or the store is in use.
    """
    if store is not None:
        return open_split(SplitChoice(store=store, name=name))
    if name in SPLITS:
        return open_split(SplitChoice(name=name))
    if not Path(name).is_file():
        raise UserError(f"there is no split file '{name}'", allowed=allowed)
    return open_split(SplitChoice(file=Path(name)))


def execute(
    config: RunConfig,
    *,
    on_event: Callable[[EditorProgress], None] | None = None,
    retry_failed: bool = False,
    lm: LM | None = None,
) -> list[EditorOutcome]:
    """Run a configuration from the split to the store.

    Args:
        config: What to run.
        on_event: Called after every case.
        retry_failed: Do failed cases again.
        lm: A model that is loaded already (it must be the one that the configuration names).

    Raises:
        UserError: anything that the person can mend; finished cases are kept.
    """
    endpoint = is_endpoint(config.model)
    depth = (lambda: None) if endpoint else None if lm is None else (lambda: lm.layout.depth)
    check_parameters(config.editors, model=config.model, depth=depth, files_here=config.engine != "ray")
    refuse_missing(config.answers_from)
    split = open_split(config.split)
    check_folder(config.out, config.model_dump(mode="json"), split_digest=split.digest)
    support = open_support(config.support, split)
    check_editors(config.editors, split=split, support=support, model=config.model, engine=config.engine)
    check_metrics(config.metrics, split)
    open_questions(config.specificity, config.documents, model=config.model, metrics=config.metrics)
    cases = chosen_cases(config, split)
    check_sequence(config.regime, len(cases))
    opened = _endpoint_parts(config, split, cases) if endpoint else _model_parts(config, support, lm)
    with fixed_order(config.deterministic), opened as parts:
        outcomes = Runner(
            config,
            split,
            scorer=parts.scorer,
            make=parts.make,
            on_event=on_event,
            retry_failed=retry_failed,
            support=support,
            engine=parts.engine,
            answered=parts.answered,
            environment=parts.environment,
        ).run()
    if target := config.feed or config.split.store:
        write_back(target, split, outcomes)
    return outcomes


class _RunParts(NamedTuple):
    """What the runner works with beside configuration, split and support."""

    scorer: Scorer
    make: Callable[[str, dict[str, Any]], Any]
    engine: Engine
    answered: BaselineAnswers | None = None
    environment: dict[str, Any] | None = None


@contextmanager
def _model_parts(config: RunConfig, support: Support, lm: LM | None) -> Iterator[_RunParts]:
    """A model that computes here."""
    from curation.files.artifact_cache import Cache
    from curation.files.model_packages import cache_dir
    from evaluation.editors.presets import make_editor
    from evaluation.models.language_model import LM

    cache = Cache(cache_dir())
    if config.engine == "ray" and lm is None:
        from evaluation.runs.distributed.ray_engine import RayEngine
        from evaluation.runs.distributed.remote_model import RemoteScorer, remote_editor

        with RayEngine(config, support=support) as workers:
            far = workers.model()
            answered = BaselineAnswers.of_run(config, far.lm)
            make = partial(remote_editor, far.lm, cache)
            yield _RunParts(RemoteScorer(far), make, workers, answered, far.environment)
        return
    model = lm or LM.load(config.model, device=config.device, dtype=config.dtype, attention=config.attention)

    def make_here(name: str, params: dict[str, Any]) -> Any:
        return make_editor(name, model, cache, params)

    with make_engine(config, model, support=support) as engine:
        yield _RunParts(ModelScorer(model), make_here, engine, BaselineAnswers.of_run(config, model))


@contextmanager
def _endpoint_parts(config: RunConfig, split: Split, cases: Sequence[AnyCase]) -> Iterator[_RunParts]:
    """A model behind an endpoint; what it cannot do is refused before any call."""
    from evaluation.runs.endpoint_engine import endpoint_engine

    endpoint, choice = _endpoint_of(config, split, cases), config.endpoint or EndpointChoice()
    with endpoint_engine(endpoint.access, choice.journal or config.out / "llm.jsonl") as engine:
        yield _RunParts(endpoint.model, endpoint.make, engine)


def _endpoint_of(config: RunConfig, split: Split, cases: Sequence[AnyCase]) -> ApiEndpoint:
    from evaluation.runs.endpoint import open_endpoint

    metrics = load_metrics(config.metrics, Generation(config.generation, split.digest, config.events))
    return open_endpoint(config.model, config.endpoint or EndpointChoice(), config.editors, metrics, cases)


@contextmanager
def make_engine(config: RunConfig, lm: LM, *, support: Support) -> Iterator[Engine]:
    """The engine that a configuration names; workers that it starts end with the block.

    Raises:
        UserError: ``ray`` in a regime where edits build on each other, or without the package.
    """
    from evaluation.engines.fast import FastEngine
    from evaluation.engines.simple import SimpleEngine

    if config.engine == "simple":
        yield SimpleEngine(ModelScorer(lm), batch_tokens=config.batch_tokens)
        return
    if config.engine == "ray":
        from evaluation.runs.distributed.ray_engine import RayEngine

        with RayEngine(config, support=support, lm=lm) as engine:
            yield engine
        return
    from evaluation.inference.batched_scoring import EditScorer
    from evaluation.inference.batching import TokenBudget, default_budget

    explicit = "batch_tokens" in config.model_fields_set or lm.device.type == "cpu"
    budget = TokenBudget(config.batch_tokens) if explicit else default_budget(lm)
    yield FastEngine(lm, scorer=EditScorer(lm, budget=budget), group=config.group)


def write_back(path: Path, split: Split, outcomes: Sequence[EditorOutcome]) -> None:
    """Give a run's results, and the split they are of, to a store.

    Raises:
        UserError: the store cannot be written; the results stay in the run folder, and running again feeds them.
    """
    from curation.store.store import Store

    try:
        with Store.open(path, write=True) as store:
            store.put_split(split)
            for outcome in outcomes:
                store.put_results(outcome.manifest, outcome.folder.results().values())
    except UserError as error:
        raise UserError(
            f"the run is finished, but its results could not be fed back to the store: {error}",
            fix="the same command again feeds them, nothing is computed twice",
        ) from None


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
    statement_calls: CallEstimate | None = None


def size(config: RunConfig) -> Size:
    """Count what a run would do, without loading a model.

    ``tokens`` is a rough count for one editor (characters divided by four). The time is that of the cases which this
    run folder has finished, carried over to the others.
    """
    endpoint = is_endpoint(config.model)
    check_device_name(config.device)
    depth = (lambda: None) if endpoint else None
    judged = check_parameters(config.editors, model=config.model, depth=depth, files_here=config.engine != "ray")
    refuse_missing(config.answers_from)
    split = open_split(config.split)
    check_folder(config.out, config.model_dump(mode="json"), split_digest=split.digest)
    support = open_support(config.support, split)
    check_editors(config.editors, split=split, support=support, model=config.model, engine=config.engine)
    check_metrics(config.metrics, split)
    cases = chosen_cases(config, split)
    check_sequence(config.regime, len(cases))
    shared = open_questions(config.specificity, config.documents, model=config.model, metrics=config.metrics)
    metrics = load_metrics(
        config.metrics, Generation(config.generation, split.digest, config.events, config.documents, shared)
    )
    probes = [p for c in cases for p in (*ask(c, metrics), *ask_shared(c, metrics))]
    kinds = dict(Counter(case.group for case in cases))
    labels = (BASELINE, *(n for k in config.editors if k != BASELINE for n in config.regime.labels(k)))
    calls = None
    if endpoint:
        from evaluation.runs.endpoint_engine import estimate_calls

        calls = estimate_calls(probes, _endpoint_of(config, split, cases).access, methods=len(labels))
    finished, failed, seconds = _finished_before(config, cases, metrics, split.digest, support.digest)
    return Size(
        split=f"{split.name}@{split.version}",
        cases=len(cases),
        of=len(split.all_cases),
        kinds=kinds,
        probes=len(probes),
        targets=sum(len(p.targets) for p in scored_probes(probes)),
        tokens=round(sum(len(p.prompt) for p in probes) / CHARACTERS_PER_TOKEN),
        editors=labels,
        finished=finished,
        failed=failed,
        seconds=seconds,
        texts=len(written_probes(probes)),
        text_tokens=sum(p.longest for p in written_probes(probes)),
        support=f"{support.name} {support.digest[:12]}".strip(),
        support_cases=len(support.cases),
        support_left_out=support.left_out,
        layers_checked=judged,
        calls=calls,
        statement_calls=estimate_calls_of(config.editors.values(), cases),
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

    The weights' revision is compared when the model is loaded.
    """
    wanted = config.model_dump(mode="json")
    for path in sorted(config.out.glob(f"{slug(name)}-??????????/manifest.json")):
        folder = EditorFolder(path.parent)
        manifest, stored = folder.manifest(), read_json(path.with_name("config.json"))
        same = {
            "model": all(stored.get(field) == wanted[field] for field in ("model", "dtype", "attention")),
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


def select_editors(config: RunConfig, names: Sequence[str]) -> RunConfig:
    """The configuration with these editors only: its own labels, or names of methods with their presets.

    Raises:
        UserError: an unknown name.
    """
    if not names:
        return config
    editors = {}
    for name in names:
        if name not in config.editors:
            EDITORS.get(name)
        editors[name] = config.editors.get(name) or {"name": name}
    data = config.model_dump(mode="json") | {
        "editors": {k: v if isinstance(v, dict) else v.model_dump(mode="json") for k, v in editors.items()}
    }
    return RunConfig.model_validate(data)
