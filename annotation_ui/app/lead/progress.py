"""The lead's pages of progress and agreement: who is where, how fast, agreement so far, and what to look at."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import streamlit as st

from annotation_ui.agreement.overview import Overview, answers_digest, compute_apart
from annotation_ui.agreement.report import ItemDisagreement, disagreements, live_judgements
from annotation_ui.app import widgets
from annotation_ui.app.page_context import PageContext
from annotation_ui.app.widgets import escape_markdown
from annotation_ui.campaigns.campaign import RaterProgress, rater_progress, task_of
from annotation_ui.ratings.database import Campaign, RatingsDB, Revision
from schemas.core.errors import UserError
from schemas.text.counting import counted


def lead_table(head: Sequence[str], rows: Sequence[Sequence[str]], *, flagged: Sequence[str] = ()) -> str:
    """A table; a column that is empty in every row is left out.

    Args:
        head: Titles of the columns.
        rows: Texts, a row each.
        flagged: Columns whose texts are to be noticed.

    Example:
        >>> lead_table(["who", "note"], [["ann", ""]]).count("<th>")
        1
    """
    there = [n for n in range(len(head)) if any(row[n] for row in rows)]
    top = "".join(f"<th>{html.escape(head[n])}</th>" for n in there)
    lines = "".join(
        "<tr>" + "".join(_cell(head[n], row[n], flagged=head[n] in flagged) for n in there) + "</tr>" for row in rows
    )
    return f'<div class="se-lead"><table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table></div>'


def _cell(title: str, text: str, *, flagged: bool) -> str:
    body = html.escape(text)
    if flagged and text:
        body = f'<div class="se-flag">{body}</div>'
    return f'<td data-label="{html.escape(title)}">{body}</td>'


_KEPT = 16  # states of campaigns whose figures are cached


class QuickFigures(NamedTuple):
    """What takes a fraction of a second: progress, answers, and items on which people differ, widest first."""

    progress: list[RaterProgress]
    answers: list[Revision]
    apart: list[ItemDisagreement]


def quick_figures(db: RatingsDB, name: str) -> QuickFigures:
    """The quick figures of a campaign."""
    return _quick(str(db.path.absolute()), name, answers_digest(db, name))


@st.cache_data(max_entries=_KEPT, show_spinner=False)
def _quick(ratings: str, name: str, digest: str) -> QuickFigures:
    with RatingsDB(ratings) as db:
        apart = disagreements(live_judgements(db, name), task_of(db, name))
        return QuickFigures(rater_progress(db, name), db.current_answers(name), apart)


def slow_figures(db: RatingsDB, name: str, store: Path | None) -> Overview:
    """Agreement with its intervals and all that rests on it; a process of its own computes it, the page waits.

    Raises:
        UserError: the process failed.
    """
    place = str(store.absolute()) if store else ""
    return _slow(str(db.path.absolute()), name, place, answers_digest(db, name, store))


@st.cache_data(max_entries=_KEPT, show_spinner="Agreement is being computed ...")
def _slow(ratings: str, name: str, store: str, digest: str) -> Overview:
    return compute_apart(Path(ratings), name, Path(store) if store else None)


_EVERY = 30.0  # seconds between two looks at the answers
_SHOWN = 5  # items to discuss


def show(context: PageContext) -> None:
    """Every campaign; brought up to date every few seconds, the figures computed once for every change."""
    st.title("Progress")
    widgets.apply_style("lead")
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


def show_agreement(context: PageContext) -> None:
    """Agreement by aspect of one campaign: computed again where answers changed."""
    opened = widgets.campaign_page(context, "Agreement")
    if opened is None:
        return
    name, _ = opened
    if not context.db.current_answers(name):
        st.info("Nobody has answered yet.")
        return
    _agreement_figures(context, name)


@st.fragment(run_every=30.0)
def _agreement_figures(context: PageContext, name: str) -> None:
    try:
        with RatingsDB(context.db.path) as db:
            overview = slow_figures(db, name, context.store)
    except UserError as error:
        st.error(widgets.escape_markdown(str(error)))
        return
    if overview.warning:
        st.warning(widgets.escape_markdown(overview.warning))
    if overview.body:
        st.html(overview.body)
    else:
        st.info("Nobody has answered yet.")
