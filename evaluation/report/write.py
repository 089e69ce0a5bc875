"""The report: one self-contained HTML file, and the same figures as CSV, Markdown, LaTeX and JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from curation.checks.store_checks import count_verdicts
from curation.files.atomic import write_text
from evaluation.analysis.events import read_answer_ratings, with_ratings
from evaluation.analysis.text_ratings import RatingSource, join_texts, read_texts, stores_of
from evaluation.editors.baselines import CONTROL_METHODS
from evaluation.metrics.base import Normalisation
from evaluation.report.charts import write_figures
from evaluation.report.csv_tables import (
    by_case,
    comparisons_csv,
    correlations_csv,
    flat,
    ratings_csv,
    results_csv,
)
from evaluation.report.formatting import as_published
from evaluation.report.html_page import errors, figures_of, page
from evaluation.report.judge_tables import calibration_section, calibrations
from evaluation.report.latex import HEAD, escape, text_table, token_table
from evaluation.report.markdown import results_markdown
from evaluation.report.narrative import model_name
from evaluation.report.sections import ReportSection, TextSection, control_labels, make_sections
from evaluation.runs.results import load_run
from schemas.core.clock import now
from schemas.text.counting import counted

HTML = "report.html"
LARGEST = 3_000_000  # bytes of the page beyond which it does not list every answer
IntervalChoice = Literal["default", "published"]


class ReportFiles(NamedTuple):
    """What a report wrote: the files, the HTML first, the figures of the tables, and the pictures."""

    files: tuple[Path, ...]
    figures: list[dict[str, Any]]
    pictures: tuple[Path, ...] = ()


def write_report(
    folders: Path | str | Sequence[Path | str],
    *,
    out: Path | str | None = None,
    store: Path | str | None = None,
    normalisation: Normalisation | None = None,
    intervals: IntervalChoice = "default",
    against: str | None = None,
    figures: Path | str | None = None,
) -> ReportFiles:
    """Write ``report.html`` and, beside it, the tables as CSV, Markdown, LaTeX and JSON.

    Runs of the same model, precision and split stand in one table where regime or cases are the same, others in parts
    of their own. Nothing is asked of a model: the stored answers are scored anew, so the normalisation can be chosen
    here.

    Args:
        folders: A run's folder, finished or not, or several.
        out: Where to write: a folder, or the HTML file's name (``*.html``); the first run's folder otherwise.
        store: A store whose generated scripts, ratings and construction are to be shown too. Stores that runs fed, or
            have in their folders, are found by themselves.
        normalisation: ``mean`` or ``sum``; what the run's configuration says otherwise.
        intervals: ``default`` (inside the scale, for few cases too) or ``published`` (± 1.96·sd/√n, by case).
        against: The report is about this method: it is compared with every other and with no edit, no other pair is.
        figures: A folder for every picture as SVG, PNG and PDF.

    Raises:
        UserError: a folder is no run, no method is called ``against``, nothing is finished, or a file is not writable.
    """
    paths = [Path(f) for f in ([folders] if isinstance(folders, Path | str) else folders)]
    store = None if store is None else Path(store)
    stores = stores_of(paths, store)
    texts, ratings = join_texts([read_texts(place) for place in stores]), read_answer_ratings(stores)
    runs = [with_ratings(load_run(path), ratings) for path in paths]
    parts, others = make_sections(runs, normalisation, texts, against=against)
    if intervals == "published":
        parts, others = as_published(parts), as_published(others)
    built = None if store is None else count_verdicts(store)
    target, name = Path(out) if out is not None else paths[0], HTML
    if target.suffix.casefold() in (".html", ".htm"):
        target, name = target.parent, target.name
    control_names = CONTROL_METHODS.union(*(control_labels(p.run) for p in parts))  # a store knows labels only
    calibrated = calibration_section(calibrations(stores, control_names))
    published = intervals == "published"
    drawn = partial(page, parts, others, built, calibrated=calibrated, published=published, against=against)
    files = {
        name: _with_answers_where_small(drawn),
        "results.csv": results_csv(parts),
        "results.md": results_markdown(parts, others),
        "results.json": json.dumps(_json(parts), ensure_ascii=False, indent=1) + "\n",
        "results.tex": _latex(parts, others),
        "comparisons.csv": comparisons_csv(parts, others),
        "correlations.csv": correlations_csv(parts),
    }
    if texts is not None and texts.ratings:
        files["ratings.csv"] = ratings_csv(parts, others)
    pictures = () if figures is None else tuple(_write_pictures(parts, Path(figures)))
    for file, text in files.items():
        write_text(target / file, text, "the report", fsync=False, errors="replace", fix="name another --out")
    return ReportFiles(tuple(target / file for file in files), _lines(parts), pictures)


def _lines(parts: Sequence[ReportSection]) -> list[dict[str, Any]]:
    """Every figure of the tables, with its model and split."""
    return [
        {"model": p.run.about["model"], "split": p.run.split.name, "normalisation": p.normalisation, **line}
        for p in parts
        for line in flat(p.tables, p.metrics)
    ]


def _with_answers_where_small(draw: Callable[..., str]) -> str:
    """The page; without the single answers where it would be too large."""
    html = draw()
    return html if len(html.encode()) <= LARGEST else draw(list_answers=False)


def _write_pictures(parts: Sequence[ReportSection], folder: Path) -> Iterator[Path]:
    """Every picture of the parts, each part's in a folder of its own where there are several."""
    for n, part in enumerate(parts, 1):
        yield from write_figures(figures_of(part), folder if len(parts) == 1 else folder / f"part-{n}")


def _latex(parts: Sequence[ReportSection], others: Sequence[TextSection]) -> str:
    out = [HEAD]
    rated: list[tuple[RatingSource, str, dict[str, str]]] = []  # with model and the best method by aspect
    for n, part in enumerate(parts, 1):
        description = part.run.about
        model = escape(model_name(description["model"]))
        about = f"{model} on {escape(str(description['split']))} ({counted(len(part.run.cases), 'case')})"
        label = f"tab:token{n if n > 1 else ''}"
        out.append(token_table(part.tables, part.metrics, about=about, label=label))
        if part.text is not None:
            rated += [(source, model, part.text.best(source)) for source in part.text.sources]
    for text in others:
        rated += [(source, escape(text.model), text.best(source)) for source in text.sources]
    for n, (source, model, best) in enumerate(rated, 1):
        out.append(text_table(source, model=model, best=best, label=f"tab:text{n if n > 1 else ''}"))
    return "\n".join(out)


def _json(parts: Sequence[ReportSection]) -> dict[str, Any]:
    return {
        "written": now(zone="Z"),
        "parts": [
            {
                "about": {k: v for k, v in p.run.about.items() if k not in ("cases", "config")},
                "normalisation": p.normalisation,
                "interval": "mean of case means ± 1.96·sd/√cases (sample standard deviation), level: case",
                "figures": flat(p.tables, p.metrics),
                "active_edits": {row.label: row.edits for row in p.tables[0].rows},
                "leads": [
                    {"group": t.group, **x._asdict(), "best": x.best, "difference": x.difference._asdict()}
                    for t in p.tables
                    for x in t.leads.values()
                ],
                "editors": [
                    {"label": e.label, "run": e.manifest.key, "params": e.manifest.params, "environment": e.environment}
                    for e in p.run.editors
                ],
                "cases": by_case(p.scores),
                "errors": errors(p.run),
            }
            for p in parts
        ],
    }
