"""The rating app: Streamlit, views by role. Start it with ``scedit annotate serve``.

Nothing is kept only in the browser: every answer is a revision in the ratings file before the next item is shown, and
who somebody is stands in a session there. Every view asks on the server who looks.
"""

from __future__ import annotations

import sys
from pathlib import Path

import streamlit as st

from annotation_ui.app import widgets
from annotation_ui.app.page_context import PageContext, cookie_name
from annotation_ui.ratings import raters
from annotation_ui.ratings.database import RatingsDB
from schemas.core.errors import UserError


def arguments(argv: list[str]) -> tuple[Path, Path | None]:
    """The ratings file and, for the lead, a snapshot of the store, as ``serve`` hands them over."""
    named = dict(zip(argv[::2], argv[1::2], strict=False))
    return Path(named["--ratings"]), Path(named["--store"]) if "--store" in named else None


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
            person = raters.authenticate(db, token(ratings))
            if person is None:
                from annotation_ui.app.login import show_login

                show_login(db)
                return
            context = PageContext(db, person, token(ratings) or "", store)
            if "token" not in st.session_state:
                st.session_state["token"] = context.token
            if st.session_state.pop("remember", False):
                widgets.set_session_cookie(context.token)
            _navigate(context)
    except UserError as error:
        st.error(widgets.escape_markdown(str(error)))


def _navigate(context: PageContext) -> None:
    from annotation_ui.app import adjudicate, agreement, browse, guidelines, progress, rate

    def page(show: object, title: str, path: str, *, first: bool = False) -> object:
        def run() -> None:
            show(context)  # type: ignore[operator]

        return st.Page(run, title=title, url_path=path, default=first)

    if context.person.role == "lead":
        pages = [
            page(progress.show, "Progress", "progress", first=True),
            page(agreement.show, "Agreement", "agreement"),
            page(adjudicate.show, "Adjudicate", "adjudicate"),
            page(browse.show, "Items", "items"),
            page(browse.show_funnel, "Funnel", "funnel"),
            page(guidelines.show, "Guidelines", "guidelines"),
        ]
    else:
        pages = [page(rate.show, "Rate", "rate", first=True), page(guidelines.show, "Guidelines", "guidelines")]
    chosen = st.navigation(pages, position="top" if context.person.role == "lead" else "sidebar")  # type: ignore[arg-type]
    with st.sidebar:
        widgets.account_box(context)
    chosen.run()


if __name__ == "__main__":
    main()
