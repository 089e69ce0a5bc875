"""Drafts as one types: every change of a form goes to the server at once, without a run of the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import streamlit as st

from annotation_ui.app.keyboard import class_of
from annotation_ui.interface.texts import ENGLISH, interface_text
from annotation_ui.tasks.forms import Field, Form


class DraftPlace(NamedTuple):
    """Whose draft of what: campaign, item (content id), person (pseudonym), and how often it was saved before."""

    campaign: str
    item: str
    person: str
    saves: int = 0


def keep_drafts(form: Form, keys: dict[str, str], place: DraftPlace, *, language: str = ENGLISH) -> None:
    """Send what is typed into a form to the server as it is typed (see ``annotation_ui.app.server``).

    The browser's tab keeps a copy until the server has it, and brings it back with the item's form.

    Args:
        form: The form that is shown.
        keys: Keys of its widgets by field.
        place: Where the draft belongs.
        language: Of what is said about the draft.
    """
    fields = [
        {"name": f.name, "kind": f.kind, "place": class_of(keys[f.name]), "values": _values(f)} for f in form.fields
    ]
    words = {k: interface_text(language, f"draft_{k}") for k in ("kept", "lost", "unreachable")}
    data = {"fields": fields, "words": words, **place._asdict()}
    script = Path(__file__).with_name("assets").joinpath("draft.js").read_text(encoding="utf-8")
    st.components.v2.component("scedit_draft", js=script)(data=json.dumps(data), key="draft")


def _values(field: Field) -> dict[str, Any]:
    """Values by what stands on the screen."""
    if field.kind in ("one", "many"):
        return {c.text: c.value for c in field.choices}
    return {str(v): v for v in field.allowed}
