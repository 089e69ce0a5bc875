"""The yield as one HTML page: no script, no network, every text of a fact or a model escaped."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from construction.report import text
from construction.report.records import StoreYield
from curation.files.templates import templates_in
from schemas.text.escaping import escape

_NAMES = {"keep": "kept", "unsure": "for people to decide", "surplus": "good but not needed", "drop": "left out"}


def page(funnel: StoreYield) -> str:
    """The page, whole, by the template ``page.html.jinja``."""
    place = templates_in(Path(__file__).parent, filters={}, html=True, finalize=_escape)
    return place.get_template("page.html.jinja").render(funnel=funnel, names=_NAMES, words=text)


def _escape(value: object) -> object:
    """What is no mark-up of the template, without anything that turns a line around."""
    return value if isinstance(value, Markup) else escape(str(value))
