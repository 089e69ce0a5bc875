"""How stable the methods' order is over metrics and batch sizes: tables of a finished run, in Markdown.

    scedit run configs/mini.toml --limit 16 --set 'kinds=["counterfactual"]' \
        --editors none,prompt,script_ike,ft_m,ultraedit,rome,memit,alphaedit \
        --set 'regime={name="batch", size=[1, 16]}' --set 'metrics=["es", "es_argmax", "es_gen", "ps", "ps_argmax",
        "ps_gen", "s_es", "ns", "ns_argmax", "ns_gen", "s_ns"]' --out runs/order
    python -m benchmarks.editing.method_order runs/order --page docs/generation.md

``--page`` puts them between the page's marks, and keeps the figures in results/editing/method_order.json.

orders     by efficacy and by locality: every condition's means (percent) with ranks, tau-b with the first condition's
           order and its middle 95 % over resamples of the cases, how often the best method is the same
gaps       from probability to text, each edit alone (batches of one)
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.open_split import put_between
from benchmarks.run import write
from benchmarks.support.tables import table
from curation.stats.intervals import Interval
from evaluation.analysis.comparison import score_run
from evaluation.analysis.facts.method_order import MethodOrder, method_orders
from evaluation.analysis.facts.written_facts import FreeTextGap, free_text_gaps
from evaluation.report.sections import run_metrics
from evaluation.runs.results import Run, load_run

MARKS = ("<!-- order of methods -->", "<!-- end of the order -->")
VALUES = {
    "preferred": "preferred",
    "matched": "argmax a token",
    "whole": "all tokens",
    "first": "first",
    "exact": "exact",
}
STEPS = {"choice": "one rival or all words", "forcing": "teacher forcing", "stop": "stop", "rule": "matching rule"}
"""What a gap has, and the heads of its columns."""
PLACES = {"fact": "fact prompt", "paraphrase": "paraphrases"}


def orders(run: Run) -> list[MethodOrder]:
    """The orders of a run over its metrics and sizes."""
    metrics = run_metrics(run)
    return method_orders(run, score_run(run, metrics, run.about["normalisation"]), metrics)


def order_table(order: MethodOrder) -> str:
    """One row a condition; in a method's cell its mean and, in brackets, its rank."""
    rows = []
    for one in order.conditions:
        tau = "–" if one.tau is None else f"{one.tau:.2f}"
        ends = "" if one.ends is None else f" [{one.ends[0]:.2f}, {one.ends[1]:.2f}]"
        same = "–" if one.tau is None else f"{100 * one.same_best:.0f}"
        cells = [f"{100 * one.means[m]:.1f} ({one.ranks[m]:g})" for m in order.methods]
        rows.append([one.title, *cells, tau + ends, same])
    return table([order.subject, *(f"`{m}`" for m in order.methods), "tau-b", "same best, %"], rows)


def gap_table(gaps: Sequence[FreeTextGap]) -> str:
    """One row a method and place: values from preferred to exact, then what every step takes away, in points."""
    rows = []
    for gap in gaps:
        values = [percent(getattr(gap, name)) for name in VALUES]
        steps = [percent(getattr(gap, name), signed=True) for name in STEPS]
        rows.append([PLACES[gap.place], f"`{gap.label}`", gap.prompts, *values, *steps])
    return table(["asked", "method", "prompts", *VALUES.values(), *STEPS.values()], rows)


def percent(interval: Interval, *, signed: bool = False) -> str:
    """Mean and ends in percent, or in points with their sign."""
    if interval.mean is None:
        return "–"
    form = "+.1f" if signed else ".1f"
    ends = "" if interval.low is None or interval.high is None else (100 * interval.low, 100 * interval.high)
    return f"{100 * interval.mean:{form}}" + (f" [{ends[0]:{form}}, {ends[1]:{form}}]" if ends else "")


def alone(run: Run) -> list[FreeTextGap]:
    """Gaps at fact prompts and paraphrases, of the unedited model and of edits that were made one at a time."""
    single = {e.label for e in run.editors[1:] if e.manifest.regime in ("single", "batch:1")} | {run.baseline.label}
    gaps = free_text_gaps(run, run.about["normalisation"])
    return [gap for gap in gaps if gap.place in PLACES and gap.label in single]


def figures(found: Sequence[MethodOrder]) -> list[dict[str, Any]]:
    """What is kept: all conditions, to the last digit."""
    return [
        {**order._asdict(), "conditions": [condition._asdict() for condition in order.conditions]} for order in found
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args(arguments)
    run = load_run(options.run)
    found = orders(run)
    text = "\n\n".join([*map(order_table, found), gap_table(alone(run))])
    print(text)
    if options.page is not None:
        page = options.page.read_text(encoding="utf-8")
        options.page.write_text(put_between(page, text, marks=MARKS), encoding="utf-8")
        write("editing/method_order", {"split": f"{run.split.name} {run.split.digest[:12]}", "orders": figures(found)})


if __name__ == "__main__":
    main()
