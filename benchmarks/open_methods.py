"""The methods on the open split: the table of ``results/open-split.md``, and the answers that it rests on.

``python -m benchmarks.open_methods RUN --pack benchmarks/results/open_runs`` writes the folder of each finished method
of the run to an archive; ``--unpack`` puts such archives back into RUN, so that ``scedit run configs/open.toml`` goes
on with the methods that are left, on any machine, and asks nothing again. ``--page results/open-split.md`` writes the
table, paired tests and the item analysis of the finished methods between the page's markers.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.open_split import CSV, put_between
from benchmarks.support.tables import table, write_csv
from evaluation.analysis.method_order import analyse
from evaluation.analysis.pairwise_tests import PairwiseTest
from evaluation.cli.results import analysis_text
from evaluation.metrics.base import Role, metric_of
from evaluation.report.formatting import ARROWS, mean_with_interval, p_value, percent
from evaluation.report.sections import ReportSection, make_section
from evaluation.runs.results import EditorFolder, Run, load_run, with_digest
from schemas.core.errors import UserError

MARKS = ("<!-- methods -->", "<!-- end of the methods -->")
ANALYSED: tuple[Role, ...] = ("script_efficacy", "script_locality")
DRAWS = 2_000
CONFIG = "config.json"


def finished(run: Run) -> Run:
    """The run with those methods alone that answered all of its cases."""
    whole = tuple(e for e in run.editors if all(case in e.results for case in run.cases))
    return run._replace(editors=whole)


def pack(run: Run, folder: Path) -> list[Path]:
    """Each finished method's folder as an archive (xz), the same bytes for the same answers."""
    folder.mkdir(parents=True, exist_ok=True)
    archives = []
    for editor in finished(run).editors:
        assert editor.folder is not None
        archive = folder / f"{editor.folder.path.name}.tar.xz"
        with tarfile.open(archive, "w:xz", preset=9) as file:
            for path in sorted(editor.folder.path.iterdir()):
                data = _without_place(path.read_bytes()) if path.name == CONFIG else path.read_bytes()
                entry = tarfile.TarInfo(f"{editor.folder.path.name}/{path.name}")
                entry.size = len(data)
                file.addfile(entry, io.BytesIO(data))
        archives.append(archive)
    return archives


def _without_place(config: bytes) -> bytes:
    """A run's configuration with the last parts of the folders in which it, and an earlier run, were made."""
    data = json.loads(config)
    places = {name: f"runs/{Path(data[name]).name}" for name in ("out", "answers_from") if data.get(name)}
    return (json.dumps(with_digest({**data, **places}), indent=2, ensure_ascii=False) + "\n").encode()


def unpack(folder: Path, out: Path) -> list[str]:
    """Put archived methods where a run expects them; a method that stands there already is left alone."""
    names = []
    for archive in sorted(folder.glob("*.tar.xz")):
        name = archive.name.removesuffix(".tar.xz")
        if EditorFolder(out / name).journal.exists():
            continue
        with tarfile.open(archive) as file:
            file.extractall(out, filter="data")
        names.append(name)
    return names


def methods_table(section: ReportSection) -> str:
    """Every metric of every method over all cases, with its interval."""
    rows = [
        [
            f"`{row.label}`" + (" (control)" if row.control else ""),
            *(mean_with_interval(row.summaries[m.name].interval) for m in section.metrics),
            "-" if row.seconds_edit is None else f"{row.seconds_edit:.2f}",
        ]
        for row in section.tables[0].rows
    ]
    return table(["method", *(f"{m.title} {ARROWS[m.better]}" for m in section.metrics), "s/edit"], rows)


def tests_table(section: ReportSection, metric: str) -> str:
    """Methods in pairs on one metric, corrected by Holm's procedure."""
    rows = [_cells(test) for f in section.families if f.kind == "among" and f.metric == metric for test in f.pairs]
    return table(["pair", f"difference in {metric}", "p, corrected", "better"], rows)


def _cells(test: PairwiseTest) -> list[str]:
    low, high = (percent(end, signed=True) for end in (test.gap.low, test.gap.high))
    ends = "" if test.gap.low is None else f" [{low}, {high}]"
    better = {"first": f"`{test.first}`", "second": f"`{test.second}`"}.get(test.verdict, test.verdict)
    difference = percent(test.gap.mean, signed=True) + ends
    return [f"`{test.first}` - `{test.second}`", difference, p_value(test.p_holm), better]


def _parts(run: Run) -> Iterator[str]:
    section = make_section(run, None, None)
    about = run.about
    missing = [entry["label"] for entry in about["runs"] if entry["label"] not in {e.label for e in run.editors}]
    threads = "/".join(sorted({str(e.environment["threads"]) for e in run.editors}))
    yield (
        f"`{about['split']}` ({len(run.cases)} cases), {about['model']}, {section.normalisation} log-probability a "
        f"token, percent [95 % interval] over cases; two-way where neighbours recur. One edit at a time, {threads} "
        "thread(s). Seconds an edit were taken beside other work: they order methods, they are no benchmark."
        + (f" Not finished yet: {', '.join(f'`{name}`' for name in missing)}." if missing else "")
    )
    yield methods_table(section)
    for role in ANALYSED:
        metric = metric_of(section.metrics, role)
        assert metric is not None
        if any(f.kind == "among" and f.metric == metric.title for f in section.families):
            yield tests_table(section, metric.title)
        try:
            figures = analyse(run, section.scores, metric, draws=DRAWS)
        except UserError:  # too few methods have finished
            continue
        yield f"```\n{analysis_text(figures, metric.title)}\n```"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.open_methods", description=__doc__)
    parser.add_argument("run", type=Path, help="folder of the run (its out)")
    parser.add_argument("--pack", type=Path, help="folder for the archives of finished methods")
    parser.add_argument("--unpack", type=Path, help="folder whose archives go into the run")
    parser.add_argument("--page", type=Path, help="the page that gets the figures")
    options = parser.parse_args(arguments)
    if options.unpack is not None:
        options.run.mkdir(parents=True, exist_ok=True)
        for name in unpack(options.unpack, options.run):
            sys.stdout.write(f"{options.run / name}\n")
    if options.pack is None and options.page is None:
        return 0
    run = load_run(options.run)
    if options.pack is not None:
        for archive in pack(run, options.pack):
            sys.stdout.write(f"{archive}\n")
    if options.page is not None:
        text = "\n\n".join(_parts(finished(run)))
        options.page.write_text(
            put_between(options.page.read_text(encoding="utf-8"), text, marks=MARKS), encoding="utf-8"
        )
        write_csv(options.page, CSV)
    return 0


if __name__ == "__main__":
    sys.exit(main())
