"""One model on one split: everything that a report says of it, as figures."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, cast

from curation.stats.bootstrap import Resampling
from evaluation.analysis.attribution_ladder import stage_tables
from evaluation.analysis.breakdown import breakdowns, by_tag, document_tables, events_by_questions, seed_tables
from evaluation.analysis.comparison import Comparison, compare, merge_runs
from evaluation.analysis.correlations import Correlations, View, correlate
from evaluation.analysis.events import event_tables, open_answer_tables
from evaluation.analysis.example_cases import mention_table, side_by_side
from evaluation.analysis.method_order import order_parts
from evaluation.analysis.pairwise_tests import ComparisonFamily, comparison_families
from evaluation.analysis.sequences import (
    batch_size_points,
    curve_parts,
    forgetting_points,
    sequence_states,
    state_table,
)
from evaluation.analysis.tables import Section
from evaluation.analysis.text_ratings import (
    ASPECTS,
    SHORT,
    RatedTexts,
    RatingAgreement,
    RatingSource,
    agreement_tables,
    rating_agreement,
    rating_sources,
    rating_tables,
)
from evaluation.analysis.written_facts import text_tables, written_fact_tables
from evaluation.analysis.written_texts import thought_tables
from evaluation.editors.baselines import CONTROL_METHODS
from evaluation.metrics.base import Metric, Normalisation
from evaluation.metrics.generation import Generation, metrics_of
from evaluation.runs.frame import Scores, score_run
from evaluation.runs.generated_scripts import scripts_of_run
from evaluation.runs.results import Run, cases_by_key
from schemas.cases import FACT, Case
from schemas.core.errors import UserError
from schemas.ratings import RATING_SCALE

VIEWS: tuple[View, ...] = ("pooled", "within", "between")
_CORRELATING = Resampling(1000)


class TextSection(NamedTuple):
    """The scripts of one model: who rated them how, the extremes, whether raters can be believed, tables of all that.

    ``unranked`` are the labels of its control methods, the unedited model among them.
    """

    model: str
    texts: RatedTexts
    sources: tuple[RatingSource, ...]
    beside: tuple[dict[str, Any], ...]
    judging: RatingAgreement | None
    families: tuple[ComparisonFamily, ...]
    sections: tuple[Section, ...]
    unranked: tuple[str, ...] = ()

    def best(self, source: RatingSource) -> dict[str, str]:
        """The best method by aspect, as one source rated them, where the paired tests decide."""
        best = {f.metric: f.best for f in self.families if f.kind == "among"}
        return {a: label for a in ASPECTS if (label := best.get(rated_metric(a, source))) is not None}


def rated_metric(aspect: str, source: RatingSource) -> str:
    """An aspect as one source rated it, in tables of comparisons."""
    return f"{SHORT[aspect]} by {source.title}"


class ReportSection(NamedTuple):
    """One run, or several of the same model, precision and split, and regime or cases, as one."""

    run: Run
    metrics: tuple[Metric, ...]
    normalisation: Normalisation
    tables: list[Comparison]
    scores: Scores
    families: tuple[ComparisonFamily, ...]
    text: TextSection | None
    correlations: tuple[Correlations, ...]
    sections: tuple[Section, ...]


def make_sections(
    runs: Sequence[Run],
    normalisation: Normalisation | None,
    texts: RatedTexts | None,
    *,
    against: str | None = None,
) -> tuple[list[ReportSection], list[TextSection]]:
    """The parts of a report, and the scripts of models that no run here is of (closed models, for instance).

    Args:
        runs: Run folders read back.
        normalisation: What the run's configuration says where it is not given.
        texts: Scripts and ratings.
        against: Compare this method with every other, and no other pair.

    Raises:
        UserError: no method is called ``against``, or it is a control method.
    """
    merged = merge_runs(runs)
    _check_label(against, merged, texts)
    section_texts = [texts_of_run(run, texts) for run in merged]
    parts = [make_section(run, normalisation, mine, against) for run, mine in zip(merged, section_texts, strict=True)]
    if texts is None:
        return parts, []
    used = {s.id for mine in section_texts if mine is not None for s in mine.scripts}
    left = texts._replace(scripts=tuple(s for s in texts.scripts if s.id not in used))
    cases = {k: c for run in merged if run.split.type == FACT for k, c in cases_by_key(run).items()}
    return parts, [text_section(left.of_model(model), cases, against=against) for model in left.models]


def _check_label(against: str | None, runs: Sequence[Run], texts: RatedTexts | None) -> None:
    control_names = {label for run in runs for label in control_labels(run)} | set(CONTROL_METHODS)
    known = [e.label for run in runs for e in run.editors]
    known += [] if texts is None else [s.editor for s in texts.scripts if s.edited]
    there = [label for label in dict.fromkeys(known) if label not in control_names]
    if against is not None and against not in there:
        raise UserError(f"no method is called '{against}'", allowed=", ".join(there) or "none: nothing was edited")


def texts_of_run(run: Run, texts: RatedTexts | None) -> RatedTexts | None:
    """The scripts that were written in a run: of its model, on its cases, by its methods; None where there is none.

    Those of a store come with their ratings; where it has none of this run, those of the run's own journal stand alone.
    """
    if run.split.type != FACT:
        return None
    stored = None if texts is None else _stored_texts(run, texts)
    if stored is not None:
        return stored
    try:
        return RatedTexts(tuple(one.script for one in scripts_of_run(run)), ())
    except UserError:  # no text was asked for in this run
        return None


def _stored_texts(run: Run, texts: RatedTexts) -> RatedTexts | None:
    names = {run.about["model"], run.about["model_revision"]}
    keys, labels = set(run.cases), {e.label for e in run.editors}
    mine = [m for m in texts.models if m in names or any(m.startswith(f"{n}@") or m.endswith(f"@{n}") for n in names)]
    scripts = [s for s in texts.scripts if s.model in mine and s.case in keys and s.editor in labels]
    if not scripts:
        return None
    order = [e.label for e in run.editors]
    scripts.sort(key=lambda s: order.index(s.editor))
    ids = {s.id for s in scripts}
    return texts._replace(scripts=tuple(scripts), ratings=tuple(r for r in texts.ratings if r.item_id in ids))


def make_section(
    run: Run, normalisation: Normalisation | None, texts: RatedTexts | None, against: str | None = None
) -> ReportSection:
    """Score the stored answers and compute every figure of a part."""
    metrics = metrics_of(run.about)
    averaging = normalisation or cast(Normalisation, run.about["normalisation"])
    scores = score_run(run, metrics, averaging)
    text = None if texts is None else text_section(texts, cases_by_key(run), control_labels(run), against=against)
    tables = compare(run, scores, metrics, tests=True, against=against)
    sections = _sections(run, metrics, averaging, scores, tables[0], text)
    related = correlation_inputs(run, metrics, scores, text)
    return ReportSection(
        run,
        metrics,
        averaging,
        tables,
        scores,
        tables[0].families,
        text,
        tuple(correlate(related, view, resampling=_CORRELATING) for view in VIEWS) if len(related) > 1 else (),
        tuple(section for section in sections if section.parts),
    )


def _sections(
    run: Run,
    metrics: Sequence[Metric],
    normalisation: Normalisation,
    scores: Scores,
    table: Comparison,
    text: TextSection | None,
) -> list[Section]:
    """Everything beyond the main tables, in the order of the report; a section without a part is left out."""
    together = batch_size_points(run, scores, metrics)
    points = forgetting_points(run, metrics, normalisation) if "sequential" in run.regimes else together
    states = sequence_states(run) if "sequential" in run.regimes else []
    many = [*curve_parts(points, metrics, together=bool(together)), *([state_table(states)] if states else [])]
    out = [Section("seeds", "Variation over seeds", tuple(seed_tables(table, metrics)))]
    if run.split.type == "event":
        events = (*event_tables(run, scores, metrics), *open_answer_tables(run))
        out.append(Section("events", "Events", (*events, *events_by_questions(run, scores, metrics))))
    elif run.split.type == "document":
        parts = (*document_tables(run, table), *by_tag(run, scores, metrics))
        out.append(Section("documents", "Documents", parts))
    else:
        source = main_source(text.sources) if text is not None else None
        rated = None if source is None else source.values.get("coherence")
        rater = "" if source is None else source.title
        stages = stage_tables(run, normalisation=normalisation, coherence=rated, rater=rater)
        written = text_tables(run, normalisation)
        out.append(Section("ladder", "Where edits fail, stage by stage", (*stages, *written)))
        facts = (*written_fact_tables(run, normalisation), *thought_tables(run))
        out.append(Section("facts", "Free text after fact prompts", facts))
        out.append(Section("order", "The methods' order", tuple(order_parts(run, scores, metrics))))
        out += () if text is None else text.sections
        caption = "With so many lines some differ by chance: a line with few cases is a hypothesis, not a finding."
        out.append(Section("breakdown", "By relation and by step", tuple(breakdowns(run, scores, metrics)), caption))
    return [*out, Section("many", "Many edits in one model", tuple(many))]


def correlation_inputs(
    run: Run, metrics: Sequence[Metric], scores: Scores, text: TextSection | None
) -> dict[str, dict[str, dict[str, float]]]:
    """Case means by metric title and edited method: token level, then the aspects as the main source rated them.

    Control methods are left out: nothing was edited, so their efficacy says nothing of an edit.
    """
    control_names = control_labels(run)
    edited = [e.label for e in run.editors if e.label not in control_names]
    values = {m.title: {label: scores.means(label, m.name) for label in edited} for m in metrics}
    source = main_source(text.sources) if text is not None else None
    if source is not None:
        aspect_values = {SHORT[a]: source.values[a] for a in ASPECTS if a in source.values}
        values |= {a: {k: v for k, v in by_method.items() if k in edited} for a, by_method in aspect_values.items()}
    out = {}
    for name, by_method in values.items():
        known = {label: dict(by_case) for label, by_case in by_method.items() if by_case}
        if len({v for by_case in known.values() for v in by_case.values()}) > 1:
            out[name] = known
    return out


def main_source(sources: Sequence[RatingSource]) -> RatingSource | None:
    """Whose ratings stand beside the token level: the source with the most ratings."""
    return max(sources, key=lambda s: sum(c.scripts for row in s.cells.values() for c in row.values()), default=None)


def control_labels(run: Run) -> tuple[str, ...]:
    """Labels of the control methods of a run, the unedited model first."""
    base = run.baseline.label
    return (base, *(e.label for e in run.editors if e.label != base and e.manifest.editor in CONTROL_METHODS))


def text_section(
    texts: RatedTexts,
    cases: Mapping[str, Case],
    control_names: Collection[str] = tuple(CONTROL_METHODS),
    *,
    against: str | None = None,
) -> TextSection:
    """Everything of the scripts of one model; ``control_names``: labels that are not ranked, beside unedited ones."""
    sources = tuple(rating_sources(texts))
    plain = {s.editor for s in texts.scripts if not s.edited}
    base = next((label for label in texts.editors if label in plain), None)
    families = [
        family
        for source in sources
        for aspect in ASPECTS
        if aspect in source.values
        for family in comparison_families(
            rated_metric(aspect, source),
            source.values[aspect],
            baseline=base,
            scale=RATING_SCALE,
            control_methods=control_names,
            against=against,
        )
    ]
    judging = rating_agreement(texts, cases)
    tables = [table for source in sources for table in rating_tables(source)]
    raters = " and ".join(dict.fromkeys(s.title.partition(",")[0] for s in sources if s.person)) or "people"
    judged = () if judging is None else tuple(agreement_tables(judging, raters=raters))
    sections = (
        Section("text", "Ratings of the scripts", (*tables, mention_table(texts.scripts, cases, texts.editors))),
        Section("judging", "Can the judge be believed?", judged),
    )
    return TextSection(
        texts.scripts[0].model,
        texts,
        sources,
        tuple(side_by_side(texts, cases)),
        judging,
        tuple(families),
        tuple(section for section in sections if section.parts),
        tuple(label for label in texts.editors if label in plain or label in control_names),
    )


def why_not_comparable(parts: Sequence[ReportSection]) -> list[str]:
    """In what the parts of a report differ, so that their figures are not compared."""
    if len(parts) < 2:
        return []
    abouts = [p.run.about for p in parts]
    kinds: dict[str, list[Any]] = {
        "model": [a["model"] for a in abouts],
        "model revision": [a["model_revision"][:12] for a in abouts],
        "precision": [a["dtype"] for a in abouts],
        "split": [
            f"{a['split']} {a['split_version']} ({p.run.split.digest[:8]})" for a, p in zip(abouts, parts, strict=True)
        ],
        "regime": [a["regime"] for a in abouts],
        "normalisation": [p.normalisation for p in parts],
        "writing of texts": [json.dumps(a.get("config", {}).get("generation")) for a in abouts],
        "questions about events": [Generation.from_description(a).events.model_dump_json() for a in abouts],
    }
    return [
        f"{name}: " + ", ".join(f"part {n} {v}" for n, v in enumerate(values, 1))
        for name, values in kinds.items()
        if len(set(values)) > 1
    ]
