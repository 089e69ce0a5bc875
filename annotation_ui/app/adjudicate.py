"""The lead's adjudication: items on which people differ, side by side, and a decision that is a verdict of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from annotation_ui.agreement.judgements import live_judgements
from annotation_ui.agreement.report import ItemDisagreement, disagreements
from annotation_ui.app import widgets
from annotation_ui.app.keyboard import keyboard_shortcuts
from annotation_ui.app.page_context import PageContext
from annotation_ui.tasks.base import RatingTask


def show(context: PageContext) -> None:
    """One disagreement after another, widest first."""
    opened = widgets.campaign_page(context, "Adjudicate")
    if opened is None:
        return
    name, task = opened
    found = disagreements(live_judgements(context.db, name), task)
    decided = context.db.adjudications(name)
    if not found:
        st.info("There are no disagreements so far: nobody has answered, or nobody differs.")
        return
    count = widgets.counted(len(found), "item")
    st.caption(f"{count} with a disagreement, {sum(d.item in decided for d in found)} decided.")
    only_open = st.toggle("Show undecided items only", value=True)
    listed = [d for d in found if not (only_open and d.item in decided)]
    if not listed:
        st.success("All disagreements are decided.")
        return
    number = st.number_input(f"Item (1 to {len(listed)}, widest disagreement first)", 1, len(listed), 1) - 1
    d = listed[int(number)]
    left, right = st.columns([11, 9], gap="medium")
    with left:
        widgets.show_texts(task.form, context.db.item(name, d.item).item.shown)
        st.caption(f"Item {d.item} of {d.case}; disagreement {d.spread:.2f} (0: none, 1: the whole scale)")
    with right:
        _show_answers(context, name, d)
        given = _decision(context, name, task, d, decided[d.item].answers if d.item in decided else {})
    if given is not None:
        context.db.adjudicate(name, d.item, context.person.name, task.form.clean(given))
        st.rerun()


def _show_answers(context: PageContext, name: str, d: ItemDisagreement) -> None:
    """What people answered, and their comments."""
    st.dataframe(
        [{"rater": p, **dict(a)} for p, a in sorted(d.said.items())], hide_index=True, width="stretch"
    )  # fmt: skip
    for r in context.db.current_answers(name):
        if r.item == d.item and r.answers and r.answers.get("comment"):
            widgets.show_text(f"Comment by {r.person}", str(r.answers["comment"]))


def _decision(
    context: PageContext, name: str, task: RatingTask, d: ItemDisagreement, before: Mapping[str, Any]
) -> dict[str, Any] | None:
    """The lead's form; its answers once they are sent and pass, else None."""
    keys = {f.name: f"decide/{name}/{d.item}/{f.name}" for f in task.form.fields}
    save = f"decide/{name}/{d.item}"
    with st.form(f"decide-{name}-{d.item}", border=False):
        given = {
            f.name: widgets.show_field(f, key=keys[f.name], value=before.get(f.name), language=context.language)
            for f in task.form.fields
        }
        messages = st.container()
        saved = st.form_submit_button(
            "Save decision", type="primary", shortcut="Ctrl+Enter", width="stretch", key=save
        )  # fmt: skip
    keyboard_shortcuts(task.form, keys, save)
    if not saved:
        return None
    answers = {k: v for k, v in given.items() if v not in (None, "", [])}
    faults = task.form.faults(answers)
    widgets.show_faults(messages, task.form, faults)
    return None if faults else answers
