"""An item with its form, as it is shown; and shown again from memory while the ratings file cannot be read."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any, NamedTuple

import streamlit as st

from annotation_ui.app import widgets
from annotation_ui.app.page_context import PageContext
from annotation_ui.app.rating.form import show_form, show_keys
from annotation_ui.app.rating.marked_words import show_marking
from annotation_ui.app.rating.saving import readable_error, sent_answers
from annotation_ui.tasks.forms import Form
from schemas.core.errors import StoreError

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
    show_item(view._replace(before=view.before | sent), [readable_error(error)], lambda: None)
    return True
