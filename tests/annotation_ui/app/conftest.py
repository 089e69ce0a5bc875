"""Pages as Streamlit runs them for one person, without a browser, where what is shown can be asked."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from annotation_ui.agreement.overview import Overview, campaign_overview
from annotation_ui.app import lead as lead_figures
from annotation_ui.campaigns.control_items import RaterControlItem
from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.raters import keep_preference
from curation.store.store import Store
from tests.annotation_ui.conftest import begin

Open = Callable[..., Any]


def _page(module: str, function: str, ratings: str, person: str, token: str, store: str) -> None:
    """What runs in the app (Streamlit takes the text of this function, so it imports all it needs)."""
    import importlib
    from pathlib import Path

    from annotation_ui.app.widgets import PageContext
    from annotation_ui.ratings import raters
    from annotation_ui.ratings.database import RatingsDB

    with RatingsDB(ratings) as db:
        context = PageContext(db, raters.get_rater(db, person), token, Path(store) if store else None)
        getattr(importlib.import_module(f"annotation_ui.app.{module}"), function)(context)


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The lead's figures are computed in this process; the list names the campaigns, one for each computing."""
    computed = []

    def compute(ratings: Path, name: str, store: Path | None = None) -> Overview:
        computed.append(name)
        with RatingsDB(ratings) as db:
            return campaign_overview(db, name, store)

    monkeypatch.setattr(lead_figures, "compute_apart", compute)
    return computed


@pytest.fixture
def open_page(db: RatingsDB, figures: list[str]) -> Open:
    """A page of the app, shown to a person; ``module.function`` names it."""
    testing = pytest.importorskip("streamlit.testing.v1", reason="streamlit is not installed")

    def opened(name: str, person: str, *, store: Path | None = None, token: str = "") -> Any:
        module, _, function = name.rpartition(".")
        record = {
            "module": module, "function": function, "ratings": str(db.path), "person": person, "token": token,
            "store": str(store) if store else "",
        }  # fmt: skip
        page = testing.AppTest.from_function(_page, kwargs=record, default_timeout=60).run()
        assert not page.exception, page.exception
        return page

    return opened


def texts(page: Any) -> str:
    """Everything in words that a page shows, without the tags of its cards."""
    kinds = ("title", "subheader", "markdown", "caption", "info", "success", "warning", "error")
    words = [str(e.value) for kind in kinds for e in getattr(page, kind)]
    words += [re.sub(r"<style>.*?</style>|<[^>]+>", " ", e.value, flags=re.S) for e in page.get("html")]
    return "\n".join(words)


def button(page: Any, label: str) -> Any:
    """The button of this label."""
    (buttons,) = [b for b in page.button if b.label == label]
    return buttons


def pilot(
    db: RatingsDB, store: Store, *names: str, task: str = "rate_script", name: str = "pilot", **more: Any
) -> None:
    """A campaign that everybody of ``names`` rates, and a lead called lea; the last key saves if ``auto_save``."""
    at_once: bool = more.pop("auto_save", False)
    known_facts: list[RaterControlItem] = more.pop("known", [])
    rater_names = {p.name for p in people.list_raters(db)}
    for person in names:
        if person not in rater_names:
            people.invite(db, person)
        if not at_once:
            keep_preference(db, person, "auto_save", "no")
    if "lea" not in rater_names:
        people.invite(db, "lea", role="lead")
    begin(db, store, name, task, overlap=len(names), known=known_facts, **more)


@pytest.fixture
def page(db: RatingsDB, store: Store, open_page: Open) -> Any:
    """The page of ann, who rates the campaign ``pilot`` alone."""
    pilot(db, store, "ann")
    return open_page("rate.show_rating", "ann")
