"""Text as hypothesis draws it: any characters, and those that fold, join or end a word."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st

SHORT = settings(max_examples=120, deadline=None)

_CHARS = st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("aeE'\u0301\u200d\u3099カ각ßİ. -"))

WILD = st.text(_CHARS, max_size=30)
