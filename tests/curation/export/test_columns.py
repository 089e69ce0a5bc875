"""What a column of an exported table is."""

from __future__ import annotations

from curation.export.columns import text_column
from curation.export.parquet import tables_of_type


def test_every_column_says_what_is_in_it_and_no_name_stands_twice() -> None:
    for edits in ("fact", "event"):
        for columns in tables_of_type(edits).values():
            assert all(c.about and c.type.removesuffix("[]").isupper() for c in columns)
            assert len({c.name for c in columns}) == len(columns)
    assert text_column("a", "b") == ("a", "VARCHAR", "b")
