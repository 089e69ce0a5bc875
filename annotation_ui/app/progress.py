"""The lead's first page: who did what, how fast, and whether they watch."""

from __future__ import annotations

import streamlit as st

from annotation_ui.app.page_context import PageContext
from annotation_ui.campaigns.campaign import rater_progress


def show(context: PageContext) -> None:
    """Every campaign with everybody's standing; looked at again every few seconds."""
    st.title("Progress")
    _table(context.db.path)


@st.fragment(run_every=5)
def _table(path: object) -> None:
    from annotation_ui.ratings.database import RatingsDB

    with RatingsDB(path) as db:  # type: ignore[arg-type]
        for campaign in db.campaigns():
            rows = rater_progress(db, campaign.name)
            done, all_ = sum(s.done for s in rows), sum(s.assigned for s in rows)
            st.subheader(f"{campaign.name} ({campaign.form})", anchor=False)
            st.progress(done / all_ if all_ else 0.0, text=f"{done} of {all_} answers")
            table = [
                {
                    "person": s.person,
                    "synthetic": "yes" if s.synthetic else "",
                    "done": s.done,
                    "of": s.assigned,
                    "median s an item": None if s.seconds is None else round(s.seconds, 1),
                    "training": f"{s.training[0]} of {s.training[1]}",
                    "attention right": f"{s.attention[0]} of {s.attention[1]}",
                    "last save (UTC)": (s.last or "")[:19].replace("T", " "),
                }
                for s in rows
            ]
            if table:
                st.dataframe(table, hide_index=True, width="stretch")
            else:
                st.info(f"Nothing is shared out yet: scedit annotate share {campaign.name}")
