"""What is said of a campaign's agreement, piece by piece: the command prints it as text, the page shows it as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from annotation_ui.agreement.method_means import MethodMeans, stop_lines
from annotation_ui.agreement.report import (
    PUBLISHED_JUDGE,
    PUBLISHED_MEAN,
    PUBLISHED_POOLED,
    AspectReport,
    TaskReport,
)
from schemas.text.counting import counted

Rows = Sequence[Mapping[str, object]]
GLOSSARY = (
    "Alpha and Gwet's AC: agreement beyond chance; 1 is perfect, 0 is chance. Alpha is low when nearly all answers are "
    "the same, AC is not. Spearman and Kendall: whether two people order the items alike; 1 is the same order."
)


class AgreementBlock(NamedTuple):
    """A heading, a paragraph, a table (with rows), or a picture: of alpha, or of the answers to an aspect (text)."""

    kind: Literal["heading", "text", "note", "warn", "table", "alpha", "answers"]
    text: str = ""
    rows: Rows = ()


def agreement_blocks(report: TaskReport, means: MethodMeans | None = None) -> Iterator[AgreementBlock]:
    """Everything that is said of a report, in order."""
    people = f"{counted(len(report.people), 'person', 'people')} ({', '.join(report.people) or 'nobody yet'})"
    items = f"{counted(report.items, 'item')} in {counted(report.cases, 'case')}"
    yield AgreementBlock("text", f"{report.task}: {items}, {people}. Intervals: 95 %, over cases.")
    if report.synthetic:
        names = ", ".join(report.synthetic)
        yield AgreementBlock("warn", f"Synthetic: {names} are programs. Nothing here says how people agree.")
    yield AgreementBlock("note", GLOSSARY)
    yield from _summary(report)
    for aspect in report.aspects:
        yield from _aspect(aspect)
    yield AgreementBlock(
        "table", rows=[{"sets of choices": f"{n}, {e.name}", "value": e.text()} for n, e in report.sets.items()]
    )
    yield from _section("By part of the items", _parts(report))
    if report.pooled is not None:
        yield AgreementBlock("heading", "Pooled over aspects")
        yield AgreementBlock("text", f"{report.pooled.name}: {report.pooled.text()}")
        note = "Pooling raises alpha if aspects differ in level, so this is no summary of them. "
        yield AgreementBlock("note", f"{note}The paper's {PUBLISHED_POOLED} is such a value.")
    paces = [{"person": p, "seconds an item (median)": f"{s:.0f}"} for p, s in report.seconds.items() if s is not None]
    yield from _section("Pace", paces)
    if means is not None:
        yield from means_blocks(means)


def _section(title: str, rows: Rows) -> Iterator[AgreementBlock]:
    if rows:
        yield AgreementBlock("heading", title)
        yield AgreementBlock("table", rows=rows)


def _summary(report: TaskReport) -> Iterator[AgreementBlock]:
    """Alpha of every aspect as a table and a picture, with the paper's value."""
    name = report.aspects[0].agreement.alpha.name if report.aspects else "alpha"
    rows: list[dict[str, object]] = [{"aspect": a.aspect, name: a.agreement.alpha.text()} for a in report.aspects]
    published = any(a.published is not None for a in report.aspects)
    if published:
        for row, a in zip(rows, report.aspects, strict=True):
            row["ScEdit Table 5"] = "" if a.published is None else f"{a.published:.2f}"
    yield AgreementBlock("table", rows=rows)
    yield AgreementBlock("alpha")
    if published:
        note = "Table 5 has the paper's alpha (three people, 400 scripts, level not stated; orange in the picture). "
        yield AgreementBlock("note", f"{note}Its four values have a mean of {PUBLISHED_MEAN}.")


def _aspect(a: AspectReport) -> Iterator[AgreementBlock]:
    g = a.agreement
    rows = [(g.alpha.name, g.alpha), ("exact agreement", g.exact), ("Gwet's AC1", g.ac1)]
    if g.level == "ordinal":
        rows += [
            ("within one point", g.within_one),
            ("Gwet's AC2, quadratic weights", g.ac2),
            (a.ceiling.name, a.ceiling),
        ]
    values = [{"statistic": name, "value": e.text()} for name, e in rows]
    shares = [f"{k if isinstance(k, str) else f'{k:g}'}: {e.value:.0%}" for k, e in g.prevalence.items() if e.value]
    pairs = [
        {"two people": f"{p.first}, {p.second}", "Spearman": p.spearman.text(2), "Kendall": p.kendall.text(2),
         "exact": p.exact.text(2)}
        for p in a.pairs
    ]  # fmt: skip
    each = {"alpha without": a.without, "above (+) or below (-) the others": a.severity, "drift (Spearman)": a.drift}
    people = [
        {"person": p, **{name: some[p].text(2) for name, some in each.items() if some}}
        for p in next((some for some in each.values() if some), {})
    ]
    yield AgreementBlock("heading", f"{a.aspect} ({counted(g.ratings, 'answer')})")
    yield AgreementBlock("answers", a.aspect)
    yield AgreementBlock(
        "table", rows=[*values, {"statistic": "answers (mean over items)", "value": ", ".join(shares)}]
    )
    yield AgreementBlock("table", rows=pairs)
    yield AgreementBlock("table", rows=people)
    for p in a.judges:
        words = [f"Spearman {p.spearman.text()}", f"Kendall {p.kendall.text()}"]
        words += [f"{p.alpha.name} {p.alpha.text()}"] if p.alpha is not None else []
        words += [f"mean difference {p.difference.text(2)}"] if p.difference is not None else []
        yield AgreementBlock("text", f"{p.first} against the mean of people: {'; '.join(words)}")
    if a.judges:
        note = f"The paper prints alpha {PUBLISHED_JUDGE['alpha']} and Spearman {PUBLISHED_JUDGE['spearman']} between "
        yield AgreementBlock(
            "note", f"{note}people and its judge. Even a perfect judge could not exceed the ceiling above."
        )


def _parts(report: TaskReport) -> Rows:
    """Agreement of each part of the items: a label that is nearly always the same in one of them says little there."""
    return [
        {"items": f"{part} ({counted(some.items, 'item')})", "aspect": a.aspect, "alpha, nominal": g.alpha.text(),
         "exact agreement": g.exact.text(), "Gwet's AC1": g.ac1.text()}
        for part, some in report.parts.items()
        for a in some.aspects
        for g in [a.agreement]
    ]  # fmt: skip


def means_blocks(means: MethodMeans) -> Iterator[AgreementBlock]:
    """Means of methods corrected for severity, with intervals; the reason if there are none."""
    yield AgreementBlock("heading", "Means of methods, corrected for severity")
    if means.report is None:
        yield AgreementBlock("text", f"None, because {means.refused}.")
        return
    r = means.report
    each = [
        {"aspect": aspect, "method": method, "mean": e.text(2), "uncorrected mean": f"{r.raw[aspect, method]:.2f}",
         "ratings": e.n}
        for (aspect, method), e in r.means.items()
    ]  # fmt: skip
    apart = [
        {"aspect": d.aspect, "difference": f"{d.first} - {d.second}", "points": d.difference.text(2)}
        for d in r.differences
    ]
    yield AgreementBlock("table", rows=each)
    yield AgreementBlock("table", rows=apart)
    yield AgreementBlock("table", rows=[{"person": who, "severity": e.text(2)} for who, e in r.severity.items()])
    note = "A mean here is the mean if every person had rated every item (additive severity; 95 % intervals by case). "
    yield AgreementBlock("note", f"{note}Severity is in points: a person above 0 rates lower than the others.")
    for line in [*means.left_out, *stop_lines(means)]:
        yield AgreementBlock("text", line)


def blocks_as_text(blocks: Iterable[AgreementBlock]) -> list[str]:
    """Blocks as lines of text; pictures are left out."""
    lines: list[str] = []
    for block in blocks:
        if block.rows:
            lines += _padded(block.rows)
        elif block.kind in ("heading", "text", "note", "warn"):
            lines += ["", block.text] if block.kind == "heading" else [block.text]
    return lines


def _padded(rows: Rows) -> list[str]:
    head = list(rows[0])
    cells = [head, *([str(row.get(name, "")) for name in head] for row in rows)]
    widths = [max(len(row[n]) for row in cells) for n in range(len(head))]
    return ["  " + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in cells]
