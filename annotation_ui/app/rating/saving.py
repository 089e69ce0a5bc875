"""What a rater sent with the last click or key: an answer or a skip, saved before the next item is shown."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import Any

import streamlit as st

from annotation_ui.app import widgets
from annotation_ui.app.browser_parts import field_keys
from annotation_ui.app.page_context import PageContext
from annotation_ui.campaigns.campaign import closed_items, task_of
from annotation_ui.campaigns.control_items import wrong_fields
from annotation_ui.interface.texts import ENGLISH, interface_text
from annotation_ui.ratings.open_items import skip_item
from annotation_ui.tasks.forms import Form, read_spans
from schemas.core.errors import UserError

_GLANCE = 20  # characters of the line that says what was saved
_LONGEST = 1800.0  # seconds; somebody who was away for longer did not work on the item all the time


def save_key(campaign: str, item: str) -> str:
    """The key of an item's button that saves."""
    return f"save/{campaign}/{item}"


def sent_answers(campaign: str, item: str, form: Form) -> dict[str, Any]:
    """What was filled in when the page last ran, by field; what is empty is left out."""
    sent = {name: st.session_state.get(key) for name, key in field_keys(campaign, item, form).items()}
    sent |= {f.name: read_spans(str(sent[f.name] or "")) for f in form.fields if f.kind == "spans"}
    return {name: value for name, value in sent.items() if value not in (None, "", [])}


def begin_item(item: str) -> None:
    """Start the clock of an item that is shown for the first time, and name its save."""
    st.session_state.setdefault("begun", {}).setdefault(item, (time.time(), uuid.uuid4().hex))


def handle_pending(context: PageContext, campaign: str) -> list[str]:
    """Save what was sent; returns what to say beside the form, empty where all went well or nothing was sent."""
    shown = st.session_state.get("shown")
    if shown is None or shown[0] != campaign:
        return []
    item = shown[1]
    if st.session_state.get(save_key(campaign, item)):
        return _save(context, campaign, item)
    skipped = st.session_state.pop("skip", None)
    if skipped is not None and skipped[:2] == (campaign, item):
        return _errors_of(context, lambda: _skip(context, campaign, item, skipped[2]))
    return []


def _save(context: PageContext, campaign: str, item: str) -> list[str]:
    db, me = context.db, context.person.name
    if item in closed_items(db, db.campaign(campaign), me):
        return [context.say("answer_closed")]
    task = task_of(db, campaign)
    form = task.form
    sent = sent_answers(campaign, item, form)
    faults = task.faults(db.item(campaign, item).item, sent)
    if faults:
        return [widgets.readable_fault(form, fault, context.language) for fault in faults]
    _, token = st.session_state["begun"][item]
    saved = len(db.history(campaign, person=me, item=item))
    if saved != st.session_state.get("shown-saves", saved) and db.revision_of(token) is None:
        return [context.say("answered_elsewhere")]

    def save() -> None:
        clean = form.clean(sent)
        db.save(campaign, me, item, clean, form=form.label, seconds=_seconds(item), token=token)

    refused = _errors_of(context, save)
    if not refused:
        _leave(item)
        st.session_state["saved-last"] = (me, _on_a_line(form, sent))
        placed = db.item(campaign, item)
        if placed.purpose == "training":
            st.session_state["learned"] = (wrong_fields(placed, task, sent), placed.expected or {})
    return refused


def _on_a_line(form: Form, answers: dict[str, Any]) -> str:
    """The judgements just saved, for a glance; empty where they are many, or words that want a line of their own."""
    line = ", ".join(str(answers[f.name]) for f in form.asked_fields() if f.kind != "one" and f.name in answers)
    return line if len(line) <= _GLANCE else ""


def _skip(context: PageContext, campaign: str, item: str, reason: str) -> None:
    st.session_state.pop("saved-last", None)
    skip_item(context.db, campaign, context.person.name, item, reason, seconds=_seconds(item))
    _leave(item)


def _leave(item: str) -> None:
    st.session_state["begun"].pop(item, None)
    for name in ("back", "shown"):
        st.session_state.pop(name, None)


def _seconds(item: str) -> float:
    """The time on an item; a save at once took some time, a clock that was put back did not."""
    start: float = st.session_state["begun"][item][0]
    spent = min(time.time() - start, _LONGEST)
    return max(round(spent, 1), 0.1) if spent > 0 else spent


def readable_error(error: UserError, language: str = ENGLISH) -> str:
    """What to do when the file could not be used, and what to report: no place on the server's disk."""
    return interface_text(language, "failed", fault=widgets.escape_markdown(error.what))


def _errors_of(context: PageContext, act: Callable[[], None]) -> list[str]:
    """Do something with the file; a full disk or a lock is a sentence, and the form stays as it is filled in."""
    try:
        act()
    except UserError as error:
        return [readable_error(error, context.language)]
    return []
