"""The yield in words and rows, for the terminal and for the page."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from construction.report.records import StoreYield
from schemas.lineage import quality_name

AUTHORS_HEAD = ("author", "scripts", "kept", "unsure", "left out", "kept %")
COSTS_HEAD = ("stage", "model", "calls", "failed", "tokens in", "tokens out", "US dollars")
PAPER_EARLY = 6.75
"""% of ScEdit's data that was cut in step 1 (Appendix B.2.1)."""
PAPER_FILTERED = 8.23
"""% of GPT-4's data that was filtered out (Appendix B.2.2)."""
CHANGES = {"counterfactual": "ScEdit-CF", "temporal": "ScEdit-T"}


def quality_sentence(quality: str | None) -> str:
    """What the quality of the text means.

    Example:
        >>> quality_sentence("plumbing")
        'This text is of smoke-test quality: a small model shows that the pipeline runs, and no more.'
    """
    return f"This text is of {quality_name(quality)} quality: a small model shows that the pipeline runs, and no more."


def filtered_sentence(funnel: StoreYield) -> str:
    """Our share of questions left out, beside the paper's share of data."""
    return (
        f"{funnel.filtered_percent:.2f} % of the questions written for edits led to no prompt that is kept (surplus "
        f"questions and those that wait for people are not counted). The paper filtered {PAPER_FILTERED} % of what "
        "GPT-4 wrote, by checks, GPT-4 and people (Appendix B.2.2)."
    )


def elsewhere_sentence(funnel: StoreYield) -> str:
    """What the store holds beside its construction; empty where that is nothing."""
    if not funnel.elsewhere:
        return ""
    return f"{funnel.elsewhere:,} prompts of the store came with a split or a file; they are not counted here."


def per_case(counts: tuple[int, int, int]) -> tuple[str, str]:
    """Prompts and neighbour prompts a case.

    Example:
        >>> per_case((1830, 7342, 13672))
        ('4.01', '7.47')
    """
    cases, efficacy, specificity = counts
    return (f"{efficacy / cases:.2f}", f"{specificity / cases:.2f}") if cases else ("-", "-")


def table1_rows(funnel: StoreYield) -> list[tuple[str, ...]]:
    """Whose figures, cases, prompts, neighbour prompts, both a case; ours above the paper's."""
    rows = []
    for line in funnel.table:
        ours = (line.cases, line.efficacy, line.specificity)
        for who, counts in (("this store", ours), ("the paper", line.paper)):
            rows.append((f"{CHANGES[line.change]}, {who}", *(f"{n:,}" for n in counts), *per_case(counts)))
    return rows


def lengths_rows(funnel: StoreYield) -> list[tuple[str, ...]]:
    """Name, mean, minimum, maximum."""
    return [(x.name, f"{x.mean:.1f}", f"{x.least:,}", f"{x.most:,}") for x in funnel.lengths]


def authors_rows(funnel: StoreYield) -> list[tuple[str, ...]]:
    """Author, scripts, kept, unsure, left out, share kept."""
    return [
        (
            a.author,
            *(f"{n:,}" for n in (a.scripts, a.kept, a.unsure, a.dropped)),
            f"{100 * a.kept / a.scripts:.1f}",
        )
        for a in funnel.authors
    ]


def costs_rows(funnel: StoreYield) -> list[tuple[str, ...]]:
    """Stage, model, calls, failed, tokens in and out, dollars; a last line for all."""
    rows = [(s.stage, s.model, s.calls, s.failed, s.tokens_in, s.tokens_out, s.cost) for s in funnel.spending]
    if len(rows) > 1:
        rows.append(("total", "", *(_sum_known([r[n] for r in rows]) for n in range(2, 7))))  # type: ignore[arg-type]
    return [(r[0], r[1], *(_number(x) for x in r[2:6]), _money(r[6])) for r in rows]


def answered_sentences(funnel: StoreYield) -> list[str]:
    """Which models answered for others that were asked."""
    return [f"{asked} was asked, and {' and '.join(by)} answered." for asked, by in funnel.answered.items()]


def dollars_note(funnel: StoreYield) -> str:
    """Where dollars come from, and what is missing."""
    missing = sorted({s.model for s in funnel.spending if s.cost is None})
    note = "Dollars: as noted with each call, else by the price table. Replies of failed calls count."
    return f"{note} No price is known for {', '.join(missing)}: give --prices." if missing else note


def text(funnel: StoreYield, *, columns: int | None = None) -> Iterator[str]:
    """Lines for the terminal.

    Args:
        funnel: The yield.
        columns: Of the terminal, at whose edge reasons are broken; None where lines may be of any length.
    """
    yield f"{'':48s}{'all':>8s}{'kept':>8s}{'unsure':>8s}{'surplus':>9s}{'left out':>10s}"
    for s in funnel.funnel:
        yield f"{s.name:48s}{s.total:8,d}{s.kept:8,d}{s.unsure:8,d}{s.surplus:9,d}{s.dropped:10,d}"
    yield from filter(None, [elsewhere_sentence(funnel)])
    yield ""
    yield filtered_sentence(funnel)
    yield ""
    yield f"{'Table 1':24s}{'cases':>8s}{'S-Eff.':>9s}{'S-Spec.':>9s}{'a case':>16s}"
    for name, cases, efficacy, specificity, a, b in table1_rows(funnel):
        yield f"{name:24s}{cases:>8s}{efficacy:>9s}{specificity:>9s}{a:>8s}{b:>8s}"
    yield ""
    cut = ", ".join(f"{step}: {n:,}" for step, n in funnel.steps.items())
    yield f"Prompts by the step that was cut: {cut}"
    yield f"{funnel.early_percent:.2f} % in step 1 before filtering; the paper: {PAPER_EARLY} % (Appendix B.2.1)"
    yield from _rows("Lengths of what was kept", ("", "mean", "min", "max"), lengths_rows(funnel))
    yield from _rows("Scripts by author model", AUTHORS_HEAD, authors_rows(funnel))
    yield from answered_sentences(funnel)
    yield from _rows("Calls, tokens and cost", COSTS_HEAD, costs_rows(funnel))
    yield dollars_note(funnel)
    if funnel.reasons:
        yield ""
        yield "Why items were not kept, with one example each:"
    for why in funnel.reasons:
        key, reason, sample = why.examples[0]
        yield from _fitted(f"  {why.count:6,d}  {why.kind}: {why.check} says {why.label}: {reason}", columns)
        yield from _fitted(f"{_INDENT}{key}: {in_one_line(sample)}", columns)
    if any(why.label == "unscored" for why in funnel.reasons):
        yield ""
        yield "Unscored: no usable reply came. With --retry-failed, what was refused or malformed is asked for again."
    if funnel.quality:
        yield ""
        yield quality_sentence(funnel.quality)


_INDENT = " " * 10
"""Where examples, and the rest of long reasons, begin."""


def _fitted(line: str, columns: int | None) -> list[str]:
    """A line broken at spaces for a terminal."""
    if columns is None or len(line) <= columns or columns <= 2 * len(_INDENT):
        return [line]
    return textwrap.wrap(line, columns, subsequent_indent=_INDENT, break_on_hyphens=False)


def in_one_line(sample: str, length: int = 100) -> str:
    """A text of several lines in one, marked where its end is left out."""
    one = " / ".join(sample.splitlines())
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in one)
    return shown if len(shown) <= length else shown[: length - 3] + "..."


def _rows(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if not rows:
        return
    yield ""
    yield f"{title}:"
    widths = [max(len(str(r[n])) for r in (head, *rows)) for n in range(len(head))]
    left = 2 if "model" in head else 1
    for row in (head, *rows):
        cells = [c.ljust(w) if n < left else c.rjust(w) for n, (c, w) in enumerate(zip(row, widths, strict=True))]
        yield "  " + "  ".join(cells).rstrip()


def _sum_known(values: Sequence[object]) -> float | None:
    known = [v for v in values if isinstance(v, int | float)]
    return sum(known) if len(known) == len(values) else None


def _number(value: object) -> str:
    return "-" if value is None else f"{value:,}"


def _money(value: object) -> str:
    return "-" if value is None else f"{value:.4f}"
