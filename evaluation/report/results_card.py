"""Results as others can use them: tables of runs and a card that says of what they are; nothing of this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from curation.export.hub import CARD, HubUpload
from curation.export.metadata import hub_licence
from curation.files.atomic import write_text
from evaluation.analysis.comparison import compare
from evaluation.analysis.exports import TABLES, write_run_tables
from evaluation.metrics.generation import metrics_of
from evaluation.report.formatting import mean_with_interval
from evaluation.report.narrative import model_name
from evaluation.runs.frame import score_run
from evaluation.runs.results import Run
from schemas.text.counting import counted
from schemas.text.escaping import markdown_cell


def results_files(runs: Sequence[Run], folder: Path) -> list[HubUpload]:
    """Write the tables of runs and a card into a folder; what goes to a hub.

    Args:
        runs: Run folders read back.
        folder: An empty one.
    """
    write_run_tables(runs, folder)
    card = folder / CARD
    write_text(card, results_card(runs), "the card")
    return [HubUpload(path.name, path) for path in [card, *(folder / f"{name}.parquet" for name in TABLES)]]


def results_card(runs: Sequence[Run]) -> str:
    """The card: model, split, methods, every figure with interval and number of cases, licences of the texts."""
    licences = sorted({source[1] for run in runs for source in _sources(run)})
    title = "Results of knowledge editing: " + ", ".join(dict.fromkeys(markdown_cell(run.split.name) for run in runs))
    head = ["---", f"pretty_name: {json.dumps(title)}", f"license: {hub_licence(licences)}"]
    if hub_licence(licences) == "other":
        head.append(f"license_name: {json.dumps(' and '.join(map(markdown_cell, licences)))}")
    head += ["tags:", "- knowledge-editing", "- model-editing", "configs:"]
    for name in TABLES:
        head += [f"- config_name: {name}", "  data_files:", "  - split: run", f"    path: {name}.parquet"]
    about = (
        "`answers.parquet` has every answer of every method, `scores.parquet` every score, `figures.parquet` the "
        "figures below with their gain over no edit. Edited facts are counterfactual or were true at another time."
    )
    parts = ["\n".join([*head, "---"]), f"# {title}", about, *("\n".join(_of_run(run)) for run in runs)]
    return "\n\n".join([*parts, "## Licences of the texts\n\n" + "\n".join(_licence_lines(runs))]) + "\n"


def _of_run(run: Run) -> Iterator[str]:
    about, metrics = run.about, metrics_of(run.about)
    model, revision = markdown_cell(model_name(about["model"])), markdown_cell(str(about["model_revision"]))
    yield f"## {model} ({about['dtype']}, revision {revision[:40]})"
    yield ""
    split = f"{markdown_cell(run.split.name)} {run.split.version}, digest {run.split.digest}"
    yield f"Split {split}, {counted(len(run.cases), 'case')}; regime {about['regime']}; "
    yield f"normalisation {about['normalisation']}. Percent unless a unit is named: mean [95 % interval by case]."
    yield ""
    yield "| method | cases of | metric | value | n |"
    yield "| --- | --- | --- | --- | --- |"
    for table in compare(run, score_run(run, metrics, about["normalisation"]), metrics):
        for row in table.rows:
            for metric in metrics:
                interval = row.summaries[metric.name].interval
                if interval.mean is not None:
                    unit = "" if metric.unit == "fraction" else f" {metric.unit}"
                    value = mean_with_interval(interval)
                    cells = (markdown_cell(row.label), table.group, metric.title, f"{value}{unit}", str(interval.n))
                    yield "| " + " | ".join(cells) + " |"


def _sources(run: Run) -> Iterator[tuple[str, str]]:
    """Name and licence of the source of every edit."""
    wanted = set(run.cases)
    for case in run.split.all_cases:
        if case.key in wanted:
            yield case.request.source.name, case.request.source.licence


def _licence_lines(runs: Sequence[Run]) -> Iterator[str]:
    yield "Prompts and names are those of the split, by source:"
    yield ""
    for name, licence in sorted({source for run in runs for source in _sources(run)}):
        yield f"- {markdown_cell(name)}: {markdown_cell(licence)}"
