"""SIGKILL at random moments of a run on documents: the same answers, shared questions asked once a state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from curation.splits.split_file import Split, make_split
from evaluation.report.write import write_report
from evaluation.runs.results import load_run
from schemas.answers import Answer
from tests.evaluation.scenarios.test_killed import killed_and_resumed
from tests.support import forked_programs as programs
from tests.support.arithmetic import make_config
from tests.support.documents.runs import numbered_case
from tests.support.documents.shared import write_set
from tests.support.evaluation.tiny_runs import run_tiny
from tests.support.stats.nearly import nearly
from tests.support.tiny import make

EDITORS = ["ice", {"name": "ft_lm", "params": {"lr": 1e-3, "epochs": 2, "scope": "mlps"}}]
REGIMES: dict[str, Any] = {
    "single": "single",
    "batch": {"name": "batch", "size": 3},
    "sizes": {"name": "batch", "size": [3, 1]},
}
STATES = {"single": 7, "batch": 3}
METRICS = ["em", "ppl", "em_spec", "ppl_spec"]


def documents() -> Split:
    """Seven documents with two probes each: two whole batches and a smaller one."""
    return make_split("documents", [numbered_case(n, {f"Lima {n}": (), "Oslo": ("place",)}) for n in range(7)])


def run(out: Path, regime: str) -> None:
    """All documents under two methods and the unedited model."""
    lm = make("llama", max_position_embeddings=256)
    known = {"file": str(write_set(out.parent / "sets", model=lm.name)), "number": 3}
    config = make_config(out, editors=EDITORS, regime=REGIMES[regime], metrics=METRICS, specificity=known)
    run_tiny(config, documents(), lm)


PROGRAM = """
import sys
from pathlib import Path
import torch
torch.set_num_threads(1)
from tests.evaluation.scenarios.test_documents_killed import run
run(Path(sys.argv[1]), sys.argv[2])
"""


def start(out: Path, regime: str) -> programs.Program:
    """A run in a process of its own."""
    return programs.start(PROGRAM, out, regime, modules=(__name__,))


def dumped(answers: Iterable[Answer]) -> list[dict[str, Any]]:
    return [answer.model_dump() for answer in answers]


def answers_by_unit(out: Path) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Answers of every work unit, specificity questions among them, by label and unit."""
    folders = [(editor.label, editor.folder) for editor in load_run(out).editors if editor.folder is not None]
    return {(label, key): dumped(unit.answers) for label, folder in folders for key, unit in folder.units().items()}


def states_asked(out: Path) -> Counter[str]:
    """Units that answer the specificity questions too, and so more than the others, by label: one a state."""
    answers = answers_by_unit(out)
    fewest = min(map(len, answers.values()))
    return Counter(label for (label, _), some in answers.items() if len(some) > fewest)


def lines(out: Path) -> Counter[str]:
    """Lines of every method's journal."""
    return Counter({path.parent.name: path.read_bytes().count(b"\n") for path in out.glob("*/journal.jsonl")})


def asked_once(regime: str, whole: Path, out: Path, shots: int) -> None:
    """The result is that of an undisturbed run, and every state answered the specificity questions once."""
    assert states_asked(whole) == {"none": 1, "ice": STATES[regime], "ft_lm": STATES[regime]}
    assert answers_by_unit(out) == nearly(answers_by_unit(whole))
    repeated = lines(out) - lines(whole)
    assert sum(repeated.values()) <= shots, "at most the state that was in hand at a kill is asked again"


@pytest.mark.slow
def test_killed_three_times_in_a_batch(tmp_path: Path) -> None:
    killed_and_resumed(3, partial(start, regime="batch"), tmp_path, 3, partial(asked_once, "batch"))


def test_several_sizes_in_one_run_are_the_runs_of_each(tmp_path: Path) -> None:
    """Same answers, same identities, shared questions once a state of each size; the report has a curve and a table."""
    for name in ("sizes", "batch"):
        run(tmp_path / name / "run", name)
    both, three = (load_run(tmp_path / name / "run") for name in ("sizes", "batch"))
    assert {e.label: e.manifest.regime for e in both.editors} == {
        "none": "single",
        "ice (batch of 1)": "batch:1",
        "ice (batch of 3)": "batch:3",
        "ft_lm (batch of 1)": "batch:1",
        "ft_lm (batch of 3)": "batch:3",
    }
    found = {e.label: e for e in both.editors}
    for editor in three.editors[1:]:
        same = found[f"{editor.label} (batch of 3)"]
        assert same.manifest == editor.manifest and same.folder is not None and editor.folder is not None
        assert {k: dumped(v.answers) for k, v in same.folder.units().items()} == nearly(
            {k: dumped(v.answers) for k, v in editor.folder.units().items()}
        )
    assert sorted(states_asked(tmp_path / "sizes" / "run").values()) == [1, 3, 3, 7, 7]
    assert both.regimes == ("batch:1", "batch:3")
    files = write_report([tmp_path / "sizes" / "run"], out=tmp_path / "report").files
    page = files[0].read_text(encoding="utf-8")
    assert page.count(">edits made together</text>") >= 2
    assert '<th scope="row">ft_lm</th><td>EM</td><td>3</td>' in page


@pytest.mark.slow
def test_killed_eight_times_with_each_document_alone(tmp_path: Path) -> None:
    killed_and_resumed(8, partial(start, regime="single"), tmp_path, 21, partial(asked_once, "single"))
