"""Notes on a whole file: each reason once, with its number and first place."""

from __future__ import annotations

from curation.loaders.base import Row
from curation.loaders.file_notes import FileNotes


def test_notes_are_told_once_with_their_number_and_first_place() -> None:
    notes = FileNotes()
    assert list(notes.problems("f")) == []
    for n in (3, 5):
        notes.add("have no date", Row(f"f, line {n}", {}))
    notes.add("are odd", Row("f, line 4", {}))
    assert [(p.where, p.kind, p.what) for p in notes.problems("f", kind="suspect")] == [
        ("f", "suspect", "2 records: have no date (first: f, line 3)"),
        ("f", "suspect", "1 record: are odd (first: f, line 4)"),
    ]
