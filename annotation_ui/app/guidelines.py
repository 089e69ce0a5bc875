"""What is asked and what the ends of each scale mean, for everybody."""

from __future__ import annotations

import streamlit as st

from annotation_ui.app import widgets
from annotation_ui.app.page_context import PageContext
from annotation_ui.campaigns.campaign import form_task


def show(context: PageContext) -> None:
    """The guideline of every campaign that concerns the person."""
    st.title(context.say("page_guidelines"))
    lead = context.person.role == "lead"
    seen = [c for c in context.db.campaigns() if lead or context.db.assignments(c.name, context.person.name)]
    if not seen:
        st.info("There is no campaign yet." if lead else context.say("nothing_assigned"))
        return
    for form in {c.task: form_task(c).form for c in seen}.values():
        st.subheader(f"{form.title} ({form.label})")
        st.write(widgets.escape_markdown(form.intro))
        widgets.show_guideline(form)
    st.write(context.say("no_discussion"))
