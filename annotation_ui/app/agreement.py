"""The lead's agreement page: the numbers of ``scedit annotate agreement``, with pictures."""

from __future__ import annotations

import streamlit as st

from annotation_ui.app import widgets
from annotation_ui.app.page_context import PageContext
from annotation_ui.campaigns.campaign import make_task


def show(context: PageContext) -> None:
    """Agreement by aspect of one campaign, computed on request (intervals take some seconds)."""
    from annotation_ui.agreement.judgements import live_judgements
    from annotation_ui.agreement.page import page_body
    from annotation_ui.agreement.report import agreement_report

    st.title("Agreement")
    names = [c.name for c in context.db.campaigns()]
    if not names:
        st.info("There is no campaign yet.")
        return
    name = st.selectbox("Campaign", names)
    task = make_task(context.db.campaign(name).task)
    judgements = live_judgements(context.db, name)
    if not judgements:
        st.info("Nobody has answered yet.")
        return
    if context.store is not None:
        from annotation_ui.agreement.judgements import judgements_by_judges
        from curation.store.store import Store

        with Store.open(context.store) as store:
            judgements += judgements_by_judges(store, task, judgements)
    with st.spinner("Resampling cases ..."):
        found = agreement_report(judgements, task)
    if found.synthetic:
        st.warning(
            f"Synthetic answers: {widgets.escape_markdown(', '.join(found.synthetic))}. They say nothing of people."
        )
    st.html(page_body(found, judgements, task))
