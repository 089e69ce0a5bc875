"""Raw rows as hypothesis draws them and as a reader tells them."""

from __future__ import annotations

from hypothesis import strategies as st

from curation.loaders.reading import Problem, Row

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)

RECORDS = st.lists(st.dictionaries(st.text(max_size=5), VALUES, max_size=4), max_size=6)


def data(items: list[Row | Problem]) -> list[object]:
    return [i.data for i in items if isinstance(i, Row)]


def told(items: list[Row | Problem]) -> list[tuple[str, str]]:
    return [(i.where.rsplit("/", 1)[-1], i.kind) for i in items if isinstance(i, Problem)]
