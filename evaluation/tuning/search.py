"""Tuning: settings of a method searched on development cases, at a budget that is stated and equal for every method.

The budget counts evaluations of one setting on one edit. Settings are drawn at random; successive halving (Jamieson &
Talwalkar 2016) gives all of them a few cases, the best third more, and so on. The preset competes from first to last on
every case, so what is printed can be compared with it. Every edit is journaled by the runner: a search that was killed
resumes with the next one.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import Field, model_validator

from curation.case_sources.opening import choose
from curation.case_sources.support import TrainingData
from curation.files.atomic import write_json
from curation.splits.split_file import Split
from curation.stats.estimates import harmonic_mean
from evaluation.editors.presets import options
from evaluation.metrics.base import Metric, Summary
from evaluation.metrics.generation import metrics_of
from evaluation.models.language_model import LM
from evaluation.runs.config import EditorChoice, RunConfig
from evaluation.runs.frame import score_run
from evaluation.runs.progress import EditorProgress
from evaluation.runs.refusals import refuse_overlap
from evaluation.runs.results import OTHER_OUT, Run, load_run
from evaluation.runs.runner import execute
from schemas.core.config import Options, read_toml, validate
from schemas.core.errors import UserError
from schemas.core.ids import seed

Pair = Annotated[tuple[float, float], Field(min_length=2, max_length=2)]


class SearchRange(Options):
    """A range of one option.

    Attributes:
        log: Lowest and highest number, its logarithm uniform.
        linear: The number itself uniform.
        among: Values to choose from.
        depth: A layer, as a share of the model's depth from lowest to highest.
        span: With ``depth``: as many layers in a row that end there, fewest to most.
    """

    log: Pair | None = None
    linear: Pair | None = None
    among: tuple[Any, ...] | None = None
    depth: Pair | None = None
    span: tuple[int, int] | None = None

    @model_validator(mode="after")
    def _check_one(self) -> SearchRange:
        if sum(x is not None for x in (self.log, self.linear, self.among, self.depth)) != 1:
            raise ValueError("give one of log, linear, among, depth")
        if self.span and (self.depth is None or not 1 <= self.span[0] <= self.span[1]):
            raise ValueError("span goes with depth, and counts from 1")
        for pair in (self.log, self.linear, self.depth):
            if pair is not None and not pair[0] < pair[1]:
                raise ValueError("the lower end comes first")
        if self.log is not None and self.log[0] <= 0:
            raise ValueError("a logarithmic range is above 0")
        if self.among is not None and not self.among:
            raise ValueError("among names at least one value")
        return self

    def draw(self, random_: random.Random, depth: int) -> Any:
        """A value; numbers are rounded to three digits, which is what a preset shows."""
        if self.among is not None:
            return random_.choice(self.among)
        if self.depth is not None:
            last = min(depth - 1, round(random_.uniform(*self.depth) * depth))
            if self.span is None:
                return last
            return list(range(max(0, last + 1 - random_.randint(*self.span)), last + 1))
        if self.log is not None:
            return _round(math.exp(random_.uniform(math.log(self.log[0]), math.log(self.log[1]))))
        assert self.linear is not None
        return _round(random_.uniform(*self.linear))


def _round(value: float) -> float:
    return float(f"{value:.3g}")


class SearchSpace(Options):
    """Ranges by option."""

    ranges: dict[str, SearchRange]

    @classmethod
    def of(cls, method: str, file: Path | None = None) -> SearchSpace:
        """A method's search space, from the table that comes with the program or from a file of the same form.

        Raises:
            UserError: the method has none, or a range is wrong.
        """
        where = "evaluation/tuning/search_spaces.toml" if file is None else str(file)
        table = read_toml(file or Path(__file__).with_name("search_spaces.toml"))
        if not isinstance(table.get(method), dict) or not table[method]:
            raise UserError(
                f"no ranges are known for '{method}'",
                where=where,
                allowed=", ".join(table),
                fix="give a TOML file with --space: one table a method, one range an option",
            )
        return validate(cls, {"ranges": table[method]}, where=f"{where}, [{method}]")

    def draw(self, number: int, *, purpose: str, depth: int, constants: Mapping[str, Any]) -> dict[str, Any]:
        """The setting of a number: the same for the same purpose, whatever else is drawn; ``constants`` stay."""
        random_ = random.Random(seed(purpose, str(number), "setting"))
        drawn = {name: one.draw(random_, depth) for name, one in sorted(self.ranges.items())}
        return {**drawn, **constants}


FACTOR = 3  # of the settings one in so many goes on; those that do get so many times the cases
PRESET = "preset"


class Rung(NamedTuple):
    """A step of the search: so many drawn settings (the preset comes on top) on the first ``cases`` cases."""

    settings: int
    cases: int


class ScoredSetting(NamedTuple):
    """A setting and how it did on the first ``cases`` cases: the objective, and each metric's mean.

    ``shortfall`` is what it lacks of the metrics that must be reached, summed; 0 where all are.
    """

    label: str
    params: dict[str, Any]
    cases: int
    objective: float
    metrics: dict[str, float]
    failed: int
    shortfall: float = 0.0

    @property
    def merit(self) -> tuple[float, float]:
        """What settings are ordered by: those that lack nothing first, by the objective."""
        return -self.shortfall, self.objective


class SearchResult(NamedTuple):
    """A finished search.

    Attributes:
        best: The best setting of those that reached the last rung; the preset where none is better.
        preset: The preset on the same cases.
        tried: All settings, each at its last rung, best first.
        used: Evaluations of one setting on one edit that the plan took, of ``budget``.
    """

    method: str
    best: ScoredSetting
    preset: ScoredSetting
    tried: tuple[ScoredSetting, ...]
    rungs: tuple[Rung, ...]
    used: int
    budget: int


def plan(budget: int, cases: int, *, first: int) -> tuple[Rung, ...]:
    """Rungs of the largest search within a budget.

    Args:
        budget: Evaluations of one setting on one edit, the preset's included.
        cases: Development cases.
        first: Cases of the first rung.

    Raises:
        UserError: the budget is too small for one setting beside the preset.

    Example:
        >>> plan(100, 30, first=4)
        (Rung(settings=7, cases=4), Rung(settings=3, cases=12), Rung(settings=1, cases=30))
        >>> cost(plan(100, 30, first=4))
        100
    """
    best: tuple[Rung, ...] = ()
    for count in range(1, budget):
        rungs = _rungs(count, cases, first=min(first, cases))
        if cost(rungs) <= budget:
            best = rungs
    if not best:
        raise UserError(f"a budget of {budget} is too small", fix=f"give at least {2 * min(first, cases)}")
    return _lengthen(best, budget, cases)


def _rungs(count: int, cases: int, *, first: int) -> tuple[Rung, ...]:
    rungs = [Rung(count, first)]
    while rungs[-1].settings > 1 and rungs[-1].cases < cases:
        rungs.append(Rung(-(-rungs[-1].settings // FACTOR), min(cases, rungs[-1].cases * FACTOR)))
    return tuple(rungs)


def _lengthen(rungs: tuple[Rung, ...], budget: int, cases: int) -> tuple[Rung, ...]:
    """The last rung on more cases, if the budget allows."""
    last = rungs[-1]
    more = (budget - cost(rungs)) // (last.settings + 1)
    return (*rungs[:-1], last._replace(cases=min(cases, last.cases + more)))


def cost(rungs: Sequence[Rung]) -> int:
    """Evaluations that rungs take: settings that go on have their first cases behind them."""
    before = [0, *(r.cases for r in rungs)]
    return sum((rung.settings + 1) * (rung.cases - done) for rung, done in zip(rungs, before, strict=False))


def search(
    method: str,
    lm: LM,
    split: Split,
    config: RunConfig,
    *,
    budget: int,
    objective: Sequence[str],
    subject_to: Mapping[str, float] | None = None,
    number: int = 0,
    first: int = 4,
    space: Path | None = None,
    constants: Mapping[str, Any] | None = None,
    on_event: Callable[[EditorProgress], None] | None = None,
) -> SearchResult:
    """Search one method's settings.

    Args:
        method: Name in ``EDITORS``.
        lm: The model.
        split: Development cases.
        config: What a run on them is like; its editors, metrics and limit are set here, its folder holds the journals.
        budget: Evaluations of one setting on one edit.
        objective: Metrics whose harmonic mean is maximised.
        subject_to: Shares that further metrics must reach; where no setting does, the one that lacks least is best.
        number: Of the search: another one draws other settings.
        first: Cases of the first rung.
        space: File of ranges; None: those that come with the program.
        constants: Options that every setting has, the preset too.
        on_event: Called with the runner's progress.

    Raises:
        UserError: no ranges, too small a budget, or no case that a metric of the objective asks anything of.
    """
    rungs = plan(budget, len(choose(split, kinds=config.kinds)), first=first)
    ranges, purpose = SearchSpace.of(method, space), f"tune/{method}/{split.digest}/{number}"
    settings = _settings(method, lm, ranges, rungs[0].settings, purpose=purpose, constants=dict(constants or {}))
    tried, least = dict[str, ScoredSetting](), dict(subject_to or {})
    alive = [label for label in settings if label != PRESET]
    for rung in rungs:
        alive = alive[: rung.settings]
        wanted = {label: settings[label] for label in (PRESET, *alive)}
        run = _run(method, lm, config, wanted, cases=rung.cases, metrics=(*objective, *least), on_event=on_event)
        tried |= _score_settings(run, wanted, objective, least)
        alive.sort(key=lambda label: tried[label].merit, reverse=True)  # stable: of equals the first drawn
    best = max((tried[label] for label in (PRESET, *alive)), key=lambda t: t.merit)
    ranked = tuple(sorted(tried.values(), key=lambda t: (t.cases, *t.merit), reverse=True))
    result = SearchResult(method, best, tried[PRESET], ranked, rungs, cost(rungs), budget)
    write_json(config.out / f"tune-{method}-{number}.json", plain(result), fix=OTHER_OUT)
    return result


def _settings(
    method: str, lm: LM, ranges: SearchSpace, count: int, *, purpose: str, constants: dict[str, Any]
) -> dict[str, dict[str, Any]]:
    """The preset and drawn settings by label, each with all of the preset's other options."""
    depth = lm.layout.depth
    drawn = {f"s{n:03d}": ranges.draw(n, purpose=purpose, depth=depth, constants=constants) for n in range(count)}
    return {label: options(method, lm, settings) for label, settings in {PRESET: constants, **drawn}.items()}


def _run(
    method: str,
    lm: LM,
    config: RunConfig,
    settings: Mapping[str, dict[str, Any]],
    *,
    cases: int,
    metrics: Sequence[str],
    on_event: Callable[[EditorProgress], None] | None,
) -> Run:
    out = config.out / method
    editors = {label: EditorChoice(name=method, params=params) for label, params in settings.items()}
    wanted = config.model_copy(
        update={
            "editors": editors,
            "metrics": tuple(dict.fromkeys(metrics)),
            "limit": cases,
            "out": out,
            "max_failures": 1.0,
        }
    )
    execute(wanted, lm=lm, on_event=on_event)
    return load_run(out)


def _score_settings(
    run: Run, settings: Mapping[str, dict[str, Any]], objective: Sequence[str], least: Mapping[str, float]
) -> dict[str, ScoredSetting]:
    metrics = [metric for metric in metrics_of(run.about) if metric.name in {*objective, *least}]
    scores = score_run(run, metrics, run.about["normalisation"])
    out = {}
    for editor in run.editors:
        if editor.label not in settings:
            continue
        failed = sum(result.error is not None for result in editor.results.values())
        means = {}
        for metric in metrics:
            summary = metric.summarise(list(scores.by_editor[editor.label][metric.name].values()))
            _refuse_unfit(metric, summary, run, editor.results)
            done = len(editor.results) - failed
            value = (summary.mean or 0.0) * done / max(1, len(editor.results))  # a failed edit counts as 0
            means[metric.name] = 1 - value if metric.better == "lower" else value
        out[editor.label] = ScoredSetting(
            editor.label,
            dict(settings[editor.label]),
            len(editor.results),
            harmonic_mean([means[name] for name in objective]),
            means,
            failed,
            sum(max(0.0, share - means[name]) for name, share in least.items()),
        )
    return out


def _refuse_unfit(metric: Metric, summary: Summary, run: Run, results: Collection[str]) -> None:
    fix = "give another --objective, such as es,ps,ns, or em of documents"
    if not any(metric.probes(case) for case in run.split.all_cases if case.key in results):
        raise UserError(f"no case of '{run.split.name}' has anything for the metric '{metric.name}'", fix=fix)
    if summary.unit == "perplexity":
        raise UserError(f"'{metric.name}' is a perplexity, and what is maximised or reached is a share", fix=fix)


def refuse_evaluated(development: Split, evaluated: Sequence[Split]) -> None:
    """Refuse a development split that shares facts with one that is to be evaluated.

    Raises:
        UserError: it names what is shared.
    """
    seen = TrainingData.of(development.name, development.all_cases)
    for split in evaluated:
        refuse_overlap(seen, split, where=f"--split {development.name}")


def snippet(
    result: SearchResult,
    *,
    model: str,
    split: Split,
    number: int,
    objective: Sequence[str],
    subject_to: Mapping[str, float] | None = None,
) -> str:
    """The best setting as a preset with its source, as TOML."""
    best, words = result.best, "+".join(objective)
    reached = ", ".join(f"{name} {best.metrics[name]:.3f}" for name in subject_to or {})
    wanted = ", ".join(f"{name} at least {share:g}" for name, share in (subject_to or {}).items())
    limits = f", subject to {wanted} (reached: {reached})" if wanted else ""
    params = ", ".join(f"{name} = {_toml(value)}" for name, value in best.params.items())
    source = (
        f"scedit model tune {result.method} on {split.name}@{split.version} ({split.digest[:12]}), model {model}: "
        f"budget {result.budget}, seed {number}, harmonic mean of {words} {best.objective:.3f} over {best.cases} cases"
        f"{limits} (preset before: {result.preset.objective:.3f})"
    )
    name = model.rstrip("/").rsplit("/", 1)[-1].lower()
    return f'[[preset]]\nmethod = "{result.method}"\nmatch = ["{name}"]\nparams = {{ {params} }}\nsource = "{source}"\n'


def _toml(value: Any) -> str:
    return json.dumps(list(value) if isinstance(value, tuple) else value)


def plain(result: SearchResult) -> dict[str, Any]:
    """A search as JSON values."""
    best, preset, *tried = (  # what a setting lacks only where it lacks something
        {name: value for name, value in one._asdict().items() if value or name != "shortfall"}
        for one in (result.best, result.preset, *result.tried)
    )
    rungs = [rung._asdict() for rung in result.rungs]
    return {**result._asdict(), "best": best, "preset": preset, "tried": tried, "rungs": rungs}
