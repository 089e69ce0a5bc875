"""The lead's agreement page: the numbers of ``scedit annotate agreement``, with plots."""

from __future__ import annotations

import streamlit as st

from annotation_ui.app import widgets
from annotation_ui.app.page_context import PageContext


def show(context: PageContext) -> None:
    """Agreement by aspect of one campaign, computed on request (intervals take some seconds)."""
    from annotation_ui.agreement.judgements import judgements_by_judges, live_judgements
    from annotation_ui.agreement.page import page_body
    from annotation_ui.agreement.report import agreement_report

    opened = widgets.campaign_page(context, "Agreement")
    if opened is None:
        return
    name, task = opened
    judgements = live_judgements(context.db, name)
    if not judgements:
        st.info("Nobody has answered yet.")
        return
    of_people = list(judgements)
    judgements += widgets.from_snapshot(context, lambda store: judgements_by_judges(store, task, of_people)) or []
    with st.spinner("Computing intervals ..."):
        found = agreement_report(judgements, task)
    st.html(page_body(found, judgements, task))
