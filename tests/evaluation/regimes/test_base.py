"""What names a series of edits."""

from __future__ import annotations

from evaluation.regimes.base import edits_digest
from tests.support.arithmetic import make_cases


def test_the_digest_names_the_edits_in_their_order() -> None:
    first, second, *_ = make_cases(3, 0).cases
    assert edits_digest([first, second]) == edits_digest([first, second])
    assert len({edits_digest(some) for some in ([first], [second], [first, second], [second, first])}) == 4
