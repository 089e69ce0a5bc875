"""The yield as one HTML page: no script, no network, every text of a fact or a model escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator

from construction.authoring.tally import PAPER_EARLY
from construction.report.records import StoreYield, Table1
from construction.report.text import (
    AUTHORS_HEAD,
    CHANGES,
    COSTS_HEAD,
    authors_rows,
    costs_rows,
    dollars_note,
    elsewhere_sentence,
    filtered_sentence,
    lengths_rows,
    per_case,
    quality_sentence,
)
from schemas.text import escaping

_STYLE = """
:root { --bg:#fff; --fg:#1b1f24; --soft:#59616b; --line:#d5dae0; --panel:#f4f6f8;
  --keep:#0072b2; --unsure:#e69f00; --drop:#8d959e; --surplus:#56b48a; }
@media (prefers-color-scheme: dark) { :root { --bg:#14171a; --fg:#e8eaed; --soft:#a6aeb8; --line:#3a4149;
  --panel:#1d2226; --keep:#56b4e9; --unsure:#f0b442; --drop:#6d757e; --surplus:#6fd0a8; } }
* { box-sizing:border-box; }
body { margin:0 auto; max-width:1000px; padding:1.2rem 1rem 3rem; background:var(--bg); color:var(--fg);
  font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif; overflow-wrap:anywhere; }
h1 { font-size:1.6rem; line-height:1.2; margin:0 0 .4rem; }
h2 { font-size:1.2rem; margin:2.2rem 0 .5rem; padding-top:.5rem; border-top:2px solid var(--line); }
p { max-width:72ch; margin:.4rem 0 .8rem; }
.soft, caption { color:var(--soft); font-size:.9rem; text-align:left; }
.note { background:var(--panel); border:1px solid var(--line); border-radius:8px; padding:.6rem .9rem; }
.row { margin:.7rem 0; }
.row .head { display:flex; flex-wrap:wrap; justify-content:space-between; gap:0 1rem; }
.row .num { color:var(--soft); font-variant-numeric:tabular-nums; }
svg { display:block; width:100%; height:18px; background:var(--panel); border-radius:3px; }
.keep { fill:var(--keep); } .unsure { fill:var(--unsure); }
.drop { fill:var(--drop); } .surplus { fill:var(--surplus); }
.key { display:inline-block; width:.8em; height:.8em; border-radius:2px; margin:0 .3em 0 0; }
.named { white-space:nowrap; margin-right:.9em; }
.key.keep { background:var(--keep); } .key.unsure { background:var(--unsure); }
.key.drop { background:var(--drop); } .key.surplus { background:var(--surplus); }
.scroll { overflow-x:auto; }
table { border-collapse:collapse; width:100%; font-variant-numeric:tabular-nums; }
th, td { padding:.35rem .6rem; border-bottom:1px solid var(--line); text-align:right; vertical-align:top;
  white-space:nowrap; }
th:first-child, td:first-child, .left { text-align:left; white-space:normal; overflow-wrap:normal; min-width:7rem; }
thead th { white-space:normal; overflow-wrap:normal; border-bottom:2px solid var(--soft); font-weight:600; }
details { margin:.5rem 0; border-bottom:1px solid var(--line); padding-bottom:.4rem; }
summary { cursor:pointer; }
summary b { font-variant-numeric:tabular-nums; }
blockquote { margin:.4rem 0 .4rem 1rem; padding-left:.7rem; border-left:3px solid var(--line); white-space:pre-line; }
"""
_HYPHEN = "\N{NON-BREAKING HYPHEN}"  # "S-Eff." stays on one line
OPEN = 3  # reasons whose examples are shown at once
_NAMES = {"keep": "kept", "unsure": "for people to decide", "surplus": "good but not needed", "drop": "left out"}


def escape(text: str, *, quote: bool = True) -> str:
    """A text as a page's text: no mark-up, and nothing that turns a line around."""
    return html.escape(escaping.escape(text), quote=quote)


def page(funnel: StoreYield) -> str:
    """The page, whole."""
    parts = [
        f"<h1>What became of the facts in {escape(funnel.store)}</h1>",
        '<p class="soft">Counted from the records and verdicts in the store, all runs together. '
        f"{escape(elsewhere_sentence(funnel))}</p>",
        f'<p class="note">{escape(quality_sentence(funnel.quality))}</p>' if funnel.quality else "",
        "<h2>From facts to prompts</h2>",
        _legend(funnel),
        *_funnel(funnel),
        f"<p>{escape(filtered_sentence(funnel))}</p>",
        "<h2>Beside the paper's Table 1</h2>",
        *_table1(funnel.table),
        "<h2>Where the scripts were cut</h2>",
        *_steps(funnel),
        "<h2>Why items were not kept</h2>",
        *_reasons(funnel),
        *_section("Lengths of what was kept", ("", "mean", "min", "max"), lengths_rows(funnel)),
        *_section("Scripts by author model", AUTHORS_HEAD, authors_rows(funnel)),
        *_section("Calls, tokens and cost", COSTS_HEAD, costs_rows(funnel)),
        f'<p class="soft">{escape(dollars_note(funnel))}</p>',
    ]
    body = "\n".join(part for part in parts if part)
    title = escape(f"Yield of {funnel.store}")
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body>\n{body}\n</body></html>\n"
    )


def _legend(funnel: StoreYield) -> str:
    kinds = ["keep", "unsure", *(["surplus"] if any(s.surplus for s in funnel.funnel) else []), "drop"]
    parts = (f'<span class="named"><span class="key {k}"></span>{_NAMES[k]}</span>' for k in kinds)
    return f"<p>{' '.join(parts)}</p>"


def _funnel(funnel: StoreYield) -> Iterator[str]:
    for stage in funnel.funnel:
        parts = [("keep", stage.kept), ("unsure", stage.unsure), ("surplus", stage.surplus), ("drop", stage.dropped)]
        counts = [f"{stage.kept:,} kept ({100 * stage.kept / stage.total:.0f} %)" if stage.total else "none"]
        counts += [f"{n:,} {_NAMES[k]}" for k, n in parts[1:] if n]
        yield _bar(f"{stage.name}: {stage.total:,}", ", ".join(counts), parts, stage.total)


def _bar(head: str, counts: str, parts: Iterable[tuple[str, int]], whole: float) -> str:
    """A bar as an inline picture; its words stand outside, so they stay readable on a narrow screen."""
    x, shapes = 0.0, []
    for kind, count in parts:
        width = 100.0 * count / whole if whole else 0.0
        if count:
            shapes.append(f'<rect class="{kind}" x="{x:.3f}" y="0" width="{width:.3f}" height="10"/>')
        x += width
    label = escape(f"{head}: {counts}", quote=True)
    return (
        f'<div class="row"><div class="head"><span>{escape(head)}</span><span class="num">{escape(counts)}</span></div>'
        f'<svg viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label="{label}">'
        f"{''.join(shapes)}</svg></div>"
    )


def _table1(table: Iterable[Table1]) -> Iterator[str]:
    rows = []
    for line in table:
        ours = (line.cases, line.efficacy, line.specificity)
        rows.append((f"{CHANGES[line.change]}, this store", *(f"{n:,}" for n in ours), *per_case(ours)))
        rows.append((f"{CHANGES[line.change]}, the paper", *(f"{n:,}" for n in line.paper), *per_case(line.paper)))
    head = ("", "cases", "S-Eff. prompts", "S-Spec. prompts", "S-Eff. a case", "S-Spec. a case")
    yield _html_table(head, rows)
    yield (
        '<p class="soft">Cases: edits with at least one kept script prompt. S-Eff.: their prompts. S-Spec.: prompts of '
        "their neighbours, counted once for each edit. This store: what every check keeps. The paper: the published "
        "data, after its checks and after filtering by people (ScEdit, Table 1).</p>"
    )


def _steps(funnel: StoreYield) -> Iterator[str]:
    whole = sum(funnel.steps.values())
    largest = max(funnel.steps.values(), default=0)
    for step in range(1, max(funnel.steps, default=0) + 1):
        count = funnel.steps.get(step, 0)
        share = 100.0 * count / whole if whole else 0.0
        kind = "unsure" if step == 1 else "keep"
        yield _bar(f"step {step}", f"{count:,} prompts, {share:.1f} %", [(kind, count)], largest)
    yield (
        f"<p>{funnel.early_percent:.2f} % of {whole:,} prompts are cut in step 1, before anything was filtered; in the "
        f"paper {PAPER_EARLY} % of the data (Appendix B.2.1, ScEdit-CF and ScEdit-T together, before filtering by "
        "people). They wait for people here.</p>"
    )


def _reasons(funnel: StoreYield) -> Iterator[str]:
    if not funnel.reasons:
        yield "<p>Every item was kept.</p>"
    for number, why in enumerate(funnel.reasons):
        quoted = "".join(
            f"<blockquote>{escape(text)}<br><span class='soft'>{escape(key)}: {escape(reason)}</span></blockquote>"
            for key, reason, text in why.examples
        )
        explanation = f' <span class="soft">{escape(why.about)}</span>' if why.about else ""
        yield (
            f"<details{' open' if number < OPEN else ''}><summary><b>{why.count:,}</b> "
            f"{escape(why.kind)}{'s' if why.count != 1 else ''}: {escape(why.check)} says {escape(why.label)}"
            f"{explanation}</summary>{quoted}</details>"
        )


def _section(title: str, head: tuple[str, ...], rows: list[tuple[str, ...]]) -> Iterator[str]:
    if rows:
        yield f"<h2>{escape(title)}</h2>"
        yield _html_table(head, rows)


def _html_table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    names = list(head)
    left = [' class="left"' if name == "model" else "" for name in names]
    top = "".join(f"<th{c}>{escape(h.replace('-', _HYPHEN))}</th>" for c, h in zip(left, names, strict=True))
    cells = (zip(left, row, strict=True) for row in rows)
    body = "".join("<tr>" + "".join(f"<td{c}>{escape(text)}</td>" for c, text in row) + "</tr>" for row in cells)
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'
