"""Marking words of an item's texts: shown over the texts, kept in a field of the form (see ``assets/marking.js``)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import streamlit as st

from annotation_ui.app.keyboard import class_of
from annotation_ui.app.page_context import PageContext
from annotation_ui.app.rating.saving import field_keys
from annotation_ui.tasks.forms import Form
from annotation_ui.tasks.spans import markable, text_digest

_STYLE = """
.marks {display: flex; flex-wrap: wrap; gap: .3rem; align-items: center; font-size: .8rem; max-height: 5.6rem;
  overflow: auto;}
.marks button {font: inherit; color: inherit; background: none; border: 1px solid rgba(128,128,128,.6); cursor: pointer;
  border-radius: .4rem; padding: .1rem .45rem; min-height: 30px; text-align: start;}
.marks .help {opacity: .85;}
.marks .live {position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);}
@media (pointer: coarse) {.marks button {min-height: 44px;}}
"""


def show_marking(context: PageContext, campaign: str, item: str, form: Form, texts: Mapping[str, str]) -> None:
    """Let words be marked in the texts above, where the form takes them; the marks are listed, each to take back.

    Args:
        context: Of the page.
        campaign: Where the item belongs.
        item: Content id.
        form: What is asked.
        texts: Of the item.
    """
    field = next((f for f in form.fields if f.kind == "spans"), None)
    if field is None:
        return
    st.session_state["marking-runs"] = st.session_state.get("marking-runs", 0) + 1  # every run draws the marks again
    data = {
        "place": class_of(field_keys(campaign, item, form)[field.name]),
        "texts": [
            {"name": s.name, "raw": texts[s.name], "digest": text_digest(texts[s.name])}
            for s in markable(form)
            if texts.get(s.name)
        ],
        "labels": [{"value": o.value, "text": o.text} for o in field.choices],
        "words": {key: context.say_raw(f"spans_{key}") for key in ("help", "touch", "changed", "mark", "remove")},
        "run": st.session_state["marking-runs"],
    }
    script = Path(__file__).parents[1].joinpath("assets", "marking.js").read_text(encoding="utf-8")
    st.components.v2.component("scedit_marks", js=script, css=_STYLE)(data=json.dumps(data), key="marks")
