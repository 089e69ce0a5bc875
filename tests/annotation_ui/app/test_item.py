"""An item's texts: objects are highlighted as whole names, and whatever stands in a text is shown as text."""

from __future__ import annotations

import pytest

from annotation_ui.app.item import EditedObjects, edited_objects, item_html, marked_html
from annotation_ui.campaigns.campaign import make_task


@pytest.mark.parametrize(
    ("body", "old", "new", "marks"),
    [
        ("York, not New York", "York", "New York", ["York", "New York"]),  # one name within the other
        ("Limassol and LIMA's sea", "Lima", "Oslo", ["LIMA"]),
        ("<b>Lima</b> & Oslo", "Lima", "Oslo", ["Lima", "Oslo"]),
        ("Oslo Oslo", "", "Oslo", ["Oslo", "Oslo"]),
        ("nothing", "", "", []),
        ("", "Lima", "Oslo", []),
    ],
)
def test_mentions_are_marked_and_the_rest_is_escaped(body: str, old: str, new: str, marks: list[str]) -> None:
    import html
    import re

    text = marked_html(body, EditedObjects(old, new))
    assert re.findall(r"<mark class=\"se-\w+\">(.*?)</mark>", text) == marks
    assert html.unescape(re.sub(r"</?mark[^>]*>", "", text)) == body
    assert "<b>" not in text


@pytest.mark.parametrize(
    ("text", "objects"),
    [
        ({"edit": "The motto: of X is: a → b → c"}, ("a → b", "c")),
        ({"edit": "no arrow"}, ("", "")),
        ({"old": "Lima", "new": "", "edit": "x: y → z"}, ("Lima", "")),
        ({}, ("", "")),
    ],
)
def test_the_objects_of_an_item(text: dict[str, str], objects: tuple[str, str]) -> None:
    assert edited_objects(text) == objects


def test_highlighting_can_be_switched_off_and_texts_that_are_absent_leave_no_row() -> None:
    form = make_task("rate_script").form
    texts = {"fact": "The capital is Oslo", "new": "Oslo", "old": "Lima", "script": "Go to Lima"}
    assert item_html(form, texts, highlight=True).count("<mark") == 4
    plain = item_html(form, texts, highlight=False)
    assert "<mark" not in plain and plain.count("se-title") == 4
    assert plain.index("The capital") < plain.index("Go to Lima")
