"""An item as people read it: short texts as rows, scripts below, and both objects highlighted where they are named."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import NamedTuple

from annotation_ui.tasks.forms import Form
from schemas.facts import Object
from schemas.text.mentions import find

_ARROW = " → "
_SHORT = 24  # characters of a text that shares its line with others


class EditedObjects(NamedTuple):
    """The two objects of an edit, as far as an item shows them; empty where it does not."""

    old: str = ""
    new: str = ""


def edited_objects(shown: Mapping[str, str]) -> EditedObjects:
    """The objects that an item's texts name: fields of their own, or the end of its edit (``... is: Lima → Oslo``).

    Example:
        >>> edited_objects({"edit": "The capital of Peru is: Lima → Oslo"})
        EditedObjects(old='Lima', new='Oslo')
        >>> edited_objects({"script": "Step 1: Go"})
        EditedObjects(old='', new='')
    """
    if shown.get("old") or shown.get("new"):
        return EditedObjects(shown.get("old", ""), shown.get("new", ""))
    left, arrow, new = shown.get("edit", "").rpartition(_ARROW)
    return EditedObjects(left.rpartition(": ")[2], new) if arrow else EditedObjects()


def marked_html(body: str, objects: EditedObjects) -> str:
    """A text with its mentions of both objects marked, everything else escaped.

    Example:
        >>> marked_html("Fly <to> Lima", EditedObjects("Lima", "Oslo"))
        'Fly &lt;to&gt; <mark class="se-old">Lima</mark>'
    """
    entities = {kind: Object(text=name) for kind, name in objects._asdict().items() if name.strip()}
    places = sorted(
        (m.start, -m.end, kind) for kind, e in entities.items() for m in find(body, e, beside=entities.values())
    )
    out, at = [], 0
    for start, minus_end, kind in places:
        if start < at:
            continue  # one name within the other
        word = html.escape(body[start:-minus_end])
        out += [html.escape(body[at:start]), f'<mark class="se-{kind}">{word}</mark>']
        at = -minus_end
    return "".join([*out, html.escape(body[at:])])


def item_html(form: Form, texts: Mapping[str, str], *, highlight: bool) -> str:
    """All texts of an item: rows of one line first, then scripts and other long texts; each in the form's order."""
    objects = edited_objects(texts)
    rows: list[str] = []
    blocks: list[str] = []
    for shown in form.shows:
        body = texts.get(shown.name)
        if not body:
            continue
        plain = not highlight or shown.name == "edit"
        text = html.escape(body) if plain else marked_html(body, objects)
        block = shown.style == "script" or "\n" in body
        kind = "se-block" if block else "se-row se-short" if len(body) <= _SHORT else "se-row"
        (blocks if block else rows).append(
            f'<div class="{kind}"><span class="se-title">{html.escape(shown.title)}</span> '
            f'<span class="se-text" dir="auto" data-text="{shown.name}">{text}</span></div>'
        )
    pair = {"first", "second"} <= {s.name for s in form.shows}  # two scripts to compare stand side by side
    body = f'<div class="se-pair">{"".join(blocks)}</div>' if pair else "".join(blocks)
    return f'<div class="se-item" tabindex="0">{"".join(rows)}{body}</div>'
