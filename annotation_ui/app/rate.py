"""The rater's page: one item after another, saved before the next is shown."""

from __future__ import annotations

import time
import uuid
from typing import Any, Literal

import streamlit as st

from annotation_ui.app import widgets
from annotation_ui.app.draft_keeper import keep_drafts
from annotation_ui.app.keyboard import keyboard_shortcuts
from annotation_ui.app.page_context import PageContext
from annotation_ui.campaigns.campaign import campaign_task, make_task, next_item
from annotation_ui.campaigns.control_items import wrong_fields
from annotation_ui.campaigns.groups import closed_items, waiting_for
from annotation_ui.ratings import raters
from annotation_ui.ratings.drafts import read_draft
from annotation_ui.ratings.records import Assignment, Campaign, CampaignItem
from annotation_ui.tasks.base import RatingTask
from annotation_ui.tasks.forms import Form
from schemas.core.errors import StoreError, UserError

_LONGEST = 1800.0  # seconds; somebody who was away for longer did not work on the item all the time


def show(context: PageContext) -> None:
    """The first campaign with something left, or the one that is chosen."""
    campaigns = [c for c in context.db.campaigns() if context.db.assignments(c.name, context.person.name)]
    if not campaigns:
        st.info("Nothing is assigned to you yet.")
        return
    me = context.person.name
    unfinished = [c.name for c in campaigns if next_item(context.db, c.name, me)]
    campaign = _chosen(campaigns, [n for c in campaigns if (n := c.name) in unfinished and not _obstacle(context, c)])
    if obstacle := _obstacle(context, campaign):
        st.warning(widgets.escape_markdown(obstacle))
        return
    consent = str(campaign.settings.get("consent", ""))
    if consent and consent not in raters.consents(context.db, context.person.name):
        _ask_consent(context, consent)
        return
    _work(context, campaign, [name for name in unfinished if name != campaign.name])


def _obstacle(context: PageContext, campaign: Campaign) -> str:
    """Why nobody can work on a campaign now: another comes first, or its form was changed; empty where nothing is."""
    first = waiting_for(context.db, campaign, context.person.name)
    if first:
        return f"Please finish the task “{first}” first: this one shows what would influence your answers there."
    try:
        campaign_task(context.db, campaign.name)
    except UserError as error:
        return f"This task is closed, please tell the person who invited you: {error.what}."
    return ""


def _chosen(campaigns: list[Campaign], unfinished: list[str]) -> Campaign:
    """The campaign that is open: the one that was chosen, else the first with something left."""
    names = {c.name: c for c in campaigns}
    opened = st.session_state.setdefault("campaign", unfinished[0] if unfinished else campaigns[0].name)
    if opened not in names:
        opened = st.session_state["campaign"] = campaigns[0].name
    if len(campaigns) > 1:
        with st.sidebar:
            st.caption("Tasks")
            for name in names:
                kind: Literal["primary", "secondary"] = "primary" if name == opened else "secondary"
                label = widgets.escape_markdown(name)
                st.button(label, type=kind, key=f"open-{name}", width="stretch", on_click=_open_campaign, args=(name,))
    return names[opened]


def _open_campaign(name: str) -> None:
    st.session_state["campaign"] = name
    st.session_state.pop("back", None)


def _ask_consent(context: PageContext, consent: str) -> None:
    st.subheader("Before you begin")
    widgets.show_text("Consent", consent)
    if st.button("I agree", type="primary"):
        raters.consent(context.db, context.person.name, consent)
        st.rerun()


def _work(context: PageContext, campaign: Campaign, others: list[str]) -> None:
    db, me, task = context.db, context.person.name, make_task(campaign.task, campaign.form)
    mine = db.assignments(campaign.name, me)
    done = {r.item: r for r in db.current_answers(campaign.name, person=me)}
    closed = closed_items(db, campaign, me)
    open_again = {i: r for i, r in done.items() if i not in closed}
    count = sum(a.item in done for a in mine)
    st.progress(count / len(mine), text=f"{task.form.title}: {count} of {len(mine)} done")
    _feedback(task)
    at = _place(context, campaign, mine, open_again)
    if at is None:
        _finished(others)
        _back(mine, open_again, None)
        return
    placed = db.item(campaign.name, at.item)
    before = done[at.item].answers if at.item in done else None
    if before is not None:
        st.info("You have answered this item. Saving again replaces your answer; the earlier one stays on record.")
    left, right = st.columns([11, 9], gap="medium")
    with left:
        if placed.purpose == "training":
            st.caption("This is a training item: you will see the right answer after you save.")
        widgets.show_texts(task.form, placed.item.shown)
        with st.expander("Guideline"):
            st.write(widgets.escape_markdown(task.form.intro))
            for f in task.form.asked():
                widgets.show_text(f.asks, f.hint or f.asks)
    with right:
        draft = read_draft(db, campaign.name, me, at.item, task.form)
        _form(context, campaign, task, at, placed, draft or before or {})
        _back(mine, open_again, at)


def _finished(others: list[str]) -> None:
    """Thanks, once nothing is left in any campaign; else the next one."""
    if not others:
        st.success("All done. Thank you!")
        return
    st.success("This task is done. Thank you! Another one is waiting for you.")
    st.button(
        f"Go on with: {widgets.escape_markdown(others[0])}", type="primary", on_click=_open_campaign, args=(others[0],)
    )


def _place(context: PageContext, campaign: Campaign, mine: list[Assignment], done: Any) -> Assignment | None:
    """The item to show: the one gone back to, else the first without an answer."""
    back = st.session_state.get("back")
    if back:
        found = next((a for a in mine if a.item == back and a.item in done), None)
        if found:
            return found
        st.session_state.pop("back")
    return next_item(context.db, campaign.name, context.person.name)


def _form(
    context: PageContext,
    campaign: Campaign,
    task: RatingTask,
    at: Assignment,
    placed: CampaignItem,
    before: dict[str, Any],
) -> None:
    form: Form = task.form
    begun = st.session_state.setdefault("begun", {})
    begun.setdefault(at.item, (time.time(), uuid.uuid4().hex))
    keys = {f.name: f"{campaign.name}/{at.item}/{f.name}" for f in form.fields}
    with st.form(f"form-{campaign.name}-{at.item}", border=False):
        answers = {f.name: widgets.show_field(f, key=keys[f.name], value=before.get(f.name)) for f in form.fields}
        messages = st.container()
        saved = st.form_submit_button("Save and next", type="primary", shortcut="Ctrl+Enter", use_container_width=True)
    keyboard_shortcuts()
    keep_drafts(form, keys, campaign=campaign.name, item=at.item, person=context.person.name)
    st.caption(f"Keys: {_keys(form)}; Ctrl+Enter saves.")
    if not saved:
        return
    given = {k: v for k, v in answers.items() if v not in (None, "", [])}
    faults = form.faults(given)
    if faults:
        widgets.show_faults(messages, form, faults)
        return
    start, token = begun[at.item]
    spent = min(time.time() - start, _LONGEST)
    seconds = (
        max(round(spent, 1), 0.1) if spent > 0 else spent
    )  # a save at once took some time; a clock put back did not
    try:
        me = context.person.name
        context.db.save(campaign.name, me, at.item, form.clean(given), form=form.label, seconds=seconds, token=token)
    except StoreError as error:  # a full disk, a locked file: the form stays as it is filled in
        fix = f" {error.fix[0].upper()}{error.fix[1:]}." if error.fix else ""
        messages.error(widgets.escape_markdown(f"{error.what[0].upper()}{error.what[1:]}.{fix}"))
        return
    begun.pop(at.item)
    st.session_state.pop("back", None)
    if placed.purpose == "training":
        expected = placed.expected or {}
        st.session_state["learned"] = (wrong_fields(placed, task, given), expected)
    st.rerun()


def _keys(form: Form) -> str:
    kinds = {f.kind for f in form.fields}
    top = max((f.high for f in form.fields if f.kind == "scale"), default=0)
    keys = ([f"1 to {top}"] if "scale" in kinds else []) + (["y and n"] if "yes_no" in kinds else [])
    letters = "; letters choose reasons" if "many" in kinds else ""
    return f"{', '.join(keys)} answer the first open question or correct the last{letters}"


def _feedback(task: RatingTask) -> None:
    learned = st.session_state.pop("learned", None)
    if learned is None:
        return
    missed, expected = learned
    right = widgets.escape_markdown(widgets.answers_line(expected.get("answers", {})))
    because = widgets.escape_markdown(expected.get("because", ""))
    if missed:
        st.warning(f"Training item: the right answer was {right}. {because}")
    else:
        st.success(f"Training item: your answer was right ({right}). {because}")


def _back(mine: list[Assignment], done: Any, at: Assignment | None) -> None:
    """Go back to the previous item: to look at one's own answer, and to change it."""
    answered = [a for a in mine if a.item in done]
    if at is not None:
        answered = [a for a in answered if a.position < at.position]
    if not answered:
        return
    if st.button("Previous item", shortcut="Alt+ArrowLeft", key=f"back-{at.item if at else 'end'}"):
        st.session_state["back"] = answered[-1].item
        st.rerun()
    if st.session_state.get("back") and st.button("Next unanswered item", key="forward"):
        st.session_state.pop("back")
        st.rerun()
