"""Parts of a run (``part = "i/n"``) joined into one folder, which equals that of an undivided run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from curation.files.journal import Journal
from evaluation.runs.results import OTHER_OUT, EditorFolder, Run, load_run, read_with_digest, write_run
from schemas.core.errors import UserError

_SAME = ("model_revision", "dtype", "split_digest", "cases", "metrics", "normalisation", "regime", "specificity")


def merge_parts(folders: Sequence[Path | str], out: Path | str) -> Run:
    """Join all parts of a run; the same command without ``--part`` then finds every case finished.

    Args:
        folders: Folders of all parts.
        out: Folder of the whole run; its journals must not exist yet.

    Returns:
        The whole run, read back.

    Raises:
        UserError: a part is missing, given twice, unfinished or of another run, or ``out`` holds a run.
    """
    out, runs = Path(out), [load_run(folder) for folder in folders]
    _check(runs, out)
    runs.sort(key=lambda run: int(run.about["config"]["part"].partition("/")[0]))
    description = dict(runs[0].about)
    description["config"] = description["config"] | {"part": None, "out": str(out)}
    description["started"] = min(run.about["started"] for run in runs)
    description["finished"] = max(run.about["finished"] for run in runs)
    description["runs"] = [_merge_row(runs, out, entry, description) for entry in runs[0].about["runs"]]
    description.pop("format")
    write_run(out, description, runs[0].split)
    return load_run(out)


def _check(runs: Sequence[Run], out: Path) -> None:
    first = runs[0]
    parts = sorted(str(run.about["config"].get("part")) for run in runs)
    wanted = sorted(f"{n}/{len(runs)}" for n in range(1, len(runs) + 1))
    if parts != wanted:
        raise UserError(
            f"these folders hold the parts {', '.join(parts)}", allowed=", ".join(wanted), fix="name every part once"
        )
    for run in runs:
        rows = [(entry["label"], entry["run"]) for entry in run.about["runs"]]
        if rows != [(entry["label"], entry["run"]) for entry in first.about["runs"]] or any(
            run.about.get(name) != first.about.get(name) for name in _SAME
        ):
            raise UserError(f"it is a part of another run than {first.folder}", where=str(run.folder))
        if run.about["finished"] is None:
            raise UserError("this part is not finished", where=str(run.folder), fix="run it again: it resumes")
    if (out / "run.json").exists():
        raise UserError("the folder holds a run already", where=str(out), fix=OTHER_OUT)


def _merge_row(runs: Sequence[Run], out: Path, entry: dict[str, Any], description: dict[str, Any]) -> dict[str, Any]:
    """One method's journals, in the order of the run's cases, with its manifest and the sessions of all parts."""
    sources = [EditorFolder(run.folder / entry["folder"]) for run in runs]
    target = EditorFolder(out / entry["folder"])
    lines: dict[str, dict[str, Any]] = {}
    for source in sources:
        with Journal(source.journal) as journal:
            lines |= dict(journal.items())
    place = {case: n for n, case in enumerate(description["cases"])}
    with Journal(target.journal, write=True) as journal:
        for key, value in sorted(lines.items(), key=lambda line: place[line[1]["case"]]):
            journal.append(key, value)
    target.begin(sources[0].manifest(), config=description["config"])
    target.add_sessions(*[one for source in sources for one in read_with_digest(source.sessions)["sessions"]])
    return {**entry, "journals": target.journal_sums()}
