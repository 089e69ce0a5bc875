"""The lead's desk: items on which people differ, side by side, and a decision that is a verdict of its own."""

from __future__ import annotations

import streamlit as st

from annotation_ui.agreement.judgements import live_marks
from annotation_ui.agreement.report import disagreements
from annotation_ui.app import widgets as parts
from annotation_ui.app.page_context import Desk
from annotation_ui.campaigns.campaign import make_task


def show(desk: Desk) -> None:
    """One disagreement after another, widest first."""
    st.title("Adjudicate")
    names = [c.name for c in desk.db.campaigns()]
    if not names:
        st.info("There is no campaign yet.")
        return
    name = st.selectbox("Campaign", names)
    task = make_task(desk.db.campaign(name).task)
    found = disagreements(live_marks(desk.db, name), task)
    decided = desk.db.decisions(name)
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
    placed = desk.db.item(name, d.item)
    left, right = st.columns([11, 9], gap="medium")
    with left:
        parts.shown(task.form, placed.item.shown)
        st.caption(f"Item {d.item} of {d.case}; spread {d.spread:.2f}")
    with right:
        people_ = [{"person": p, **dict(a)} for p, a in sorted(d.said.items())]
        st.dataframe(people_, hide_index=True, width="stretch")
        for r in desk.db.history(name, item=d.item):
            if r.answers and r.answers.get("comment"):
                parts.text(f"Comment of {r.person}", str(r.answers["comment"]))
        before = decided[d.item].answers if d.item in decided else {}
        with st.form(f"decide-{name}-{d.item}", border=False):
            given = {
                f.name: parts.field(f, key=f"decide/{name}/{d.item}/{f.name}", value=before.get(f.name))
                for f in task.form.fields
            }
            saved = st.form_submit_button("Decide", type="primary", shortcut="Ctrl+Enter", use_container_width=True)
        parts.keys()
    if saved:
        answers = {k: v for k, v in given.items() if v not in (None, "", [])}
        faults = task.form.faults(answers)
        if faults:
            for fault in faults:
                st.error(fault)
            return
        desk.db.decide(name, d.item, desk.person.name, task.form.clean(answers))
        st.rerun()
