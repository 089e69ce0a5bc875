"""The section of the agreement page on means of methods: corrected for severity, with intervals, as HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence

from annotation_ui.agreement.method_means import MethodMeans, stop_lines


def means_section(means: MethodMeans) -> str:
    """The section, for ``write_page`` and the lead's view; the reason where there are no means."""
    head = '<div class="ag"><h2>Means of methods, corrected for severity</h2>'
    if means.report is None:
        return f"{head}<p>None, because {html.escape(means.refused)}.</p></div>"
    r = means.report
    rows = [
        (aspect, method, e.text(2), f"{r.raw[aspect, method]:.2f}", str(e.n)) for (aspect, method), e in r.means.items()
    ]
    apart = [(d.aspect, f"{d.first} - {d.second}", d.difference.text(2)) for d in r.differences]
    people = [(who, e.text(2)) for who, e in r.severity.items()]
    note = (
        "A mean here is the one that there would be had every person rated every item (many-facet ordinal model; 95 % "
        "intervals by case). Severity is in logits: a person above 0 rates lower than the others."
    )
    rest = "" if r.converged else '<p class="warn">The fit did not come to rest: read these figures with care.</p>'
    stop = "".join(f"<p>{html.escape(line)}</p>" for line in [*means.left_out, *stop_lines(means)])
    return "".join(
        (
            head,
            rest,
            _table(("aspect", "method", "mean", "plain mean", "ratings"), rows),
            _table(("aspect", "difference", "points"), apart) if apart else "",
            _table(("person", "severity"), people),
            f'<p class="note">{note}</p>{stop}</div>',
        )
    )


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    top = "".join(f"<th>{html.escape(h)}</th>" for h in head)
    lines = "".join("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table></div>'
