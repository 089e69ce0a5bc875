"""Values on the disk are the sequence that memory would hold."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.files.disk_list import DiskList


@settings(max_examples=30, deadline=None)
@given(values=st.lists(st.tuples(st.text(max_size=5), st.integers()), max_size=20), place=st.slices(20))
def test_kept_values_are_a_sequence(values: list[tuple[str, int]], place: slice) -> None:
    disk_list = DiskList(values, load=tuple)
    assert list(disk_list) == values and len(disk_list) == len(values) and disk_list[place] == tuple(values[place])
    for n in range(-len(values), len(values)):
        assert disk_list[n] == values[n]
    with pytest.raises(IndexError):
        disk_list[len(values)]
