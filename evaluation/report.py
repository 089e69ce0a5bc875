"""The report: one self-contained HTML file, and the same figures as CSV, Markdown and JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple, cast

from evaluation import plainly
from evaluation.compare import Comparison, Scores, compare, merge, score_run
from evaluation.examples import PURPOSES, pick, probability
from evaluation.metrics.base import NORMALISATIONS, Metric, Normalisation
from evaluation.plan import load_metrics
from evaluation.plot import plane
from evaluation.results import Run, load_run, now
from evaluation.tables import (
    ARROWS,
    by_case,
    certain,
    flat,
    group_title,
    memory,
    percent,
    seconds,
    spread,
    to_csv,
    to_markdown,
)
from evaluation.yields import Yield, construction_yield
from schemas.errors import UserError


class Written(NamedTuple):
    """What a report wrote: the files, ``report.html`` first, and the figures of the tables."""

    files: tuple[Path, ...]
    figures: list[dict[str, Any]]


class Part(NamedTuple):
    """One model on one split: everything a report shows of it."""

    run: Run
    metrics: tuple[Metric, ...]
    normalisation: Normalisation
    tables: list[Comparison]
    scores: Scores


def write_report(
    folders: Sequence[Path],
    *,
    out: Path | None = None,
    store: Path | None = None,
    normalisation: Normalisation | None = None,
) -> Written:
    """Write ``report.html``, ``results.csv``, ``results.md`` and ``results.json``.

    Runs of the same model, precision and split stand in one table, others in parts of their own. Nothing is asked of a
    model: the stored answers are scored anew, so the normalisation can be chosen here.

    Args:
        folders: Run folders, finished or not.
        out: Where to write; the first run's folder otherwise.
        store: A store whose construction is to be shown too.
        normalisation: ``mean`` or ``sum``; what the run's configuration says otherwise.

    Raises:
        UserError: a folder is no run, nothing is finished, or the files cannot be written.
    """
    parts = [_part(run, normalisation) for run in merge([load_run(Path(f)) for f in folders])]
    built = None if store is None else construction_yield(store)
    figures = [
        {"model": p.run.about["model"], "split": p.run.split.name, "normalisation": p.normalisation, **line}
        for p in parts
        for line in flat(p.tables, p.metrics)
    ]
    texts = {
        "report.html": _html(parts, built),
        "results.csv": _csv(parts),
        "results.md": "\n".join(to_markdown(p.tables, p.metrics, heading=_heading(p)) for p in parts),
        "results.json": json.dumps(_json(parts), ensure_ascii=False, indent=1) + "\n",
    }
    target = Path(out) if out is not None else Path(folders[0])
    try:
        target.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            partial = target / f"{name}.partial"
            partial.write_text(text, encoding="utf-8", errors="replace")
            os.replace(partial, target / name)
    except OSError as error:
        raise UserError(
            f"the report cannot be written: {error.strerror}", where=str(target), fix="name another --out"
        ) from None
    return Written(tuple(target / name for name in texts), figures)


def _part(run: Run, normalisation: Normalisation | None) -> Part:
    metrics = load_metrics(run.about["metrics"])
    how = normalisation or cast(Normalisation, run.about["normalisation"])
    scores = score_run(run, metrics, how)
    return Part(run, metrics, how, compare(run, scores, metrics), scores)


def _csv(parts: Sequence[Part]) -> str:
    """One CSV: a single part as it is, several with the model and split in front."""
    if len(parts) == 1:
        return to_csv(parts[0].tables, parts[0].metrics)
    lines: list[str] = []
    for n, part in enumerate(parts):
        head, *rest = to_csv(part.tables, part.metrics).splitlines()
        lines += [f"part,{head}"] if n == 0 else []
        lines += [f"{n + 1},{line}" for line in rest]
    return "\n".join(lines) + "\n"


def _heading(part: Part) -> str:
    about = part.run.about
    model = f"{about['model']} ({about['model_revision']}, {about['dtype']})"
    split = f"{about['split']} {about['split_version']}"
    return (
        f"# {model} on {split}\n\n{len(part.run.cases)} of {about['split_cases']} cases, split digest "
        f"{about['split_digest'][:12]}, normalisation {part.normalisation}. Percent, mean of case means "
        "± 1.96·sd/√cases. Gain: paired difference to no edit."
    )


def _json(parts: Sequence[Part]) -> dict[str, Any]:
    return {
        "written": now(),
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
                "errors": _errors(p.run),
            }
            for p in parts
        ],
    }


def _lead(lead: Any) -> dict[str, Any]:
    return {**lead._asdict(), "difference": lead.difference._asdict()}


def _errors(run: Run) -> list[dict[str, str]]:
    return [
        {"label": e.label, "case": k, "error": r.error} for e in run.editors for k, r in e.results.items() if r.error
    ]


def _html(parts: Sequence[Part], built: Yield | None) -> str:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    place = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    place.filters |= {
        "percent": percent,
        "spread": spread,
        "seconds": seconds,
        "memory": memory,
        "probability": probability,
        "group_title": group_title,
        "certain": certain,
        "dagger": plainly.dagger,
        "shown": _with_values,
        "model_name": plainly.model_name,
        "when": _when,
        "setting": _setting,
        "glue": _glue,
    }
    return place.get_template("report.html.j2").render(
        parts=[_shown(p) for p in parts],
        built=built,
        arrows=ARROWS,
        purposes=PURPOSES,
        normalisations=NORMALISATIONS,
        written=now(),
        program=_version(),
    )


def _shown(part: Part) -> dict[str, Any]:
    """What the template reads of one part."""
    run, table = part.run, part.tables[0]
    return {
        "run": run,
        "about": run.about,
        "metrics": part.metrics,
        "normalisation": part.normalisation,
        "tables": part.tables,
        "short": plainly.in_short(run, table, part.scores, part.metrics),
        "caveats": plainly.caveats(run, table, part.metrics, part.normalisation),
        "plane": plane(table, part.metrics),
        "examples": pick(run, part.scores, part.metrics, part.normalisation),
        "errors": _errors(run),
        "blow_ups": _blow_ups(run),
        "environment": run.baseline.environment,
    }


def _blow_ups(run: Run) -> list[dict[str, Any]]:
    """Edits that their method flags, with the numbers it gives."""
    cases = {c.key: c for c in run.split.cases}
    return [
        {
            "label": e.label,
            "subject": cases[k].fact.subject.text,
            "case": k,
            "norm_ratio": r.notes.get("norm_ratio"),
            "value_norm": r.notes.get("value_norm"),
        }
        for e in run.editors
        for k, r in e.results.items()
        if r.notes.get("blow_up")
    ]


def _with_values(metrics: Sequence[Metric], table: Comparison) -> list[Metric]:
    """The metrics that have a value in a table; a column of dashes says nothing."""
    return [m for m in metrics if any(r.summaries[m.name].mean is not None for r in table.rows)]


def _when(stamp: str) -> str:
    """A stored time as people read it."""
    return stamp.replace("T", " ")[:16] + " UTC"


def _glue(text: str) -> str:
    """Keep a figure and its interval on one line."""
    return text.replace(" ± ", "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}")


def _setting(value: Any) -> str:
    """A parameter's value, long lists by their number."""
    if isinstance(value, (list, dict)) and len(value) > 4:
        return f"({len(value)} values)"
    return json.dumps(value, ensure_ascii=False)


def _version() -> str:
    try:
        return version("scedit")
    except PackageNotFoundError:
        return "not installed"
