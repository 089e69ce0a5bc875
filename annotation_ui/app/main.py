"""The rating app: Streamlit, views by role. Start it with ``scedit annotate serve``.

Nothing is kept only in the browser: every answer is a revision in the ratings file before the next item is shown, and
who somebody is stands in a session there. Every view asks on the server who looks.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import streamlit as st

from annotation_ui.app import login, widgets
from annotation_ui.app.page_context import PageContext, cookie_name
from annotation_ui.app.rating import form
from annotation_ui.app.rating.saving import readable_error
from annotation_ui.interface.texts import ENGLISH, best_language
from annotation_ui.ratings import raters
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.raters import read_preferences
from schemas.core.errors import StoreError, UserError


def arguments(argv: list[str]) -> tuple[Path, Path | None]:
    """The ratings file and, for the lead, a snapshot of the store, as ``serve`` hands them over."""
    ratings, *store = map(Path, argv)
    return ratings, store[0] if store else None


def token(ratings: Path) -> str | None:
    """The session of this browser: of this page, or of the cookie after a reload."""
    return st.session_state.get("token") or st.context.cookies.get(cookie_name(ratings))


def main() -> None:
    """One run of the script, which Streamlit makes at every click."""
    st.set_page_config(page_title="Rating", layout="wide", initial_sidebar_state="auto")
    ratings, store = arguments(sys.argv[1:])
    widgets.apply_style()
    try:
        with RatingsDB(ratings) as db:
            if login.enter_by_link(db, best_language(_browser_language())):
                return
            person = raters.authenticate(db, token(ratings))
            if person is None:
                form.forget_held_item()
                ended = token(ratings) is not None
                login.show_login(db, best_language(_browser_language()), ended=ended)
                return
            preferences = _preferences(db, person.name)
            language = best_language(preferences.get("language"), _browser_language())
            language = ENGLISH if person.role == "lead" else language  # the lead's pages have no other
            context = PageContext(db, person, token(ratings) or "", store, language)
            if "token" not in st.session_state:
                st.session_state["token"] = context.token
            if st.session_state.pop("remember", False):
                widgets.set_session_cookie(context.token)
            _navigate(context)
    except StoreError as error:
        if not form.show_held_item(error):
            st.error(readable_error(error, best_language(_browser_language())))
    except UserError as error:
        st.error(widgets.escape_markdown(str(error)))


def _browser_language() -> str | None:
    return str(st.context.locale or "") or None


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
    from annotation_ui.app import browse, guidelines, rate
    from annotation_ui.app.lead import adjudicate, progress
    from annotation_ui.app.rating import own_answers

    def page(show: object, title: str, path: str, *, first: bool = False) -> Any:
        def run() -> None:
            show(context)  # type: ignore[operator]

        return st.Page(run, title=title, url_path="home" if first else path, default=first)

    if context.person.role == "lead":
        pages = [
            page(progress.show, "Progress", "progress", first=True),
            page(progress.show_agreement, "Agreement", "agreement"),
            page(adjudicate.show, "Adjudicate", "adjudicate"),
            page(browse.show, "Items", "items"),
            page(guidelines.show, "Guidelines", "guidelines"),
        ]
    else:
        pages = [
            page(rate.show, context.say("page_rate"), "rate", first=True),
            page(own_answers.show, context.say("page_answers"), "answers"),
            page(guidelines.show, context.say("page_guidelines"), "guidelines"),
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


if __name__ == "__main__":
    main()
