"""An item with its form: questions with anchors, one key to save, a way to skip; what was sent is saved first.

The form is shown again, filled in, while the ratings file cannot be used.
"""

from __future__ import annotations

import html
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import streamlit as st

from annotation_ui.app import widgets
from annotation_ui.app.browser_parts import (
    class_of,
    field_keys,
    is_set,
    keep_drafts,
    keyboard_shortcuts,
    places_to_explain,
    show_marking,
)
from annotation_ui.app.widgets import PageContext
from annotation_ui.campaigns.campaign import closed_items, task_of
from annotation_ui.campaigns.control_items import wrong_fields
from annotation_ui.interface.texts import ENGLISH, interface_text
from annotation_ui.ratings.open_items import REASONS, skip_item
from annotation_ui.tasks.forms import Form, read_spans
from schemas.core.errors import StoreError, UserError

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


def _show_form(view: ItemView, faults: list[str]) -> None:
    """The form of an item, filled in as it was before, and what was wrong with the answers that were sent."""
    context, campaign, item, form, before = view.context, view.campaign, view.item, view.form, view.before
    begin_item(item)
    st.session_state["shown"], st.session_state["shown-saves"] = (campaign, item), view.saves
    keys, button = field_keys(campaign, item, form), save_key(campaign, item)
    with st.form(f"form-{campaign}-{item}", border=False):
        for f in form.fields:
            if f.kind != "text":
                widgets.show_field(f, key=keys[f.name], value=before.get(f.name), language=context.language)
        widgets.show_faults(st.container(), faults, context.language)
        st.form_submit_button(context.say("save"), type="primary", shortcut="Ctrl+Enter", width="stretch", key=button)
        for f in form.fields:
            if f.kind == "text":
                widgets.show_field(f, key=keys[f.name], value=before.get(f.name), language=context.language)
    if rule := reasons_style(form, keys):
        st.html(f"<style>{rule}</style>")
    auto_save = bool(st.session_state.get("auto_save"))
    keyboard_shortcuts(form, keys, button, auto_save=auto_save, faults=bool(faults))
    keep_drafts(context, campaign, item, form, view.saves)


def reasons_style(form: Form, keys: Mapping[str, str]) -> str:
    """The rule (CSS) that shows the reasons once a choice that needs one is made, and other sets of choices always.

    ``style.css`` hides all sets of choices until a question is answered no. Empty where neither is there.
    """
    reasons = '[data-testid="stElementContainer"]:has(> [data-testid="stButtonGroup"])'
    chosen = [
        f'[data-testid="stForm"]:has(.{class_of(keys[f.name])} input[value="{place}"]:checked) {reasons}'
        for f in form.fields
        for place in places_to_explain(form, f)
    ]
    sets = [f'[data-testid="stForm"] .{class_of(keys[f.name])}' for f in form.fields if is_set(form, f)]
    letters = [  # they choose reasons alone; long texts need corners that cut nothing off
        f"{place} button::before {{content: none !important;}} {place} button {{border-radius: .5rem !important;}}"
        for place in sets
    ]
    shown = f"{', '.join([*chosen, *sets])} {{display: block !important;}}" if chosen or sets else ""
    return " ".join([shown, *letters]).strip()


def show_keys(context: PageContext, form: Form) -> None:
    """What the keys do, for the fields that there are."""
    kinds = {f.kind for f in form.fields}
    top = max((f.high for f in form.fields if f.kind == "scale"), default=0)
    top = max([top, *(len(f.choices) for f in form.fields if f.kind == "one")])
    keys = [context.say("keys_scale", high=top)] if {"scale", "one"} & kinds else []
    keys += [context.say("keys_yes_no")] if "yes_no" in kinds else []
    line = [context.say("keys_answer", keys=", ".join(keys))]
    line += [context.say("keys_reasons")] if "many" in kinds else []
    line += [context.say("keys_spans")] if "spans" in kinds else []
    at_once = bool(st.session_state.get("auto_save"))
    words = "; ".join([*line, context.say("keys_save_at_once" if at_once else "keys_save")])
    st.html(f'<div class="se-keys">{html.escape(context.say("keys"))}: {html.escape(words)}.</div>')


def show_skip(context: PageContext, campaign: str, item: str) -> None:
    """A way to say that an item cannot be judged: words if there are any, then the reason, which skips it."""
    key = f"skip/{campaign}/{item}"

    def skip(reason: str) -> None:
        words = str(st.session_state.get(f"{key}/words") or "").strip()
        st.session_state["skip"] = (campaign, item, f"{reason}: {words}" if words else reason)

    with st.popover(context.say("cannot_judge")):
        st.write(context.say("skip_asked"))
        st.text_input(context.say("comment"), key=f"{key}/words", max_chars=900)
        for reason in REASONS:
            label = context.say(f"skip_{reason}")
            st.button(label, key=f"{key}/{reason}", on_click=skip, args=(reason,), width="stretch")


_HELD = "held-view"


class ItemView(NamedTuple):
    """All that an item's page shows, so that nothing has to be read while it is shown.

    Attributes:
        context: Of the page.
        campaign: Where the item belongs.
        item: Content id.
        form: What is asked.
        texts: Of the item, by name.
        before: Answers to begin with.
        training: Whether the right answer is told afterwards.
        saves: How often the person has saved an answer to it.
    """

    context: PageContext
    campaign: str
    item: str
    form: Form
    texts: dict[str, str]
    before: dict[str, Any]
    training: bool = False
    saves: int = 0


def show_item(view: ItemView, faults: list[str], buttons: Callable[[], None]) -> None:
    """The item on the left, its form on the right; remembered for ``show_held_item``.

    Args:
        view: What to show.
        faults: What was wrong with the answers that were sent.
        buttons: Shows what stands below the form.
    """
    context = view.context
    st.session_state[_HELD] = view
    left, right = st.columns([11, 9], gap="medium")
    with left:
        if view.training:
            st.caption(context.say("training"))
        highlight = bool(st.session_state.get("highlight", True))
        widgets.show_texts(view.form, view.texts, highlight=highlight, more=context.say("more_below"))
        show_marking(context, view.campaign, view.item, view.form, view.texts)
    with right:
        st.html(f'<div class="se-intro">{html.escape(view.form.intro)}</div>')
        _show_form(view, faults)
        buttons()
        show_keys(context, view.form)


def forget_held_item() -> None:
    """Another page is shown."""
    st.session_state.pop(_HELD, None)


def show_held_item(error: StoreError) -> bool:
    """The item that was shown last, filled in as it was sent, with a sentence; whether there is one.

    For a run in which the ratings file cannot be opened or read: what somebody has filled in stays before them, and can
    be sent again.
    """
    view: ItemView | None = st.session_state.get(_HELD)
    if view is None:
        return False
    sent = sent_answers(view.campaign, view.item, view.form)
    show_item(view._replace(before=view.before | sent), [readable_error(error, view.context.language)], lambda: None)
    return True
