"""The lead's agreement page: the numbers of ``scedit annotate agreement``, with pictures."""

from __future__ import annotations

import streamlit as st

from annotation_ui.app import widgets as parts
from annotation_ui.app.page_context import Desk
from annotation_ui.campaigns.campaign import make_task


def show(desk: Desk) -> None:
    """Agreement by aspect of one campaign, computed on request (intervals take some seconds)."""
    from annotation_ui.agreement.judgements import live_marks
    from annotation_ui.agreement.page import body
    from annotation_ui.agreement.report import report

    st.title("Agreement")
    names = [c.name for c in desk.db.campaigns()]
    if not names:
        st.info("There is no campaign yet.")
        return
    name = st.selectbox("Campaign", names)
    task = make_task(desk.db.campaign(name).task)
    marks = live_marks(desk.db, name)
    if not marks:
        st.info("Nobody has answered yet.")
        return
    if desk.store is not None:
        from annotation_ui.agreement.judgements import judge_marks
        from curation.store.store import Store

        with Store.open(desk.store) as store:
            marks += judge_marks(store, task, marks)
    with st.spinner("Resampling cases ..."):
        found = report(marks, task)
    if found.synthetic:
        st.warning(f"Synthetic answers: {parts.plain(', '.join(found.synthetic))}. They say nothing of people.")
    st.html(body(found, marks, task))
