"""Tables of lead pages: empty columns left out, everything escaped, flagged texts marked."""

from __future__ import annotations

from annotation_ui.app.lead.progress import lead_table


def test_empty_columns_are_left_out_and_texts_are_escaped() -> None:
    table = lead_table(["who", "none", "note"], [["<b>ann", "", "fast"], ["bob", "", ""]], flagged=("note",))
    assert "none" not in table and "<b>" not in table and "&lt;b&gt;ann" in table
    assert table.count('<div class="se-flag">') == 1 and 'data-label="note"><div class="se-flag">fast' in table


def test_no_row_is_a_table_without_columns() -> None:
    assert "<td" not in lead_table(["who"], [])
