"""Logging in: a personal secret, exchanged for a session."""

from __future__ import annotations

import time

import streamlit as st

from annotation_ui.app import widgets
from annotation_ui.interface.texts import ENGLISH, interface_text
from annotation_ui.ratings import raters
from annotation_ui.ratings.database import RatingsDB

_DELAY = 0.5  # seconds after a wrong secret, so that guessing is slow


def show_login(db: RatingsDB, language: str = ENGLISH) -> None:
    """Ask for the secret."""
    if st.session_state.pop("logged-out", False):
        widgets.set_session_cookie("")
    st.title(interface_text(language, "title"))
    st.write(interface_text(language, "secret_asked"))
    with st.form("log-in", border=False):
        secret = st.text_input(interface_text(language, "secret"), type="password", autocomplete="current-password")
        sent = st.form_submit_button(interface_text(language, "log_in"), type="primary")
    if not sent:
        return
    token = raters.log_in(db, secret) if secret else None
    if token is None:
        time.sleep(_DELAY)
        st.error(interface_text(language, "secret_refused"))
        return
    st.session_state["token"] = token
    st.session_state["remember"] = True
    st.rerun()
