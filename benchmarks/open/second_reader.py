"""A language model reads a sample of the open split for the second time, with nothing but the checks that anyone has.

``python -m benchmarks.open.second_reader FOLDER --sample 60`` draws so many script prompts and script questions of
``FOLDER/open.duckdb`` (``benchmarks.open_split`` makes it) by a seed, and has ``verify_leak``, ``verify_cut`` and
``verify_depends`` judge what of them has no verdict of this model yet. Replies are journaled, so a stopped reading goes
on where it was. A larger sample holds the smaller one. ``--page results/open-split.md`` writes the table between the
page's markers; ``--as-it-stands`` asks nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.open.cuts import all_own
from benchmarks.open_split import publish
from benchmarks.support.tables import share, table
from curation.checks.store_checks import CheckContext, make_checks, run_check
from curation.shipped import shipped_split
from curation.splits.split_file import Split
from curation.store.store import Store
from schemas.core.ids import seed
from schemas.scripts import ScriptPrompt, ScriptQuestion

CHECKS = ("verify_leak", "verify_cut", "verify_depends")
MARKS = ("<!-- second reader -->", "<!-- end of the second reader -->")
SAMPLE = 60
CONTEXT = 1024  # tokens of prompt and reply together


def drawn(split: Split, number: int) -> tuple[list[ScriptPrompt], list[ScriptQuestion]]:
    """So many script prompts, and as many script questions, in an order that depends on their ids alone."""
    questions = [q for case in split.cases for q in case.questions]
    return sorted(all_own(split), key=_place)[:number], sorted(questions, key=_place)[:number]


def _place(item: ScriptPrompt | ScriptQuestion) -> int:
    return seed(item.id, "second reader")


def read(store: Store, among: set[str], *, model: str, threads: int) -> None:
    """Have every check judge the sample, one call at a time."""
    around = CheckContext(store)
    options = {name: {"threads": threads, "concurrency": 1, "context": CONTEXT} for name in CHECKS}
    for check in make_checks(CHECKS, models=[model], options=options):
        run_check(store, check, around=around, among=among)
        sys.stderr.write(f"{check.by}: done\n")


def second_reader_table(store: Store, among: set[str]) -> str:
    """What each check said of the sample: kept, doubted, dropped, left without a judgement."""
    labels: dict[tuple[str, str], Counter[str]] = {}
    for verdict in store.verdicts():
        name = verdict.by.split("@")[0]
        if name in CHECKS and verdict.item_id in among:
            labels.setdefault((verdict.by, verdict.model or ""), Counter())[verdict.label or "unscored"] += 1
    rows = []
    for (by, model), counts in sorted(labels.items()):
        rest = ", ".join(f"{n} {label}" for label, n in sorted(counts.items()) if label != "keep")
        rows.append([f"`{by}`", f"`{model}`", share(counts["keep"], counts.total()), rest or "-"])
    return table(["check", "model", "nothing found", "others"], rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the sample and write the table."""
    parser = argparse.ArgumentParser(prog="benchmarks.open.second_reader", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the store stands")
    parser.add_argument("--sample", type=int, default=SAMPLE, help="script prompts, and as many script questions")
    parser.add_argument("--model", default="local")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--page", type=Path, help="the page that gets the table; printed where left out")
    parser.add_argument("--as-it-stands", action="store_true", help="ask nothing")
    options = parser.parse_args(arguments)
    prompts, questions = drawn(shipped_split("open"), options.sample)
    among, path = {item.id for item in (*prompts, *questions)}, options.folder / "open.duckdb"
    if not options.as_it_stands:
        with Store.open(path, write=True) as store:
            read(store, among, model=options.model, threads=options.threads)
    with Store.open(path) as store:
        text = second_reader_table(store, among)
    publish(text, options.page, marks=MARKS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
