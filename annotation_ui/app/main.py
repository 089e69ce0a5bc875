"""The rating app: Streamlit, views by role. Start it with ``scedit annotate serve``.

Nothing is kept only in the browser: every answer is a revision in the ratings file before the next item is shown, and
who somebody is stands in a session there. Every view asks on the server who looks.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import streamlit as st

from annotation_ui.app import form, lead, rate, widgets
from annotation_ui.app.form import readable_error
from annotation_ui.app.widgets import PageContext, cookie_name
from annotation_ui.interface.texts import ENGLISH, best_language, interface_text
from annotation_ui.ratings import raters
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.raters import INVITATION, log_in_by_link, read_preferences
from schemas.core.errors import StoreError, UserError


def token(ratings: Path) -> str | None:
    """The session of this browser: of this page, or of the cookie after a reload."""
    return st.session_state.get("token") or st.context.cookies.get(cookie_name(ratings))


def main() -> None:
    """One run of the script, which Streamlit makes at every click."""
    st.set_page_config(page_title="Rating", layout="wide", initial_sidebar_state="auto")
    ratings, *snapshots = map(Path, sys.argv[1:])  # as ``serve`` hands them over
    spoken = best_language(str(st.context.locale or ""))
    widgets.apply_style()
    try:
        with RatingsDB(ratings) as db:
            if enter_by_link(db, spoken):
                return
            person = raters.authenticate(db, token(ratings))
            if person is None:
                form.forget_held_item()
                show_login(db, spoken, ended=token(ratings) is not None)
                return
            preferences = _preferences(db, person.name)
            language = best_language(preferences.get("language"), spoken)
            language = ENGLISH if person.role == "lead" else language  # the lead's pages have no other
            context = PageContext(db, person, token(ratings) or "", snapshots[0] if snapshots else None, language)
            if "token" not in st.session_state:
                st.session_state["token"] = context.token
            if st.session_state.pop("remember", False):
                widgets.set_session_cookie(context.token)
            _navigate(context)
    except StoreError as error:
        if not form.show_held_item(error):
            st.error(readable_error(error, spoken))
    except UserError as error:
        st.error(widgets.escape_markdown(str(error)))


def _preferences(db: RatingsDB, person: str) -> dict[str, str]:
    """What a person chose; read once a session and person, and put where the switches of the page find it."""
    if st.session_state.get("preferences-of") != person:  # another may have logged in where a session had ended
        for name in ("highlight", "auto_save", "language"):
            st.session_state.pop(name, None)
        st.session_state["preferences-of"], st.session_state["preferences"] = person, read_preferences(db, person)
    preferences: dict[str, str] = st.session_state["preferences"]
    for name, usual in (("highlight", "yes"), ("auto_save", "")):  # without a choice: see annotation_ui.app.rate
        if value := preferences.get(name, usual):
            st.session_state[name] = st.session_state.get(name, value == "yes")
    return preferences | ({"language": st.session_state["language"]} if "language" in st.session_state else {})


def _navigate(context: PageContext) -> None:
    def page(show: object, title: str, path: str, *, first: bool = False) -> Any:
        def run() -> None:
            show(context)  # type: ignore[operator]

        return st.Page(run, title=title, url_path="home" if first else path, default=first)

    if context.person.role == "lead":
        pages = [
            page(lead.show_progress, "Progress", "progress", first=True),
            page(lead.show_agreement, "Agreement", "agreement"),
            page(lead.show_adjudication, "Adjudicate", "adjudicate"),
            page(lead.show_items, "Items", "items"),
            page(rate.show_guidelines, "Guidelines", "guidelines"),
        ]
    else:
        pages = [
            page(rate.show_rating, context.say("page_rate"), "rate", first=True),
            page(rate.show_own_answers, context.say("page_answers"), "answers"),
            page(rate.show_guidelines, context.say("page_guidelines"), "guidelines"),
        ]
        st.session_state["rate_page"] = pages[0]
    first, opening = pages[0], "progress" if context.person.role == "lead" else "rate"
    # Streamlit knows the first page by the bare address alone ("Page not found"): this is its own address
    pages.append(st.Page(lambda: st.switch_page(first), title=first.title, url_path=opening, visibility="hidden"))
    chosen = st.navigation(pages, position="top" if context.person.role == "lead" else "sidebar")  # type: ignore[arg-type]
    with st.sidebar:
        widgets.account_box(context)
    if chosen is not st.session_state.get("rate_page"):
        form.forget_held_item()
    chosen.run()


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


if __name__ == "__main__":
    main()
