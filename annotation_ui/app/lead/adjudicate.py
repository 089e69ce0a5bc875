"""The lead's adjudication on one screen: an item, everybody's answers and comments, and the decision by keys."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

import streamlit as st

from annotation_ui.agreement.report import ItemDisagreement
from annotation_ui.app import widgets
from annotation_ui.app.browser_parts import keyboard_shortcuts
from annotation_ui.app.item import item_html
from annotation_ui.app.lead.progress import quick_figures
from annotation_ui.app.page_context import PageContext
from annotation_ui.app.rating.form import show_keys
from annotation_ui.app.rating.saving import readable_error
from annotation_ui.ratings.database import Revision
from annotation_ui.tasks.base import RatingTask
from annotation_ui.tasks.forms import Field, Form
from schemas.core.errors import StoreError
from schemas.text.counting import counted

_NUMBER = "adjudicate-number"


def show(context: PageContext) -> None:
    """One disagreement after another, widest first."""
    widgets.apply_style("lead")
    opened = widgets.campaign_page(context, "Adjudicate", compact=True)
    if opened is None:
        return
    name, task = opened
    figures = quick_figures(context.db, name)
    decided = context.db.adjudications(name)
    if not figures.apart:
        st.info("There are no disagreements so far: nobody has answered, or nobody differs.")
        return
    with st.container(horizontal=True, key="adjudicate-bar", vertical_alignment="center"):
        only_open = st.toggle("Undecided only", value=True)
        listed = [d for d in figures.apart if not (only_open and d.item in decided)]
        place = _choose_place(len(listed))
    count = counted(len(figures.apart), "item")
    line = f"{count} with a disagreement, {sum(d.item in decided for d in figures.apart)} decided."
    if not listed:
        st.caption(line)
        st.success("All disagreements are decided.")
        return
    d = listed[place]
    answers = {r.person: r for r in figures.answers if r.item == d.item and r.person in d.said}
    left, right = st.columns([11, 9], gap="medium")
    with left, st.container(key="adjudicate-item"):
        header = f"Item {d.item} of {d.case}; disagreement {d.spread:.2f} (0: none, 1: the whole scale)"
        st.html(
            f'<div class="se-count">{html.escape(line)}<span class="se-wide" data-item="{html.escape(d.item)}"> '
            f"{html.escape(header)}</span></div>"
        )
        st.html(_item_with_remarks(task.form, context.db.item(name, d.item).item.shown, answers))
    with right, st.container(key="decision"):
        if _decide(context, name, task, d, decided[d.item].answers if d.item in decided else {}):
            st.rerun()


def _choose_place(count: int) -> int:
    """Which of the listed items is shown; Alt and an arrow key go on and back."""
    if not count:
        return 0
    st.session_state[_NUMBER] = min(max(1, int(st.session_state.get(_NUMBER, 1))), count)

    def step(by: int) -> None:
        st.session_state[_NUMBER] = min(max(1, st.session_state[_NUMBER] + by), count)

    st.button("Previous", shortcut="Alt+ArrowLeft", on_click=step, args=(-1,), disabled=st.session_state[_NUMBER] <= 1)
    st.button("Next", shortcut="Alt+ArrowRight", on_click=step, args=(1,), disabled=st.session_state[_NUMBER] >= count)
    number = st.number_input(
        f"Item (1 to {count}, widest disagreement first)",
        1,
        count,
        key=_NUMBER,
        label_visibility="collapsed",
        width=130,
    )
    st.caption(f"{int(number)} of {count}")
    return int(number) - 1


def _item_with_remarks(form: Form, texts: Mapping[str, str], answers: Mapping[str, Revision]) -> str:
    """The item, and below it every reason and comment: a long item scrolls by itself, so that they stay in sight."""
    remarks = "".join(_remark(person, form, r.answers or {}) for person, r in sorted(answers.items()))
    pane = item_html(form, texts, highlight=True)
    below = f'<div class="se-remarks" tabindex="0">{remarks}</div>' if remarks else ""
    return f'<div class="se-judged">{pane}{below}</div>'


def _remark(person: str, form: Form, answers: Mapping[str, Any]) -> str:
    """A person's reasons and comments; empty where there are none."""
    out = []
    for f in form.fields:
        value = answers.get(f.name)
        if f.kind == "many" and isinstance(value, list):
            words = {c.value: c.text for c in f.choices}
            out += [words.get(str(v), str(v)) for v in value]
        elif f.kind == "text" and value:
            out.append(str(value))
    if not out:
        return ""
    body = " · ".join(html.escape(words) for words in out)
    return (
        f'<div class="se-remark"><span class="se-title">Comment by {html.escape(person)}</span> '
        f'<span class="se-text" dir="auto">{body}</span></div>'
    )


def _answers_html(field: Field, answers_by_person: Mapping[str, Mapping[str, Any]]) -> str:
    """What everybody answered to one question, on a line."""
    words = {c.value: c.text for c in field.choices}
    each = "".join(
        f"<span>{html.escape(person)} <b>{html.escape(words.get(a := answers.get(field.name, '-'), str(a)))}</b></span>"
        for person, answers in sorted(answers_by_person.items())
    )
    return f'<div class="se-answers" data-answers="{html.escape(field.name)}">{each}</div>'


def _decide(context: PageContext, name: str, task: RatingTask, d: ItemDisagreement, before: Mapping[str, Any]) -> bool:
    """The lead's form; whether a decision was sent and is saved. What cannot be saved stays in the form."""
    keys = {f.name: f"decide/{name}/{d.item}/{f.name}" for f in task.form.fields}
    save = f"decide/{name}/{d.item}"
    field_names = {f.name for f in task.form.asked_fields()}
    values: dict[str, Any] = {}
    with st.form(f"decide-{name}-{d.item}", border=False):
        for f in task.form.fields:
            values[f.name] = widgets.show_field(
                f, key=keys[f.name], value=before.get(f.name), language=context.language
            )
            if f.name in field_names:
                st.html(_answers_html(f, d.said))
        messages = st.container()
        saved = st.form_submit_button(
            "Save decision", type="primary", shortcut="Ctrl+Enter", width="stretch", key=save
        )  # fmt: skip
    keyboard_shortcuts(task.form, keys, save, faults=saved)
    show_keys(context, task.form)
    if not saved:
        return False
    answers = {k: v for k, v in values.items() if v not in (None, "", [])}
    faults = task.faults(context.db.item(name, d.item).item, answers)
    widgets.show_faults(messages, [widgets.readable_fault(task.form, fault) for fault in faults])
    if faults:
        return False
    try:
        context.db.adjudicate(name, d.item, context.person.name, task.form.clean(answers))
    except StoreError as error:
        messages.error(readable_error(error))
        return False
    return True
