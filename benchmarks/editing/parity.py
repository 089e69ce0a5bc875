"""How close our edits are to the published code's, on every case of the reference results, edits made together.

    SCEDIT_SHARED=../shared python -m benchmarks.editing.parity --write

Printed: the difference of any prompt's negative log-likelihood a token after the edit, in nats: the largest, the
largest in all cases but that one, and the mean.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.run import write
from benchmarks.support.workload import shared
from evaluation.editors.base import Editor
from evaluation.models.language_model import LM
from schemas.core.errors import UserError
from tests.evaluation.scenarios import test_memit_parity, test_parity


def editors(lm: LM, reference: Path, folder: Path) -> Iterator[tuple[str, str, Editor]]:
    """Name of a row, file of its reference results, and our editor with the published options."""
    for name, (file, _) in test_parity.TUNING.items():
        yield name, file, test_parity.tuning(name, lm, folder)
    for name, (file, _) in test_parity.ROME.items():
        yield name, file, test_parity.rome(name, lm, reference, folder)
    test_memit_parity.measure(lm, reference, folder)
    for lam, file in test_memit_parity.MEMIT.items():
        yield f"memit, lambda {lam}", file, test_memit_parity.memit(lam, lm, reference, folder)


def differences(lm: LM, editor: Editor, cases: list[test_parity.Case]) -> list[list[float]]:
    """By case, for every prompt, the difference of the NLL after the edit, in nats a token."""
    gaps: list[list[float]] = []
    for case, edit in zip(cases, editor.edit_each([case.fact for case in cases]), strict=True):
        with edit.on(lm):
            ours = test_parity.nlls(lm, case)
        gaps.append([abs(a - b) for a, b in zip(ours, case.after, strict=True)])
    return gaps


def main() -> None:
    """Print a row for each set of reference results; with ``--write`` store them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="store the result in results/parity.json")
    options = parser.parse_args()
    folder = shared()
    if folder is None or not (folder / "reference").is_dir():
        raise UserError("the reference results are not here", fix="set SCEDIT_SHARED to the folder that holds them")
    lm = LM.load("embedded", device="cpu")
    results: dict[str, Any] = {"model": "SmolLM2-135M-Instruct (embedded), float32, CPU"}
    with tempfile.TemporaryDirectory() as work:
        for name, file, editor in editors(lm, folder / "reference", Path(work)):
            cases = test_parity.cases(folder / "reference", file)
            by_case = differences(lm, editor, cases)
            gaps, largest = [gap for case in by_case for gap in case], sorted(max(case) for case in by_case)
            results[name] = {
                "cases": len(cases),
                "largest": largest[-1],
                "largest of the other cases": largest[-2],
                "mean": sum(gaps) / len(gaps),
            }
            print(f"{name}: {json.dumps(results[name])}", file=sys.stderr, flush=True)
    if options.write:
        write("parity", results)


if __name__ == "__main__":
    main()
