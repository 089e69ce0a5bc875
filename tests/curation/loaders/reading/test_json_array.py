"""Arrays of records, read piece by piece."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from curation.loaders.reading.json_array import array
from curation.loaders.reading.raw_records import Row
from tests.support.curation.raw_rows import RECORDS, data, told


@settings(max_examples=60, deadline=None)
@given(records=RECORDS, indent=st.sampled_from([None, 0, 1, 4]), piece=st.integers(1, 40))
def test_an_array_is_read_as_python_reads_it_however_it_is_cut_into_pieces(
    records: list[dict[str, object]], indent: int | None, piece: int
) -> None:
    text = json.dumps(records, indent=indent)
    pieces = [text[i : i + piece] for i in range(0, len(text), piece)]
    rows = list(array(pieces, Path("f.json")))
    assert data(rows) == records and not told(rows)
    for row in rows:
        assert isinstance(row, Row)
        line = int(row.where.rsplit(" ", 1)[1])
        assert text.split("\n")[line - 1].lstrip(" [").startswith("{")


@settings(max_examples=60, deadline=None)
@given(records=RECORDS.filter(len), indent=st.sampled_from([None, 1]), where=st.floats(0, 1), piece=st.integers(1, 40))
def test_a_cut_array_gives_its_whole_records_and_says_so(
    records: list[dict[str, object]], indent: int | None, where: float, piece: int
) -> None:
    text = json.dumps(records, indent=indent)
    text = text[: 1 + int(where * (len(text) - 2))]
    rows = list(array([text[i : i + piece] for i in range(0, len(text), piece)], Path("f.json")))
    report = data(rows)
    assert report == records[: len(report)]
    assert [kind for _, kind in told(rows)] == ["truncated"]
    assert len(json.dumps(records[: len(report)])) <= len(json.dumps(records))
