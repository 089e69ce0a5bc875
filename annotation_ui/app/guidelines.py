"""What is asked and what the ends of each scale mean, for everybody."""

from __future__ import annotations

import streamlit as st

from annotation_ui.app import widgets
from annotation_ui.app.page_context import PageContext
from annotation_ui.campaigns.campaign import make_task


def show(context: PageContext) -> None:
    """The guideline of every campaign that concerns the person."""
    st.title("Guidelines")
    lead = context.person.role == "lead"
    seen = [c for c in context.db.campaigns() if lead or context.db.assignments(c.name, context.person.name)]
    if not seen:
        st.info("There is no campaign yet." if lead else "Nothing is assigned to you yet.")
        return
    for form in {c.task: make_task(c.task, c.form).form for c in seen}.values():
        st.subheader(f"{form.title} ({form.label})")
        st.write(widgets.escape_markdown(form.intro))
        for f in form.asked():
            ends = f"\n{f.low} = {f.low_text}\n{f.high} = {f.high_text}" if f.low_text else ""
            widgets.show_text(f.asks, (f.hint or "Answer yes or no.") + ends)
        for f in form.fields:
            if f.kind == "many":
                widgets.show_text(f.asks, "\n".join(c.text for c in f.choices))
    st.write("Judge each item on its own. Please do not discuss items with other raters before the round ends.")
