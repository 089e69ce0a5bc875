"""The lead's context: items on which people differ, side by side, and a decision that is a verdict of its own."""

from __future__ import annotations

import streamlit as st

from annotation_ui.agreement.judgements import live_judgements
from annotation_ui.agreement.report import disagreements
from annotation_ui.app import widgets
from annotation_ui.app.page_context import PageContext
from annotation_ui.campaigns.campaign import make_task


def show(context: PageContext) -> None:
    """One disagreement after another, widest first."""
    st.title("Adjudicate")
    names = [c.name for c in context.db.campaigns()]
    if not names:
        st.info("There is no campaign yet.")
        return
    name = st.selectbox("Campaign", names)
    task = make_task(context.db.campaign(name).task)
    found = disagreements(live_judgements(context.db, name), task)
    decided = context.db.adjudications(name)
    st.caption(f"{len(found)} items with a disagreement, {sum(d.item in decided for d in found)} of them decided.")
    if not found:
        return
    only_open = st.toggle("Only those that are open", value=True)
    listed = [d for d in found if not (only_open and d.item in decided)]
    if not listed:
        st.success("All are decided.")
        return
    number = st.number_input("Item, widest disagreement first", 1, len(listed), 1) - 1
    d = listed[int(number)]
    placed = context.db.item(name, d.item)
    left, right = st.columns([11, 9], gap="medium")
    with left:
        widgets.show_texts(task.form, placed.item.shown)
        st.caption(f"Item {d.item} of {d.case}; spread {d.spread:.2f}")
    with right:
        people_ = [{"person": p, **dict(a)} for p, a in sorted(d.said.items())]
        st.dataframe(people_, hide_index=True, width="stretch")
        for r in context.db.history(name, item=d.item):
            if r.answers and r.answers.get("comment"):
                widgets.show_text(f"Comment of {r.person}", str(r.answers["comment"]))
        before = decided[d.item].answers if d.item in decided else {}
        with st.form(f"decide-{name}-{d.item}", border=False):
            given = {
                f.name: widgets.show_field(f, key=f"decide/{name}/{d.item}/{f.name}", value=before.get(f.name))
                for f in task.form.fields
            }
            saved = st.form_submit_button("Decide", type="primary", shortcut="Ctrl+Enter", use_container_width=True)
        widgets.keyboard_shortcuts()
    if saved:
        answers = {k: v for k, v in given.items() if v not in (None, "", [])}
        faults = task.form.faults(answers)
        if faults:
            for fault in faults:
                st.error(fault)
            return
        context.db.adjudicate(name, d.item, context.person.name, task.form.clean(answers))
        st.rerun()
