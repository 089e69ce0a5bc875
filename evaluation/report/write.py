"""The report: one self-contained HTML file, and the same figures as CSV, Markdown, LaTeX and JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from curation.checks.verdict_counts import count_verdicts
from curation.files.atomic import write_text
from evaluation.analysis.text_ratings import RatingSource, join_texts, read_texts, stores_of
from evaluation.metrics.base import Normalisation
from evaluation.report.csv_tables import comparisons_csv, correlations_csv, more_markdown, ratings_csv
from evaluation.report.formatting import by_case, flat, to_csv, to_markdown
from evaluation.report.html_page import errors, page
from evaluation.report.judge_calibration import calibrations
from evaluation.report.latex import HEAD, escape, text_table, token_table
from evaluation.report.narrative import model_name
from evaluation.report.sections import ReportSection, TextSection, make_sections
from evaluation.runs.results import load_run
from schemas.core.clock import now

HTML = "report.html"


class ReportFiles(NamedTuple):
    """What a report wrote: the files, the HTML first, and the figures of the tables."""

    files: tuple[Path, ...]
    figures: list[dict[str, Any]]


def write_report(
    folders: Sequence[Path],
    *,
    out: Path | None = None,
    store: Path | None = None,
    normalisation: Normalisation | None = None,
) -> ReportFiles:
    """Write ``report.html`` and, beside it, the tables as CSV, Markdown, LaTeX and JSON.

    Runs of the same model, precision, split and regime stand in one table, others in parts of their own. Nothing is
    asked of a model: the stored answers are scored anew, so the normalisation can be chosen here.

    Args:
        folders: Run folders, finished or not.
        out: Where to write: a folder, or the HTML file's name (``*.html``); the first run's folder otherwise.
        store: A store whose generated scripts, ratings and construction are to be shown too. Stores that runs fed, or
            have in their folders, are found by themselves.
        normalisation: ``mean`` or ``sum``; what the run's configuration says otherwise.

    Raises:
        UserError: a folder is no run, nothing is finished, or the files cannot be written.
    """
    stores = stores_of(folders, store)
    texts = join_texts([read_texts(place) for place in stores])
    parts, others = make_sections([load_run(Path(f)) for f in folders], normalisation, texts)
    built = None if store is None else count_verdicts(store)
    figures = [
        {"model": p.run.about["model"], "split": p.run.split.name, "normalisation": p.normalisation, **line}
        for p in parts
        for line in flat(p.tables, p.metrics)
    ]
    target, name = Path(out) if out is not None else Path(folders[0]), HTML
    if target.suffix.casefold() in (".html", ".htm"):
        target, name = target.parent, target.name
    files = {
        name: page(parts, others, built, store=store, calibrations=calibrations(stores)),
        "results.csv": _csv(parts),
        "results.md": _markdown(parts, others),
        "results.json": json.dumps(_json(parts), ensure_ascii=False, indent=1) + "\n",
        "results.tex": _latex(parts, others),
        "comparisons.csv": comparisons_csv(parts, others),
        "correlations.csv": correlations_csv(parts),
    }
    if texts is not None and texts.ratings:
        files["ratings.csv"] = ratings_csv(parts, others)
    return ReportFiles(_put(target, files), figures)


def _put(target: Path, texts: dict[str, str]) -> tuple[Path, ...]:
    """Write files whole or not at all, one by one."""
    for name, text in texts.items():
        write_text(target / name, text, "the report", fsync=False, errors="replace", fix="name another --out")
    return tuple(target / name for name in texts)


def _csv(parts: Sequence[ReportSection]) -> str:
    """One CSV: a single part as it is, several with the model and split in front."""
    if len(parts) == 1:
        return to_csv(parts[0].tables, parts[0].metrics)
    lines: list[str] = []
    for n, part in enumerate(parts):
        head, *rest = to_csv(part.tables, part.metrics).splitlines()
        lines += [f"part,{head}"] if n == 0 else []
        lines += [f"{n + 1},{line}" for line in rest]
    return "\n".join(lines) + "\n"


def _heading(part: ReportSection) -> str:
    about = part.run.about
    model = f"{about['model']} ({about['model_revision']}, {about['dtype']})"
    split = f"{about['split']} {about['split_version']}"
    return (
        f"# {model} on {split}\n\n{len(part.run.cases)} of {about['split_cases']} cases, split digest "
        f"{about['split_digest'][:12]}, normalisation {part.normalisation}. Percent, mean of case means "
        "± 1.96·sd/√cases; two-way: 95 % interval of the crossed bootstrap of cases and neighbour facts. Gain: paired "
        "difference to no edit."
    )


def _markdown(parts: Sequence[ReportSection], others: Sequence[TextSection]) -> str:
    out = []
    for part in parts:
        out.append(to_markdown(part.tables, part.metrics, heading=_heading(part)))
        out.append(more_markdown(part.text, part.contests, part.correlations))
    out += [more_markdown(text, (), ()) for text in others]
    return "\n".join(t for t in out if t)


def _latex(parts: Sequence[ReportSection], others: Sequence[TextSection]) -> str:
    out = [HEAD]
    rated: list[tuple[RatingSource, str, str | None]] = []  # with model and the unedited method's label
    for n, part in enumerate(parts, 1):
        about = part.run.about
        model = escape(model_name(about["model"]))
        caption = (
            f"Token-level results on {escape(str(about['split']))} ({len(part.run.cases)} cases): mean of case means "
            "in percent with 95\\,\\% intervals by case. Best method in bold, second best underlined."
        )
        label = f"tab:token{n if n > 1 else ''}"
        out.append(token_table(part.tables, part.metrics, model=model, caption=caption, label=label))
        if part.text is not None:
            rated += [(source, model, part.run.baseline.label) for source in part.text.sources]
    for text in others:
        plain = next((s.editor for s in text.texts.scripts if not s.edited), None)
        rated += [(source, escape(text.model), plain) for source in text.sources]
    for n, (source, model, plain) in enumerate(rated, 1):
        out.append(text_table(source, model=model, baseline=plain, label=f"tab:text{n if n > 1 else ''}"))
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
                "leads": [{"group": t.group, **_lead(x)} for t in p.tables for x in t.leads.values()],
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


def _lead(lead: Any) -> dict[str, Any]:
    return {**lead._asdict(), "difference": lead.difference._asdict()}
