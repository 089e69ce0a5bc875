"""The report: one self-contained HTML file, and the same figures as CSV, Markdown and JSON."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple, cast

from evaluation import plainly
from evaluation.compare import Comparison, Scores, compare, merge, score_run
from evaluation.examples import PURPOSES, pick, probability
from evaluation.metrics.base import NORMALISATIONS, Metric, Normalisation
from evaluation.plot import plane
from evaluation.results import Run, load_run, now
from evaluation.runner import load_metrics
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
from schemas.errors import UserError

PLUMBING = "plumbing"


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


class Yield(NamedTuple):
    """What became of constructed items: counts by check and label, reasons, and whether a small model wrote them."""

    store: str
    kept: int
    dropped: int
    unsure: int
    checks: list[tuple[str, dict[str, int]]]
    reasons: list[tuple[str, str, int]]
    models: list[str]
    plumbing: bool


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
    return (
        f"# {model} on {about['split']} {about['split_version']}\n\n{len(part.run.cases)} of {about['split_cases']} cases, "
        f"split digest {about['split_digest'][:12]}, normalisation {part.normalisation}. Percent, mean of case means "
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


def construction_yield(path: Path) -> Yield:
    """Counts of verdicts in a store, by check, label and reason.

    Raises:
        StoreError: the store cannot be read.
    """
    from curation.model_files import EMBEDDED, EMBEDDED_LABEL
    from curation.store import Store

    by_check: dict[str, Counter[str]] = {}
    reasons: Counter[tuple[str, str]] = Counter()
    items: dict[str, set[str]] = {}
    with Store.open(path) as store:
        for verdict in store.verdicts():
            label = verdict.label or "measured"
            by_check.setdefault(verdict.check, Counter())[label] += 1
            items.setdefault(verdict.item_id, set()).add(label)
            if label in ("drop", "unsure", "unscored"):
                reasons[(verdict.check, verdict.reason)] += 1
        lineages = [x for x in store.lineages() if x.model]
    models = sorted({x.model for x in lineages if x.model})
    plumbing = any(m in (EMBEDDED, EMBEDDED_LABEL) for m in models)
    plumbing = plumbing or any(PLUMBING in str(x.detail.get("quality", "")) for x in lineages)
    dropped = sum("drop" in labels for labels in items.values())
    unsure = sum("drop" not in labels and bool(labels & {"unsure", "unscored"}) for labels in items.values())
    return Yield(
        store=path.name,
        kept=len(items) - dropped - unsure,
        dropped=dropped,
        unsure=unsure,
        checks=[(name, dict(counts)) for name, counts in sorted(by_check.items())],
        reasons=[(check, reason, n) for (check, reason), n in reasons.most_common(15)],
        models=models,
        plumbing=plumbing,
    )


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
        "caveats": plainly.caveats(run, part.tables, part.metrics, part.normalisation),
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


def _version() -> str:
    try:
        return version("scedit")
    except PackageNotFoundError:
        return "not installed"
