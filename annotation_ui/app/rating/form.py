"""An item with its form: questions with anchors, one key to save, a way to skip; shown again while the file is away."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import streamlit as st

from annotation_ui.app import widgets
from annotation_ui.app.browser_parts import (
    DraftPlace,
    class_of,
    field_keys,
    is_set,
    keep_drafts,
    keyboard_shortcuts,
    places_to_explain,
    show_marking,
)
from annotation_ui.app.page_context import PageContext
from annotation_ui.app.rating.saving import begin_item, readable_error, save_key, sent_answers
from annotation_ui.ratings.open_items import REASONS
from annotation_ui.tasks.forms import Form
from schemas.core.errors import StoreError


def show_form(
    context: PageContext,
    campaign: str,
    item: str,
    form: Form,
    before: dict[str, Any],
    faults: list[str],
    *,
    saves: int = 0,
) -> None:
    """One item's form.

    Args:
        context: Of the page.
        campaign: Where the item belongs.
        item: Content id.
        form: What is asked.
        before: Answers to begin with.
        faults: What was wrong with the answers that were sent.
        saves: How often the person has saved an answer to the item.
    """
    begin_item(item)
    st.session_state["shown"], st.session_state["shown-saves"] = (campaign, item), saves
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
    place = DraftPlace(campaign, item, context.person.name, saves)
    keep_drafts(form, keys, place, language=context.language)


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
        show_form(context, view.campaign, view.item, view.form, view.before, faults, saves=view.saves)
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
