"""Logging in: a personal secret, exchanged for a session."""

from __future__ import annotations

import time

import streamlit as st

from annotation_ui.app import widgets
from annotation_ui.interface.texts import ENGLISH, interface_text
from annotation_ui.ratings import raters
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.raters import INVITATION, log_in_by_link

_DELAY = 0.5  # seconds after a wrong secret, so that guessing is slow


def enter_by_link(db: RatingsDB, language: str = ENGLISH) -> bool:
    """Log in whoever opens a personal link; whether the page is to stop here, with a sentence that says why."""
    if INVITATION not in st.query_params:
        return False
    login = log_in_by_link(db, st.query_params.to_dict())
    if login.refused:
        time.sleep(_DELAY)
        st.title(interface_text(language, "title"))
        st.error(interface_text(language, login.refused))
        return True
    st.query_params.clear()  # the secret does not stay in the address
    st.session_state.clear()
    st.session_state["token"] = login.token
    st.session_state["remember"] = True
    st.rerun()


def show_login(db: RatingsDB, language: str = ENGLISH, *, ended: bool = False) -> None:
    """Ask for the secret; ``ended``: somebody was logged in, and their session has run out."""
    left = st.session_state.get("logged-out", False)
    if left:
        widgets.set_session_cookie("")
    st.title(interface_text(language, "title"))
    if ended and not left:
        st.warning(interface_text(language, "session_ended"))
    st.write(interface_text(language, "secret_asked"))
    with st.form("log-in", border=False, width=480):
        secret = st.text_input(interface_text(language, "secret"), type="password", autocomplete="current-password")
        sent = st.form_submit_button(interface_text(language, "log_in"), type="primary")
    if not sent:
        return
    token = raters.log_in(db, secret) if secret else None
    if token is None:
        time.sleep(_DELAY)
        st.error(interface_text(language, "secret_refused"))
        return
    st.session_state.pop("logged-out", None)
    st.session_state["token"] = token
    st.session_state["remember"] = True
    st.rerun()
