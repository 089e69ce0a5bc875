"""The lead's first page: how far everybody is, how fast, and how they do on attention items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from annotation_ui.app.page_context import PageContext
from annotation_ui.campaigns.campaign import RaterProgress, rater_progress
from schemas.text.counting import counted


def show(context: PageContext) -> None:
    """Every campaign with everybody's progress; brought up to date every few seconds."""
    st.title("Progress")
    if not context.db.campaigns():
        st.info("There is no campaign yet. Create one with: scedit annotate new")
    _table(context.db.path)


@st.fragment(run_every=5)
def _table(path: object) -> None:
    from annotation_ui.ratings.database import RatingsDB

    with RatingsDB(path) as db:  # type: ignore[arg-type]
        for campaign in db.campaigns():
            rows = rater_progress(db, campaign.name)
            done, all_ = sum(s.done for s in rows), sum(s.assigned for s in rows)
            st.subheader(f"{campaign.name} ({campaign.form})", anchor=False)
            st.progress(done / all_ if all_ else 0.0, text=f"{done:,} of {counted(all_, 'answer')}")
            if rows:
                st.dataframe([_row(s, rows) for s in rows], hide_index=True, width="stretch")
            else:
                st.info(f"Nothing is assigned yet. Run: scedit annotate share {campaign.name}")


def _row(s: RaterProgress, all_: Sequence[RaterProgress]) -> dict[str, Any]:
    """A rater's line; a column that would be empty for everybody is left out."""
    row: dict[str, Any] = {"rater": s.person, "done": s.done, "of": s.assigned}
    if any(x.synthetic for x in all_):
        row["program"] = "yes" if s.synthetic else ""
    if any(x.skipped for x in all_):
        row["skipped"] = s.skipped
    row["median time per item"] = "" if s.seconds is None else f"{s.seconds:.0f} s"
    if any(x.training[1] for x in all_):
        row["training items done"] = f"{s.training[0]} of {s.training[1]}"
    if any(x.attention[1] for x in all_):
        row["attention items right"] = f"{s.attention[0]} of {s.attention[1]}"
    row["last answer (UTC)"] = (s.last or "")[:19].replace("T", " ")
    return row
