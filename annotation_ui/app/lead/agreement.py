"""The lead's agreement page: the numbers of ``scedit annotate agreement``, with plots."""

from __future__ import annotations

import streamlit as st

from annotation_ui.app import widgets
from annotation_ui.app.lead.figures import slow_figures
from annotation_ui.app.page_context import PageContext
from annotation_ui.ratings.database import RatingsDB
from schemas.core.errors import UserError


def show(context: PageContext) -> None:
    """Agreement by aspect of one campaign: computed again where answers changed."""
    opened = widgets.campaign_page(context, "Agreement")
    if opened is None:
        return
    name, _ = opened
    if not context.db.current_answers(name):
        st.info("Nobody has answered yet.")
        return
    _show_figures(context, name)


@st.fragment(run_every=30.0)
def _show_figures(context: PageContext, name: str) -> None:
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
