"""How many ratings a panel saves by means corrected for severity and their stop rule, and what its intervals cover.

    python -m benchmarks.rating.more_ratings [--studies 40] [--coverage 200] [--write]

Ratings are simulated. ``--write`` puts the tables into docs/more-ratings.md, between its marks.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.rating.panels import Scripts, panel
from curation.stats.bounded import difference_interval
from curation.stats.severity_means import ScaleRating, SeverityReport, severity_report
from schemas.core.errors import UserError

SCALE = (1.0, 7.0)
PAGE = Path(__file__).resolve().parents[2] / "docs" / "more-ratings.md"


def corrected(ratings: Sequence[ScaleRating]) -> SeverityReport:
    """Means corrected for severity, on the scale of the ratings."""
    return severity_report(ratings, {r.aspect: SCALE for r in ratings})


class Coverage(NamedTuple):
    """Share of 95 % intervals that hold the truth, and the mean error of the means."""

    means: float
    differences: float
    bias: float


def coverage(
    *, cases: int, persons: int, methods: int, aspects: int, overlap: int, studies: int, seed: int
) -> Coverage:
    """Over simulated studies, each with people, scripts and ratings of its own."""
    rng, means, apart, errors = np.random.default_rng(seed), [], [], []
    for _ in range(studies):
        world = panel(rng, persons=persons, methods=methods, aspects=aspects)
        scripts, truth = Scripts(world, rng, cases=cases), world.true_means
        report = corrected(scripts.rated(scripts.shared(rng, overlap=overlap)))
        for (aspect, method), e in report.means.items():
            true = truth[int(aspect[1:]), int(method[1:])]
            assert e.value is not None and e.low is not None and e.high is not None
            means.append(e.low <= true <= e.high)
            errors.append(e.value - true)
        for d in report.differences:
            a = int(d.aspect[1:])
            true = truth[a, int(d.first[1:])] - truth[a, int(d.second[1:])]
            assert d.difference.low is not None and d.difference.high is not None
            apart.append(d.difference.low <= true <= d.difference.high)
    return Coverage(float(np.mean(means)), float(np.mean(apart)), float(np.mean(errors)))


def plain_width(ratings: Sequence[ScaleRating]) -> float:
    """Width of the widest interval of a paired difference between plain means, by case."""
    values: dict[tuple[str, str], list[int]] = {}
    for r in ratings:
        values.setdefault((r.case, r.method), []).append(r.value)
    means = {k: float(np.mean(v)) for k, v in values.items()}
    methods, cases = sorted({m for _, m in means}), sorted({c for c, _ in means})
    out = []
    for n, first in enumerate(methods):
        for second in methods[n + 1 :]:
            sides = ({c: means[c, m] for c in cases if (c, m) in means} for m in (first, second))
            low, high = difference_interval(*sides, scale=SCALE).ends or (0.0, float("inf"))
            out.append(high - low)
    return max(out)


class StopSignal(NamedTuple):
    """Where a study stopped: ratings that it took, and whether each difference's interval held the truth then."""

    ratings: int
    met: bool
    held: tuple[bool, ...]


def study(way: str, seed: int, *, cases: int, persons: int, overlap: int, width: float, step: int = 12) -> StopSignal:
    """One study: people rate ``step`` items each, then the rule is asked, and so on.

    Args:
        way: ``plain`` (plain means) or ``model`` (corrected for severity); the order is by chance.
        seed: Of the world: the same for each way.
        cases: Of four scripts each.
        persons: Who rate.
        overlap: Raters per item, at most.
        width: Of the rule.
        step: Items a person between two looks.
    """
    rng = np.random.default_rng(seed)
    world = panel(rng, persons=persons)
    scripts = Scripts(world, rng, cases=cases)
    queue, pairs = scripts.shared(rng, overlap=overlap), []
    while queue:
        room = Counter({f"p{p}": step for p in range(persons)})
        turn = []
        for pair in queue:
            if room[pair[0]] > 0 and pair not in pairs:
                turn.append(pair)
                room[pair[0]] -= 1
        if not turn:
            break
        pairs += turn
        queue = [pair for pair in queue if pair not in set(turn)]
        rows = scripts.rated(pairs)
        if way == "plain":
            if plain_width(rows) < width:
                return StopSignal(len(pairs), True, ())
            continue
        try:
            report = corrected(rows)
        except UserError:
            continue
        if report.reached(width):
            truth = world.true_means[0]
            held = []
            for d in report.differences:
                assert d.difference.low is not None and d.difference.high is not None
                held.append(d.difference.low <= truth[int(d.first[1:])] - truth[int(d.second[1:])] <= d.difference.high)
            return StopSignal(len(pairs), True, tuple(held))
    return StopSignal(len(pairs), False, ())


def savings(studies: int, *, cases: int = 80, persons: int = 4, overlap: int = 3, width: float = 0.8) -> str:
    """The table of ratings until every difference is narrower than ``width``."""
    lines = [
        "| way | ratings (mean) | of all | saved | met the rule | intervals that held the truth then |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    whole, first = cases * 4 * overlap, 0.0
    for way, name in (
        ("plain", "plain means"),
        ("model", "corrected means and stop rule"),
    ):
        signals = [study(way, s, cases=cases, persons=persons, overlap=overlap, width=width) for s in range(studies)]
        print(way, signals, flush=True)
        mean = float(np.mean([f.ratings for f in signals]))
        first = first or mean
        held = [h for f in signals for h in f.held]
        lines.append(
            f"| {name} | {mean:.0f} | {mean / whole:.0%} | {1 - mean / first:.0%} | {sum(f.met for f in signals)} of "
            f"{studies} | {f'{np.mean(held):.1%}' if held else ''} |"
        )
    return "\n".join(lines)


def covered(studies: int) -> str:
    """The table of coverage."""
    lines = ["| design | studies | means | differences | mean error |", "| --- | ---: | ---: | ---: | ---: |"]
    for cases, persons, methods, aspects, overlap in (
        (100, 4, 4, 1, 2),
        (40, 4, 3, 1, 2),
        (20, 3, 4, 1, 3),
        (40, 5, 3, 3, 2),
    ):
        result = coverage(
            cases=cases, persons=persons, methods=methods, aspects=aspects, overlap=overlap, studies=studies, seed=7
        )
        name = f"{cases} cases, {methods} methods, {aspects} aspect{'s' * (aspects > 1)}, {overlap} of {persons} people"
        print(name, result, flush=True)
        lines.append(f"| {name} | {studies} | {result.means:.1%} | {result.differences:.1%} | {result.bias:+.3f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=40)
    parser.add_argument("--coverage", type=int, default=200)
    parser.add_argument("--write", action="store_true", help="put the tables into the page")
    options = parser.parse_args()
    tables = {"coverage": covered(options.coverage), "savings": savings(options.studies)}
    for name, table in tables.items():
        print(f"\n{name}\n{table}", flush=True)
    if options.write:
        text = PAGE.read_text(encoding="utf-8")
        for name, table in tables.items():
            text = re.sub(rf"(<!-- {name} -->\n).*?(\n<!-- end -->)", rf"\g<1>{table}\g<2>", text, flags=re.DOTALL)
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
