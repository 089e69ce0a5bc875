"""The lead's first page: who is where, how fast, how long it takes yet, agreement so far, and what to look at."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from annotation_ui.agreement.overview import Overview
from annotation_ui.app.lead.figures import QuickFigures, quick_figures, slow_figures
from annotation_ui.app.lead.tables import apply_lead_style, lead_table
from annotation_ui.app.page_context import PageContext
from annotation_ui.app.widgets import escape_markdown
from annotation_ui.campaigns.campaign import RaterProgress
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.records import Campaign
from schemas.core.errors import UserError
from schemas.text.counting import counted

_EVERY = 30.0  # seconds between two looks at the answers
_SHOWN = 5  # items to discuss


def show(context: PageContext) -> None:
    """Every campaign; brought up to date every few seconds, the figures computed once for every change."""
    st.title("Progress")
    apply_lead_style()
    if not context.db.campaigns():
        st.info("There is no campaign yet. Create one with: scedit annotate new")
    _campaigns(context)


@st.fragment(run_every=_EVERY)
def _campaigns(context: PageContext) -> None:
    with RatingsDB(context.db.path) as db:
        for campaign in db.campaigns():
            _show_campaign(context, db, campaign)


def _show_campaign(context: PageContext, db: RatingsDB, campaign: Campaign) -> None:
    name = campaign.name
    quick = quick_figures(db, name)
    st.subheader(f"{escape_markdown(name)} ({campaign.form})", anchor=False)
    if not quick.progress:
        st.progress(0.0, text="0 of 0 answers")
        st.info(f"Nothing is assigned yet. Run: scedit annotate assign {escape_markdown(name)}")
        return
    done, all_ = sum(s.done for s in quick.progress), sum(s.assigned for s in quick.progress)
    words = [f"{done:,} of {counted(all_, 'answer')}", *_outlook(quick.progress)]
    st.progress(min(1.0, done / all_) if all_ else 0.0, text=" · ".join(words))
    overview = None
    if quick.answers:
        try:
            overview = slow_figures(db, name, context.store)
        except UserError as error:
            st.error(escape_markdown(str(error)))
    notes = overview.notes if overview else {}
    rows = [_person_row(s, notes.get(s.person, ()), overview) for s in quick.progress]
    st.html(lead_table(_HEAD, rows, flagged=("look at",)))
    if overview:
        _show_agreement(overview)
    if quick.answers:
        _show_discussion(db, name, quick)


def _outlook(progress: Sequence[RaterProgress]) -> list[str]:
    """How much work is left, at everybody's median time an item."""
    work = [_work_left(s) for s in progress if _open_items(s)]
    return [f"{span(sum(w or 0.0 for w in work))} of work left"] if work and None not in work else []


def _open_items(s: RaterProgress) -> int:
    return max(0, s.assigned - s.done - s.skipped)


def _work_left(s: RaterProgress) -> float | None:
    """Seconds of work, not days between them; None before the first timed answer."""
    return None if s.seconds is None else _open_items(s) * s.seconds


def span(seconds: float) -> str:
    """A time in words.

    Example:
        >>> span(40), span(600), span(9000)
        ('1 min', '10 min', '2.5 h')
    """
    minutes = max(1, round(seconds / 60))
    return f"{minutes} min" if minutes < 100 else f"{minutes / 60:.1f} h"


_HEAD = (
    "rater", "program", "done", "skipped", "training items done", "attention items right", "median time per item",
    "work left", "severity", "last answer (UTC)", "look at",
)  # fmt: skip


def _person_row(s: RaterProgress, notes: Sequence[str], overview: Overview | None) -> list[str]:
    """A rater's line; a text that says nothing is empty, and a column of empty ones is left out."""
    severity = overview.severity.get(s.person) if overview else None
    work = _work_left(s)
    return [
        s.person,
        "yes" if s.synthetic else "",
        f"{s.done} of {s.assigned}",
        str(s.skipped) if s.skipped else "",
        f"{s.training[0]} of {s.training[1]}" if s.training[1] else "",
        f"{s.attention[0]} of {s.attention[1]}" if s.attention[1] else "",
        "" if s.seconds is None else f"{s.seconds:.0f} s",
        span(work) if work else "",
        "" if severity is None else severity.text(2),
        (s.last or "")[:16].replace("T", " "),
        "; ".join(notes),
    ]


def _show_agreement(overview: Overview) -> None:
    """Agreement by aspect."""
    rows = [[aspect, e.text(2), str(e.n) if e.defined else ""] for aspect, e in overview.alphas.items()]
    if rows:
        name = next((e.name for e in overview.alphas.values()), "alpha")
        st.html(lead_table(["agreement so far", name, "items"], rows))
    for line in overview.stop:
        st.caption(escape_markdown(line))


def _show_discussion(db: RatingsDB, name: str, quick: QuickFigures) -> None:
    """The widest disagreements that nobody has decided."""
    decided = db.adjudications(name)
    open_ = [d for d in quick.apart if d.item not in decided]
    if not quick.apart:
        return
    rows = [
        [
            d.case,
            f"{d.spread:.2f}",
            "; ".join(f"{p}: {', '.join(map(str, a.values()))}" for p, a in sorted(d.said.items())),
        ]
        for d in open_[:_SHOWN]
    ]
    line = f"{counted(len(quick.apart), 'item')} with a disagreement, {len(quick.apart) - len(open_)} decided"
    if rows:
        st.html(lead_table(["to discuss", "disagreement", "answers"], rows))
    st.caption(f"{line}. Decide them on the page Adjudicate.")
