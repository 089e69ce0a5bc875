from __future__ import annotations

from schemas.documents.tags import TAGS


def test_the_list_is_closed_and_short() -> None:
    assert len(TAGS) <= 24 and all(reply.strip() for reply in TAGS.values()) and len(set(TAGS.values())) == len(TAGS)
