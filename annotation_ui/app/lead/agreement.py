"""The lead's agreement page: the numbers of ``scedit annotate agreement``, with plots."""

from __future__ import annotations

import streamlit as st

from annotation_ui.app import widgets
from annotation_ui.app.lead.figures import held_overview
from annotation_ui.app.page_context import PageContext
from annotation_ui.ratings.database import RatingsDB


def show(context: PageContext) -> None:
    """Agreement by aspect of one campaign: what is computed is shown at once, and brought up to date behind it."""
    opened = widgets.campaign_page(context, "Agreement")
    if opened is None:
        return
    name, _ = opened
    if not context.db.current_answers(name):
        st.info("Nobody has answered yet.")
        return
    _show_figures(context, name)


@st.fragment(run_every=3.0)
def _show_figures(context: PageContext, name: str) -> None:
    with RatingsDB(context.db.path) as db:
        held = held_overview(db, name, context.store)
    if held.fault:
        st.error(widgets.escape_markdown(held.fault))
    if held.overview is None:
        if not held.fault:
            st.info("The intervals are being computed; they are shown here as soon as they are there.")
        return
    if held.overview.warning:
        st.warning(widgets.escape_markdown(held.overview.warning))
    if not held.current:
        st.caption(f"As of {held.overview.made_at[:19].replace('T', ' ')} UTC; it is being brought up to date.")
    if not held.overview.body:
        st.info("Nobody has answered yet.")
    else:
        st.html(held.overview.body)
