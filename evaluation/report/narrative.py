"""What a report says in words: a summary of the results, and the caveats."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

from curation.files.model_packages import EMBEDDED, EMBEDDED_LABEL
from curation.stats.bounded import difference_interval
from curation.stats.intervals import TWO_WAY, Interval
from evaluation.analysis.comparison import Comparison, Ranking, Scores, mean_before_and_after
from evaluation.judge.model_families import family_conflicts
from evaluation.metrics.base import NORMALISATIONS, Metric, metric_of
from evaluation.regimes.config import ALONE, regime_title
from evaluation.report.formatting import mean_with_interval, p_value, percent, with_unit
from evaluation.runs.asked_cases import edits_made
from evaluation.runs.results import Run
from schemas.cases import FACT
from schemas.text.counting import counted

if TYPE_CHECKING:
    from evaluation.report.sections import ReportSection, TextSection

FEW = 100  # cases below which the number is a caveat of its own


def model_name(name: str) -> str:
    """A model as it is shown: ``embedded`` by what it is."""
    return EMBEDDED_LABEL if name == EMBEDDED else name


def common_cases_note(table: Comparison, metrics: Sequence[Metric]) -> str | None:
    """Which columns are ordered over fewer cases than some figures in them rest on; None where none is."""
    columns = [
        f"{m.title} over {counted(lead.common, 'case')}"
        for m in metrics
        if (lead := table.leads.get(m.name)) is not None and lead.common is not None
    ]
    if not columns:
        return None
    return f"The best method is chosen over the cases that every method has a value for: {', '.join(columns)}."


def summary(part: ReportSection) -> list[str]:
    """The main results, each with its interval and with whether the best is decided against the second best."""
    run, table, scores, metrics = part.run, part.tables[0], part.scores, part.metrics
    out = _changes_by_method(run, table, scores, metrics)
    for metric in metrics:
        lead = table.leads.get(metric.name)
        if metric.role in ("script_efficacy", "script_locality", "bleed_over") and lead is not None:
            out.append(_describe_lead(metric, table, lead))
    if drop := _paraphrase_to_script_gap(run, table, scores, metrics):
        out.append(drop)
    return out


def _describe_lead(metric: Metric, table: Comparison, lead: Ranking) -> str:
    """The best method and how it differs from the second best, or that the best is not decided."""
    summaries = {r.label: r.summaries[metric.name] for r in table.rows}
    first = summaries[lead.first]
    tests = [c for f in table.contests if f.metric == metric.title and f.kind == "among" for c in f.contests]
    test = next((c for c in tests if {c.first, c.second} == {lead.first, lead.second}), None)
    p = "" if test is None else f", p {p_value(test.p_holm)} after Holm"
    gap = f"{lead.second} differs by {mean_with_interval(_positive(lead.difference))} points{p}"
    head = f"Best {metric.title}" if lead.decided else f"{metric.title}, best not decided"
    worse = "; worse than no edit" if lead.worse_than_unedited else ""
    return f"{head}: {lead.first} with {with_unit(first.interval)} over {counted(first.cases, 'case')}{worse}; {gap}."


def _positive(gap: Interval) -> Interval:
    """The difference the way round in which it is positive."""
    if gap.mean is None or gap.mean >= 0:
        return gap
    return gap._replace(mean=-gap.mean, ends=None if gap.ends is None else (-gap.ends[1], -gap.ends[0]))


def best_methods(table: Comparison, metrics: Sequence[Metric]) -> str:
    """The best method of each main metric in one sentence; empty where nothing was compared."""
    words = []
    for metric in metrics:
        lead = table.leads.get(metric.name)
        if metric.role != "other" and lead is not None:
            name = lead.best or ("worse than no edit" if lead.decided else "not decided")
            words.append(f"{metric.title} {name}")
    return f"By paired test: {', '.join(words)}." if words else ""


def _changes_by_method(run: Run, table: Comparison, scores: Scores, metrics: Sequence[Metric]) -> list[str]:
    """What every method did to script efficacy and locality, where there are few methods."""
    names = [m for m in metrics if m.role in ("script_efficacy", "script_locality")]
    edited = [r for r in table.rows if not r.baseline]
    if not names or len(edited) > 6:
        return []
    out = []
    for row in edited:
        parts = []
        for m in names:
            gain = row.gain[m.name]
            if (change := mean_before_and_after(row, run.baseline.label, m.name, scores)) is not None:
                change_text = f"{m.title} {percent(change[0])} → {percent(change[1])} %"
                parts.append(change_text + ("" if gain.low is None else f" ({mean_with_interval(gain, signed=True)})"))
        if parts:
            far = f", {row.finished:,} of {counted(table.cases, 'case')} so far" if row.pending else ""
            out.append(f"{row.label} against no edit{far}: {', '.join(parts)}.")
    return out


def _paraphrase_to_script_gap(run: Run, table: Comparison, scores: Scores, metrics: Sequence[Metric]) -> str | None:
    """From one-line prompts to scripts: S-ES against PS, paired by case."""
    script, paraphrase = metric_of(metrics, "script_efficacy"), metric_of(metrics, "generalisation")
    if script is None or paraphrase is None:
        return None
    parts = []
    for row in table.rows:
        gap = difference_interval(scores.means(row.label, script.name), scores.means(row.label, paraphrase.name))
        if not row.baseline and gap.mean is not None:
            parts.append(f"{row.label} {mean_with_interval(gap, signed=True)}")
    if not parts:
        return None
    return f"From paraphrases to scripts (S-ES minus PS, points, paired by case): {', '.join(parts)}."


def caveats(part: ReportSection) -> list[str]:
    """What the figures do not show, from the general to what happened in this run."""
    run, table, metrics = part.run, part.tables[0], part.metrics
    out = []
    if run.about["model"] == EMBEDDED:
        out.append(
            "The embedded model has 135 million parameters and knows little. These figures only show that the "
            "pipeline runs; they do not rank the methods. Published results are for models 10 to 60 times larger."
        )
    out += _small_sample_notes(table, metrics)
    out += _describe_metrics(run, metrics, part.normalisation)
    out += _intervals(table)
    if part.text is not None:
        out += _texts(part.text)
    out += _describe_run(run, table)
    return out


def _small_sample_notes(table: Comparison, metrics: Sequence[Metric]) -> list[str]:
    intervals = [r.summaries[m.name].interval for r in table.rows for m in metrics if m.better == "higher"]
    widths = [i.high - i.low for i in intervals if i.high is not None and i.low is not None]
    if table.cases >= FEW or not widths:
        return []
    return [
        f"{counted(table.cases, 'case')}, which is few: the median interval of the success rates is "
        f"{percent(median(widths))} points wide. Treat a difference smaller than its own interval as noise "
        "until more cases are run."
    ]


def _describe_metrics(run: Run, metrics: Sequence[Metric], normalisation: str) -> list[str]:
    out = []
    if metric_of(metrics, "script_efficacy") is not None:
        out.append(
            "S-ES asks which of two objects is more probable at the cut, not what the model would write. A method that "
            "raises the new object everywhere gets a high S-ES and ruins S-NS: read the two together."
        )
    if run.split.type == FACT:
        out.append(
            f"Objects are compared by {NORMALISATIONS[normalisation]}. The other normalisation can change individual "
            "outcomes where the two objects differ in length; it needs no new run: scedit report --normalisation."
        )
    if run.regimes == ("single",):
        out.append("Each edit is made alone and undone before the next: results with many edits may differ.")
    elif shared := [r for r in run.regimes if r not in ALONE]:
        many = ", ".join(map(regime_title, shared))
        who = "Some rows' model" if len(shared) < len(run.regimes) else "The model"
        out.append(
            f"{who} holds many edits at once ({many}): cases share one model, so they are not "
            "independent and the intervals by case are too narrow. Repeat with other orders before you rely on them."
        )
    return out


def _intervals(table: Comparison) -> list[str]:
    out = []
    if any(s.kind == TWO_WAY for r in table.rows for s in r.summaries.values()):
        out.append("Neighbour facts recur in several cases: these intervals and tests are by case and neighbour.")
    out.append(
        "Paired comparisons are corrected within a family (one metric, one question), not over all metrics together: "
        "with many families, some are decided by chance."
    )
    return out


def _texts(text: TextSection) -> list[str]:
    out = []
    if text.texts.synthetic:
        out.append("Some raters are simulated (programs): their agreement is not human agreement.")
    lost = sum(c.unscored for s in text.sources for row in s.cells.values() for c in row.values())
    if lost:
        out.append(
            f"{counted(lost, 'rating')} {'is' if lost == 1 else 'are'} unscored (refused or unreadable). "
            "They are left out of every mean; the bounds show "
            "their possible effect."
        )
    judges = [s for s in text.sources if not s.person]
    if programs := [s.title for s in judges if s.scripted]:
        out.append(
            f"{' and '.join(programs)}: {'programs that answer' if len(programs) > 1 else 'a program that answers'} by "
            "rules, put in a judge's place. Such ratings show that the pipeline runs and say nothing about scripts."
        )
    if judges and not any(s.person for s in text.sources):
        out.append("The only ratings are by a judge model: no human ratings confirm them.")
    out += [f"{f}." for s in judges for r in s.raters for f in family_conflicts(r, writers=[text.model])]
    return out


def _describe_run(run: Run, table: Comparison) -> list[str]:
    out = []
    for row in table.rows:
        if row.failed:
            out.append(
                f"{row.label}: {row.failed:,} of {counted(table.cases, 'case')} ended in an error and are "
                "left out of its means."
            )
        if row.pending:
            out.append(
                f"{row.label}: {row.pending:,} of {counted(table.cases, 'case')} are not yet run, so it is not ranked."
            )
        if row.blow_ups:
            out.append(
                f"{row.label}: {counted(len(row.blow_ups), 'edit')} diverged (flagged by the method: the "
                "change is far larger "
                "than usual for these weights). They are included in the means."
            )
    if not run.about.get("finished"):
        out.append("The run is not finished: these are the figures so far.")
    made = edits_made(run)
    if after := max(row.unedited for row in table.rows):
        out.append(
            f"{after:,} of the {counted(table.cases, 'case')} come after the last length of the sequence: they are "
            "never edited, and no method has a value for them."
        )
    if table.cases < made:
        out.append(
            f"{counted(made, 'edit')} were made; {table.cases:,} of their cases were asked, those that the "
            "lengths and the sample of the sequence name."
        )
    if made < run.about["split_cases"]:
        order = str(run.about["order"])
        place = "an order drawn from the split's digest" if order.startswith("drawn") else f"this order: {order}"
        out.append(f"{made:,} of the split's {counted(run.about['split_cases'], 'case')} were used, in {place}.")
    return out
