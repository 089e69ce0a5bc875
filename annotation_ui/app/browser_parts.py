"""Pieces that run in the browser: keys that fill in a form, drafts that are sent as one types, marks of words."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from annotation_ui.app.widgets import PageContext
from annotation_ui.interface.texts import read_texts
from annotation_ui.tasks.forms import COMMENT, Field, Form, markable, text_digest


def field_keys(campaign: str, item: str, form: Form) -> dict[str, str]:
    """The keys of a form's widgets, by field."""
    return {f.name: f"{campaign}/{item}/{f.name}" for f in form.fields}


def class_of(key: str) -> str:
    """The class that Streamlit gives the element of a key.

    Example:
        >>> class_of("pilot/3f/comment")
        'st-key-pilot-3f-comment'
    """
    return "st-key-" + "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "-" for c in key.strip())


def keyboard_shortcuts(
    form: Form, keys: Mapping[str, str], save: str, *, auto_save: bool = False, faults: bool = False
) -> None:
    """Have keys fill in a form; keys pressed before it is on the screen are ignored.

    Args:
        form: The form that is shown.
        keys: Keys of its widgets by field.
        save: Key of the button that saves.
        auto_save: Save once the last question is answered by a key, unless a no asks for more.
        faults: A message says what is wrong with the answers: it is scrolled to.
    """
    data = {
        "fields": [
            {
                "kind": "set" if is_set(form, f) else f.kind,
                "place": class_of(keys[f.name]),
                **({"explained": places} if (places := places_to_explain(form, f)) else {}),
            }
            for f in form.fields
        ],
        "save": class_of(save),
        "auto": auto_save,
        "faults": faults,
        "explains": bool(form.reasons or form.comment_on_no),
        "run": time.time(),  # so that every run of the page is noticed
    }
    _run_script("keys", data)


def can_save_at_once(form: Form) -> bool:
    """Whether nothing is left to do once every question is answered: no marks, no tags, no text but the comment.

    Example:
        >>> from annotation_ui.campaigns.campaign import make_task
        >>> [can_save_at_once(make_task(name).form) for name in ("rate_script", "curate_probe")]
        [True, False]
    """
    return all(f.kind in ("yes_no", "scale", "one") or f.name == form.reasons or f == COMMENT for f in form.fields)


def is_set(form: Form, field: Field) -> bool:
    """Whether several choices of a field are an answer of their own (tags), not the reasons of a no."""
    return field.kind == "many" and form.reasons is not None and field.name != form.reasons


def places_to_explain(form: Form, field: Field) -> list[int]:
    """Places (from 0) of the choices of a ``one`` field that need a reason.

    Example:
        >>> from annotation_ui.campaigns.campaign import make_task
        >>> form = make_task("judge_tendency").form
        >>> places_to_explain(form, form.field("label"))
        [2]
    """
    return [n for n, c in enumerate(field.choices) if field.kind == "one" and c.value in form.reasons_on]


def _run_script(name: str, data: Mapping[str, Any], *, css: str | None = None) -> None:
    """Run a script of the folder ``assets`` in the browser; the data go as text."""
    script = Path(__file__).with_name("assets").joinpath(f"{name}.js").read_text(encoding="utf-8")
    st.components.v2.component(f"scedit_{name}", js=script, css=css)(data=json.dumps(data), key=name)


def keep_drafts(context: PageContext, campaign: str, item: str, form: Form, saves: int) -> None:
    """Send what is typed into a form to the server as it is typed (see ``annotation_ui.app.server``).

    The browser's tab keeps a copy until the server has it, and brings it back with the item's form.

    Args:
        context: Of the page.
        campaign: Where the item belongs.
        item: Content id.
        form: The form that is shown.
        saves: How often the person has saved an answer to the item.
    """
    keys = field_keys(campaign, item, form)
    fields = [
        {"name": f.name, "kind": f.kind, "place": class_of(keys[f.name]), "values": _values(f)} for f in form.fields
    ]
    words = {k: context.say(f"draft_{k}") for k in ("kept", "lost", "unreachable", "ended")}
    place = {"campaign": campaign, "item": item, "person": context.person.name, "saves": saves}
    _run_script("draft", {"fields": fields, "words": words, **place})


def _values(field: Field) -> dict[str, Any]:
    """Values by what stands on the screen."""
    if field.kind in ("one", "many"):
        return {c.text: c.value for c in field.choices}
    return {str(v): v for v in field.allowed}


_MARKS_STYLE = """
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
    data = {
        "place": class_of(field_keys(campaign, item, form)[field.name]),
        "texts": [
            {"name": s.name, "raw": texts[s.name], "digest": text_digest(texts[s.name])}
            for s in markable(form)
            if texts.get(s.name)
        ],
        "labels": [{"value": o.value, "text": o.text} for o in field.choices],
        "words": {
            key: read_texts(context.language)[f"spans_{key}"] for key in ("help", "touch", "changed", "mark", "remove")
        },
        "meanings": field.hint,
        "run": time.time(),  # every run draws the marks again
    }
    _run_script("marks", data, css=_MARKS_STYLE)
