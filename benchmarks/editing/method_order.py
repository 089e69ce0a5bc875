"""How stable the methods' order is over metrics and batch sizes: tables of a finished run, in Markdown.

    scedit run configs/mini.toml --limit 16 --set 'kinds=["counterfactual"]' \
        --editors none,prompt,script_ike,ft_m,ultraedit,rome,memit,alphaedit \
        --set 'regime={name="batch", size=[1, 16]}' --set 'metrics=["es", "es_argmax", "es_gen", "ps", "ps_argmax",
        "ps_gen", "s_es", "ns", "ns_argmax", "ns_gen", "s_ns"]' --out runs/order
    python -m benchmarks.editing.method_order runs/order --page benchmarks/results/method-order.md

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

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.open_split import put_between
from benchmarks.run import write
from benchmarks.support.tables import table
from evaluation.analysis.method_order import MethodOrder, method_orders
from evaluation.analysis.tables import FigureTable, Rate, rates
from evaluation.analysis.written_facts import LOSSES, STAGES, asked_in_every_way, prompt_values
from evaluation.metrics.generation import metrics_of
from evaluation.report.formatting import one_cell
from evaluation.runs.frame import score_run
from evaluation.runs.results import Run, load_run

MARKS = ("<!-- order of methods -->", "<!-- end of the order -->")
COLUMNS: tuple[Rate, ...] = (*(STAGES[n] for n in (0, 1, 2, 5, 4)), *(LOSSES[n] for n in (0, 1, 3, 4)))
"""From preferred to exact, then what every stage takes away."""
PLACES = {"fact": "fact prompt", "paraphrase": "paraphrases"}


def orders(run: Run) -> list[MethodOrder]:
    """The orders of a run over its metrics and sizes."""
    metrics = metrics_of(run.about)
    return method_orders(run, score_run(run, metrics, run.about["normalisation"]), metrics)


def order_table(order: MethodOrder) -> str:
    """One row a condition; in a method's cell its mean and, in brackets, its rank."""
    rows = []
    for one in order.conditions:
        tau = "–" if one["tau"] is None else f"{one['tau']:.2f}"
        ends = "" if one["ends"] is None else " [{:.2f}, {:.2f}]".format(*one["ends"])
        same = "–" if one["same_best"] is None else f"{100 * one['same_best']:.0f}"
        cells = [f"{100 * one['means'][m]:.1f} ({one['ranks'][m]:g})" for m in order.methods]
        rows.append([one["title"], *cells, tau + ends, same])
    return table([order.subject, *(f"`{m}`" for m in order.methods), "tau-b", "same best, %"], rows)


def gap_table(run: Run) -> FigureTable:
    """One row a place and method, of the unedited model and of edits that were made one at a time."""
    single = {e.label for e in run.editors[1:] if e.manifest.regime in ("single", "batch:1")} | {run.baseline.label}
    values = asked_in_every_way(prompt_values(run, run.about["normalisation"]))
    some = [v for v in values if v["place"] in PLACES and v["method"] in single]
    rows = [(PLACES[str(p)], f"`{m}`", *rest) for p, m, *rest in rates(some, ["place", "method"], COLUMNS)]
    return FigureTable("", ("asked", "method", "prompts", *(column.title for column in COLUMNS)), tuple(rows))


def markdown(gaps: FigureTable) -> str:
    """The table with its heads in small letters."""
    rows = [[one_cell(cell, head) for cell, head in zip(row, gaps.head, strict=True)] for row in gaps.rows]
    return table([head.lower() for head in gaps.head], rows)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args(arguments)
    run = load_run(options.run)
    found = orders(run)
    text = "\n\n".join([*map(order_table, found), markdown(gap_table(run))])
    print(text)
    if options.page is not None:
        page = options.page.read_text(encoding="utf-8")
        options.page.write_text(put_between(page, text, marks=MARKS), encoding="utf-8")
        write(
            "editing/method_order",
            {"split": f"{run.split.name} {run.split.digest[:12]}", "orders": [order._asdict() for order in found]},
        )


if __name__ == "__main__":
    main()
