"""How often 95 % intervals hold the truth and tests find what is not there: benchmarks/results/coverage.md.

    python -m benchmarks.coverage --write            the page, made anew (some 5 minutes on one idle core)
    python -m benchmarks.coverage --check --runs 200 the promises only; ends with 1 where one is broken

Every row is a design (how the data came about) under one method for several numbers of cases, with what it promises.
``--jobs N`` spreads the page over processes. ``--only WORDS`` takes the rows whose name holds these words. The page
says which code made it; ``--check`` says where that is no longer the present one.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.coverage.page import RUNS, all_rows, broken_promises, made_by, page

PAGE = Path("benchmarks/results/coverage.md")


def main(arguments: list[str] | None = None) -> int:
    """Print or write the page, or check the promises; 1 where one is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--only", default="", help="rows whose name holds these words")
    parser.add_argument("--jobs", type=int, default=1, help="processes for the page; the draws are the same")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--write", action="store_true", help=f"write {PAGE} (repository root)")
    what.add_argument("--check", action="store_true", help="check the promises")
    options = parser.parse_args(arguments)
    rows = [row for row in all_rows() if options.only.lower() in row.name.lower()]
    if not rows:
        parser.error(f"no row's name holds '{options.only}'; the names stand in {PAGE}")
    if options.check:
        broken = broken_promises(rows, runs=options.runs)
        print("\n".join(broken) or f"{len(rows)} rows keep their promises")
        if made_by() not in PAGE.read_text(encoding="utf-8"):
            print(f"{PAGE} was made by other code ({made_by()} now): make it anew with --write")
        return 1 if broken else 0
    if options.write and options.only:
        parser.error("--write makes the whole page: leave out --only")
    text = page(rows, runs=options.runs, jobs=options.jobs)
    if options.write:
        PAGE.write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
