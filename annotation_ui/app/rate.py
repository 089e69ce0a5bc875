"""The rater's page: one item after another, saved before the next is shown."""

from __future__ import annotations

import time
import uuid
from typing import Any

import streamlit as st

from annotation_ui.app import widgets as parts
from annotation_ui.app.page_context import Desk
from annotation_ui.campaigns.campaign import make_task, next_item, wrong
from annotation_ui.ratings import raters as people
from annotation_ui.ratings.records import Assigned, Campaign, Placed
from annotation_ui.tasks.base import Task
from annotation_ui.tasks.forms import Form

_LONGEST = 1800.0  # seconds; somebody who was away for longer did not work on the item all the time


def show(desk: Desk) -> None:
    """The first campaign with something left, or the one that is chosen."""
    campaigns = [c for c in desk.db.campaigns() if desk.db.assignments(c.name, desk.person.name)]
    if not campaigns:
        st.info("Nothing is assigned to you yet.")
        return
    campaign = _chosen(desk, campaigns)
    consent = str(campaign.settings.get("consent", ""))
    if consent and desk.person.consented_at is None:
        _ask_consent(desk, consent)
        return
    _work(desk, campaign)


def _chosen(desk: Desk, campaigns: list[Campaign]) -> Campaign:
    if len(campaigns) == 1:
        return campaigns[0]
    names = {c.name: c for c in campaigns}
    open_ = [c.name for c in campaigns if next_item(desk.db, c.name, desk.person.name)]
    first = list(names).index(open_[0]) if open_ else 0
    with st.sidebar:
        return names[st.selectbox("Task", list(names), index=first, key="campaign")]


def _ask_consent(desk: Desk, consent: str) -> None:
    st.subheader("Before you begin")
    parts.text("Consent", consent)
    if st.button("I agree", type="primary"):
        people.consent(desk.db, desk.person.name)
        st.rerun()


def _work(desk: Desk, campaign: Campaign) -> None:
    db, me, task = desk.db, desk.person.name, make_task(campaign.task)
    mine = db.assignments(campaign.name, me)
    done = {r.item: r for r in db.current(campaign.name, person=me)}
    count = sum(a.item in done for a in mine)
    st.progress(count / len(mine), text=f"{task.form.title}: {count} of {len(mine)} done")
    _feedback(task)
    at = _place(desk, campaign, mine, done)
    if at is None:
        st.success("All done. Thank you.")
        _back(mine, done, None)
        return
    placed = db.item(campaign.name, at.item)
    before = done[at.item].answers if at.item in done else None
    if before is not None:
        st.info("You answered this one before. Saving again replaces your answer; the earlier one is kept on record.")
    left, right = st.columns([11, 9], gap="medium")
    with left:
        if placed.purpose == "training":
            st.caption("A training item: you will see the right answer afterwards.")
        parts.shown(task.form, placed.item.shown)
        with st.expander("Guideline"):
            st.write(parts.plain(task.form.intro))
            for f in task.form.asked():
                parts.text(f.asks, f.hint or f.asks)
    with right:
        _form(desk, campaign, task, at, placed, before or {})
        _back(mine, done, at)


def _place(desk: Desk, campaign: Campaign, mine: list[Assigned], done: Any) -> Assigned | None:
    """The item to show: the one gone back to, else the first without an answer."""
    back = st.session_state.get("back")
    if back:
        found = next((a for a in mine if a.item == back and a.item in done), None)
        if found:
            return found
        st.session_state.pop("back")
    return next_item(desk.db, campaign.name, desk.person.name)


def _form(desk: Desk, campaign: Campaign, task: Task, at: Assigned, placed: Placed, before: dict[str, Any]) -> None:
    form: Form = task.form
    begun = st.session_state.setdefault("begun", {})
    begun.setdefault(at.item, (time.time(), uuid.uuid4().hex))
    with st.form(f"form-{campaign.name}-{at.item}", border=False):
        answers = {
            f.name: parts.field(f, key=f"{campaign.name}/{at.item}/{f.name}", value=before.get(f.name))
            for f in form.fields
        }
        saved = st.form_submit_button("Save and go on", type="primary", shortcut="Ctrl+Enter", use_container_width=True)
    parts.keys()
    st.caption("Keys: 1-7, y and n answer the first open question; Ctrl+Enter saves.")
    if not saved:
        return
    given = {k: v for k, v in answers.items() if v not in (None, "", [])}
    faults = form.faults(given)
    if faults:
        for fault in faults:
            st.error(_kindly(form, fault))
        return
    start, token = begun.pop(at.item)
    desk.db.save(
        campaign.name,
        desk.person.name,
        at.item,
        form.clean(given),
        form=form.label,
        seconds=round(min(time.time() - start, _LONGEST), 1),
        token=token,
    )
    st.session_state.pop("back", None)
    if placed.purpose == "training":
        expected = placed.expected or {}
        st.session_state["learned"] = (wrong(placed, task, given), expected)
    st.rerun()


def _kindly(form: Form, fault: str) -> str:
    """A fault as a rater reads it: the question in place of the field's name."""
    for f in form.fields:
        if fault == f"'{f.name}' has no answer":
            return f"Please answer: {parts.plain(f.asks)}"
        fault = fault.replace(f"'{f.name}'", f"“{parts.plain(f.asks)}”")
    return fault


def _feedback(task: Task) -> None:
    learned = st.session_state.pop("learned", None)
    if learned is None:
        return
    missed, expected = learned
    right = parts.said(expected.get("answers", {}))
    because = expected.get("because", "")
    if missed:
        st.warning(f"The training item just answered expects: {parts.plain(right)}. {parts.plain(because)}")
    else:
        st.success(f"Right: {parts.plain(right)}. {parts.plain(because)}")


def _back(mine: list[Assigned], done: Any, at: Assigned | None) -> None:
    """Go back to the item before: to look at one's own answer, and to change it."""
    answered = [a for a in mine if a.item in done]
    if at is not None:
        answered = [a for a in answered if a.position < at.position]
    if not answered:
        return
    if st.button("Back to the item before", shortcut="Alt+ArrowLeft", key=f"back-{at.item if at else 'end'}"):
        st.session_state["back"] = answered[-1].item
        st.rerun()
    if st.session_state.get("back") and st.button("On to the first open item", key="forward"):
        st.session_state.pop("back")
        st.rerun()
