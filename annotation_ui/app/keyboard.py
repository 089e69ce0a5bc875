"""The keys of a form: digits, y and n answer, letters choose reasons, Enter saves, wherever the focus is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import streamlit as st

from annotation_ui.tasks.forms import COMMENT, Field, Form


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
    st.session_state["runs"] = st.session_state.get("runs", 0) + 1  # so that every run of the page is noticed
    data = {
        "fields": [
            {
                "kind": "set" if is_set(form, f) else f.kind,
                "place": class_of(keys[f.name]),
                **_explained(form, f),
            }
            for f in form.fields
        ],
        "save": class_of(save),
        "auto": auto_save,
        "faults": faults,
        "explains": bool(form.reasons or form.comment_on_no),
        "run": st.session_state["runs"],
    }
    script = Path(__file__).with_name("assets").joinpath("keyboard.js").read_text(encoding="utf-8")
    st.components.v2.component("scedit_keys", js=script)(data=json.dumps(data), key="keys")


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


def _explained(form: Form, field: Field) -> dict[str, list[int]]:
    places = places_to_explain(form, field)
    return {"explained": places} if places else {}
