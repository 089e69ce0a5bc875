"""Tables of a report that follow from its main table: comparisons in pairs, one number a method, cost, counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from curation.stats.estimates import harmonic_mean
from curation.stats.intervals import BY_CASE, Interval
from evaluation.analysis.comparison import Comparison, MethodRow
from evaluation.analysis.pairwise_tests import NO_SCALE, ComparisonFamily, PairwiseTest
from evaluation.analysis.tables import DELTA, Cell, FigureTable, Section
from evaluation.metrics.base import Metric, Role, case_mean_interval, metric_of
from evaluation.metrics.pooled import RATIO
from evaluation.report.formatting import memory, seconds
from evaluation.runs.frame import Scores
from evaluation.runs.results import Run, asked_cases
from evaluation.runs.validity_variants import CHAT, asked_in_two_forms
from schemas.documents.document import Document
from schemas.events.event import Event

_HARMONIC: Mapping[str, tuple[Role, ...]] = {
    "S (ES, PS, NS)": ("efficacy", "generalisation", "locality"),
    "script S (S-ES, S-NS)": ("script_efficacy", "script_locality"),
}
_MISSED = 0.05  # chance that an interval of 95 % misses the truth
_OPEN = 30  # rows of a table that is shown without a click
_DECIDED = ("Metric", "Better", "Worse", f"{DELTA} better less worse", "p, Holm", "Cases")
_COMPARED = (
    "Metric",
    "First",
    "Second",
    f"{DELTA} first less second",
    "p, Holm",
    "Wins, ties, losses",
    "Detectable",
    "Better",
)


def comparison_section(families: Sequence[ComparisonFamily], against: str | None) -> Section:
    """What the paired tests decide, and (folded) every comparison, a table a family."""
    decided = decided_table(families)
    tables = [decided] if decided.rows else []
    if families:
        lines = tuple(_comparison_row(family, test) for family in families for test in family.pairs)
        about = "" if against is None else f" of {against}"
        seen = "Detectable: the smallest true difference that is found with 80 % power."
        tables.append(FigureTable(f"All comparisons{about}", _COMPARED, lines, seen, folded=True))
    caption = "Paired by case, over the cases that both have; p is corrected within a metric and question (Holm)."
    if families and not decided.rows:
        caption = f"No comparison of methods is decided at p < 0.05. {caption}"
    return Section("paired", "Pairwise comparisons of methods", tuple(tables), caption)


def decided_table(families: Sequence[ComparisonFamily]) -> FigureTable:
    """The comparisons that the paired tests decide, the better method first; no rows where there is none."""
    decided = [(f, _better_first(c)) for f in families if f.kind != "control" for c in f.pairs if c.winner]
    rows = tuple((f.metric, c.first, c.second, c.gap, c.p_holm, c.gap.n) for f, c in decided)
    count = sum(len(f.pairs) for f in families if f.kind != "control")
    unscaled = dict.fromkeys(f.metric for f, c in decided if not c.on_scale)
    caption = NO_SCALE.format(", ".join(unscaled)) if unscaled else ""
    return FigureTable(f"Decided: {len(rows)} of {count}", _DECIDED, rows, caption, folded=len(rows) > _OPEN)


def _better_first(test: PairwiseTest) -> PairwiseTest:
    """A decided comparison with the better method in front."""
    if test.winner == test.first or test.gap.mean is None or test.gap.ends is None:
        return test
    mean, low, high = (1 / v if test.gap.unit == RATIO else -v for v in (test.gap.mean, *test.gap.ends))
    return test._replace(first=test.second, second=test.first, gap=test.gap._replace(mean=mean, ends=(high, low)))


def _comparison_row(family: ComparisonFamily, test: PairwiseTest) -> tuple[Cell, ...]:
    counts = f"{test.wins}, {test.ties}, {test.losses}" + (f" ({test.only_one} without)" if test.only_one else "")
    seen: Cell = "never" if test.never else None
    if test.detectable is not None and not test.never:
        seen = test.gap.alone._replace(mean=test.detectable)
    names = {"equal": "equal", "undefined": "no common case"}
    better = test.winner or names.get(test.verdict, "not decided")
    return (family.metric, test.first, test.second, test.gap, test.p_holm, counts, seen, better)


def chat_table(table: Comparison, metrics: Sequence[Metric], scores: Scores, run: Run) -> FigureTable:
    """Every method's figures on prompts as the papers ask them and in the chat format; no rows where none was asked.

    Metrics whose questions are in the chat template anyway (``generation.chat``) have no two forms: the caption names
    them.
    """
    raw = {row.label: row for row in table.rows if not row.variant}
    asked = [row for row in table.rows if row.variant.partition("@")[0] == CHAT]
    in_chat = {row.label.replace(f" [{CHAT}]", "", 1): row for row in asked}
    rows: list[tuple[Cell, ...]] = []
    cases = asked_cases(run).values() if in_chat else ()
    one_form = [metric for metric in metrics if in_chat and not asked_in_two_forms(metric, cases)]
    for metric in metrics:
        if metric in one_form:
            continue
        for label, row in raw.items():
            chat = in_chat.get(label)
            both = () if chat is None else (row.summaries[metric.name].interval, chat.summaries[metric.name].interval)
            if chat is not None and all(one.mean is not None for one in both):
                common = scores.by_editor[label][metric.name]
                rows.append((metric.title, label, *both, scores.difference(chat.label, label, metric, common)))
    head = ("Metric", "Method", "Raw prompt", "Chat format", f"{DELTA} chat less raw")
    caption = (
        "Raw prompts are the papers' setting. In the chat format the user asks the question, and the steps of the "
        "script begin the reply; a fact prompt is to be completed. Edits are computed on raw prompts"
    )
    edited_in_chat = [label for label, row in raw.items() if row.params.get("edit_format") == "chat"]
    caption += f", those of {', '.join(edited_in_chat)} in the chat format." if edited_in_chat else "."
    if one_form:
        caption += f" Asked in the chat format in all rows: {', '.join(metric.title for metric in one_form)}."
    return FigureTable("Raw prompts and the chat format", head, tuple(rows), caption)


def harmonic_table(table: Comparison, metrics: Sequence[Metric], scores: Scores) -> FigureTable | None:
    """ROME's score S: the harmonic mean of efficacy, paraphrase and neighbourhood success (Meng et al. 2022).

    Only scores that the metrics of a table over all cases allow; None where no method has one.
    """
    parts = {name: [m for role in roles if (m := metric_of(metrics, role))] for name, roles in _HARMONIC.items()}
    columns = {}
    for name, mine in parts.items():
        if len(mine) == len(_HARMONIC[name]):
            columns[name] = [harmonic_interval(row, mine, scores) for row in table.rows]
    columns = {name: values for name, values in columns.items() if any(value.mean is not None for value in values)}
    caption = (
        "Harmonic means of success rates, as ROME's S. The interval holds the truth in at least 95 % (Bonferroni)."
    )
    rows = tuple(zip((row.label for row in table.rows), *columns.values(), strict=True))
    return FigureTable("One number a method", ("Method", *columns), rows, caption) if columns else None


def harmonic_interval(row: MethodRow, metrics: Sequence[Metric], scores: Scores) -> Interval:
    """The harmonic mean of a method's rates; no mean where one of them has none.

    Each rate gets an interval that misses its truth with at most 5 % / k (k rates, Bonferroni), and the score rises
    with each of them: so the ends of these intervals together hold the truth in at least 95 %.
    """
    means = [row.summaries[metric.name].mean for metric in metrics]
    known = [mean for mean in means if mean is not None]
    if len(known) < len(means):
        return Interval(None, None, 0)
    cases, tail = scores.by_editor[row.label], _MISSED / 2 / len(metrics)
    boxes = [case_mean_interval(metric, cases[metric.name].values(), tail=tail) for metric in metrics]
    found = Interval(harmonic_mean(known), None, min(box.n for box in boxes))
    ends = [box.ends for box in boxes if box.ends is not None]
    if len(ends) < len(boxes):
        return found
    low, high = map(harmonic_mean, zip(*ends, strict=True))
    return found._replace(ends=(low, high), kind=BY_CASE)


def cost_section(run: Run, table: Comparison, metrics: Sequence[Metric]) -> Section:
    """What every method cost, edits that diverged, and what was counted."""
    labels = [row.label for row in table.rows]
    where = run.baseline.environment
    machine = f" on {where['device']}, {where['cpus']} CPU cores" if where else ""
    device = str(where.get("device", "")).startswith("cuda")
    peak = "of the device" if device else "of the whole process, model included"
    costs: tuple[tuple[Cell, ...], ...] = (
        ("Seconds per edit", *(seconds(row.seconds_edit) for row in table.rows)),
        ("Seconds per scoring", *(seconds(row.seconds_score) for row in table.rows)),
        ("Peak memory", *(memory(row.peak_bytes) for row in table.rows)),
    )
    caption = f"Means over finished cases{machine}. Peak memory is that {peak}."
    parts = [FigureTable("Cost", ("", *labels), costs, caption)]
    diverged: list[tuple[Cell, ...]] = []
    cases = {c.key: c for c in run.split.all_cases}
    for editor in run.editors:
        for key, result in editor.results.items():
            if result.notes.get("blow_up"):
                edit = cases[key].request
                name = edit.text if isinstance(edit, Event | Document) else edit.subject.text
                notes = [result.notes.get(note) for note in ("norm_ratio", "value_norm")]
                diverged.append((editor.label, name, *(None if n is None else f"{n:.3g}" for n in notes)))
    if diverged:
        head = ("Method", "Edit", "Change over the weight's norm", "Norm of the value")
        note = "The method itself flags these edits. They are included in the means."
        parts.append(FigureTable("Diverged edits", head, tuple(diverged), note, folded=len(diverged) > 8))
    counts: list[tuple[Cell, ...]] = [
        (f"{m.title}, items", *(row.summaries[m.name].items for row in table.rows)) for m in metrics
    ]
    for name in ("ties", "truncated", "unscored"):
        totals = [sum(getattr(s, name) for s in row.summaries.values()) for row in table.rows]
        counts.append((name.capitalize(), *totals))
    counts.append(("Failed cases", *(row.failed for row in table.rows)))
    counts.append(("Cases not yet run", *(row.pending for row in table.rows)))
    parts.append(FigureTable("Counts", ("", *labels), tuple(counts), folded=True))
    return Section("cost", "Cost and counts", tuple(parts))
