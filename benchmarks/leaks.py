"""Precision and recall of a leakage check on the labelled prompts that we ship.

The threshold comes from one half, the score that counts from the other.

Run: python -m benchmarks.leaks verify_prompt
     python -m benchmarks.leaks predictability --model HuggingFaceTB/SmolLM2-1.7B
     python -m benchmarks.leaks verify_prompt --model gpt-4.1 --set verify_prompt.base_url=http://127.0.0.1:8000/v1
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.checks.leak_benchmark import HalfScore, scores_of_check, study
from curation.checks.store_checks import make_checks
from schemas.core.config import override


def shown(half: HalfScore) -> dict[str, Any]:
    """A half's score as plain values."""
    return {
        "flagged_leaks": half.hits,
        "leaks": half.leaks,
        "flagged_clean": half.false_alarms,
        "clean": half.clean,
        "unscored": half.unscored,
        "precision": half.precision.text(),
        "recall": half.recall.text(),
        "recall_by_grade": {grade: f"{n} of {of}" for grade, (n, of) in sorted(half.by_grade.items())},
        "auc": None if half.auc is None else round(half.auc, 3),
    }


def main() -> None:
    """Print the scores as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("check", help="A check on prompts, see: scedit store check --list")
    parser.add_argument("--model", action="append", default=[])
    parser.add_argument("--set", action="append", default=[], metavar="CHECK.NAME=VALUE")
    parser.add_argument("--folder", type=Path, help="Keep store and journal here, to go on or to look at.")
    parser.add_argument("--threshold", type=float, help="Set it by hand instead of on the dev half.")
    options = parser.parse_args()
    (check,) = make_checks([options.check], models=options.model, options=override({}, options.set))
    with tempfile.TemporaryDirectory() as temporary:
        values = scores_of_check(check, options.folder or Path(temporary))
    score = study(check.by, values, threshold=options.threshold)
    row = {"check": check.by, "model": check.model, "threshold": score.threshold}
    print(json.dumps({**row, "dev": shown(score.dev), "test": shown(score.test)}, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
